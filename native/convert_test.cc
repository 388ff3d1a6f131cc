// Owns: a check of every conversion kernel of this processor against the committed table; a program of its own, for
// sanitizers and emulators.
// Refuses: Node and test frameworks. Reads the table uncompressed, see test/fixtures/make_float32_table.py:
//
//   gunzip -c test/fixtures/float32_table.bin.gz > build/table.bin
//   cd native
//   c++ -std=c++17 -O2 -o ../build/convert_test convert_{scalar,avx2,avx512,neon,dispatch,test}.cc
//   ../build/convert_test ../build/table.bin
#include "convert.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#if !defined(_WIN32)
#include <sys/mman.h>
#endif

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace safetensors_mmap {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Words = std::vector<std::uint32_t>;

int failures = 0;
void Fail(const std::string& what) {
  if (++failures <= 20) std::fprintf(stderr, "FAIL %s\n", what.c_str());
}

struct Record {
  std::string name;
  Number number;
  unsigned bits;
  std::size_t count;
  Bytes inputs;  // packed as in a file
  Words outputs;
};

// Packs patterns of `bits` bits, little-endian and low bits first, one bit at a time.
Bytes Pack(const Words& patterns, unsigned bits) {
  Bytes packed((patterns.size() * bits + 7) / 8);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    for (unsigned b = 0; b < bits; ++b) {
      const std::size_t at = i * bits + b;
      if (patterns[i] >> b & 1)
        packed[at / 8] = static_cast<std::uint8_t>(packed[at / 8] | 1 << at % 8);
    }
  }
  return packed;
}

std::vector<Record> ReadTable(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars((std::istreambuf_iterator<char>(file)),
                                std::istreambuf_iterator<char>());
  const Bytes bytes(chars.begin(), chars.end());
  std::vector<Record> records;
  for (std::size_t at = 0; at < bytes.size();) {
    Record record;
    std::uint32_t width, count;
    record.name = reinterpret_cast<const char*>(&bytes[at]);
    std::memcpy(&width, &bytes[at + 12], 4);
    std::memcpy(&count, &bytes[at + 16], 4);
    at += 20;
    if (!NumberFromName(record.name.c_str(), &record.number)) {
      Fail("the table has " + record.name);
      break;
    }
    record.bits = BitsOf(record.number);
    record.count = count;
    if (width == 0) {
      Words patterns(count);
      for (std::uint32_t i = 0; i < count; ++i) patterns[i] = i;
      record.inputs = Pack(patterns, record.bits);
    } else {
      record.inputs.assign(&bytes[at], &bytes[at] + std::size_t{count} * width);
      at += std::size_t{count} * width;
    }
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t word = 0;
      for (std::size_t plane = 4; plane-- > 0;) word = word << 8 | bytes[at + plane * count + i];
      record.outputs.push_back(word);
    }
    at += std::size_t{4} * count;
    records.push_back(record);
  }
  return records;
}

// Converts from and to exact heap blocks at the given misalignments, so that a sanitizer sees a byte too many.
void CheckPiece(const Record& record, std::size_t first, std::size_t count,
                std::size_t source_shift, std::size_t target_shift, Stores stores) {
  const std::size_t begin = first * record.bits / 8;
  const std::size_t length = (count * record.bits + 7) / 8;
  const std::unique_ptr<std::uint8_t[]> source(new std::uint8_t[source_shift + length]);
  if (length > 0) std::memcpy(source.get() + source_shift, &record.inputs[begin], length);
  constexpr std::size_t guard = 16;
  const std::size_t room = (target_shift + count + guard + 15) / 16 * 16 * sizeof(float);
  float* const target = static_cast<float*>(std::aligned_alloc(64, room));
  std::memset(target, 0xA5, room);
  ConvertToFloat32(record.number, source.get() + source_shift, count, target + target_shift,
                   stores);
  const auto where = [&] {
    return record.name + " by " + KernelName() + ", " + std::to_string(count) + " from " +
           std::to_string(first) + ", source +" + std::to_string(source_shift) + ", target +" +
           std::to_string(target_shift);
  };
  if (count > 0 &&
      std::memcmp(target + target_shift, &record.outputs[first], count * sizeof(float)) != 0) {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t got;
      std::memcpy(&got, target + target_shift + i, 4);
      if (got == record.outputs[first + i]) continue;
      char text[64];
      std::snprintf(text, sizeof text, ": [%zu] is %08X, not %08X", first + i, got,
                    record.outputs[first + i]);
      Fail(where() + text);
      break;
    }
  }
  const unsigned char* const raw = reinterpret_cast<const unsigned char*>(target);
  for (std::size_t i = 0; i < room; ++i) {
    const bool inside = i >= target_shift * 4 && i < (target_shift + count) * 4;
    if (!inside && raw[i] != 0xA5) {
      Fail(where() + ": wrote outside");
      break;
    }
  }
  std::free(target);
}

void CheckKernel(const std::vector<Record>& records) {
  std::mt19937 random(20240229);
  for (const Record& record : records) {
    for (const Stores stores : {Stores::kCached, Stores::kStreaming}) {
      CheckPiece(record, 0, record.count, 0, 0, stores);
      CheckPiece(record, 0, record.count, 1, 3, stores);
      // A piece starts on a byte: at any multiple of four elements for the packed dtypes, anywhere for the rest.
      const std::size_t step = record.bits < 8 ? 4 : 1;
      for (std::size_t source_shift = 0; source_shift < 64; ++source_shift) {
        for (std::size_t target_shift = 0; target_shift < 16; ++target_shift) {
          const std::size_t count = random() % 71;
          if (record.count < count) continue;
          const std::size_t first = random() % ((record.count - count) / step + 1) * step;
          CheckPiece(record, first, count, source_shift, target_shift, stores);
        }
      }
      for (std::size_t count = 0; count <= 70; ++count) {
        for (std::size_t shift = 0; shift < 64; ++shift) {
          if (record.count < count) continue;
          const std::size_t first = random() % ((record.count - count) / step + 1) * step;
          CheckPiece(record, first, count, shift, (shift * 5 + count) % 16, stores);
        }
      }
    }
  }
}

#if !defined(_WIN32)
// The source ends where readable memory ends, as the last tensor of a mapped file may. A sanitizer
// does not see what a vector instruction reads.
void CheckReads(const std::vector<Record>& records) {
  constexpr std::size_t page = 65536;
  void* const memory =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(static_cast<char*>(memory) + page, page, PROT_NONE) != 0) {
    return Fail("no guarded memory");
  }
  std::uint8_t* const end = static_cast<std::uint8_t*>(memory) + page;
  std::vector<float> target(512);
  for (const Record& record : records) {
    for (std::size_t count = 0; count <= std::min<std::size_t>(400, record.count); ++count) {
      const std::size_t length = (count * record.bits + 7) / 8;
      std::memcpy(end - length, record.inputs.data(), length);
      for (std::size_t shift = 0; shift < 16; shift += 5) {
        ConvertToFloat32(record.number, end - length, count, target.data() + shift);
        if (count > 0 &&
            std::memcmp(target.data() + shift, record.outputs.data(), count * 4) != 0) {
          Fail(record.name + " at the end of memory");
        }
      }
    }
  }
  munmap(memory, 2 * page);
}
#else
void CheckReads(const std::vector<Record>&) {}
#endif

#if defined(__x86_64__)
// Another library may have left the thread flushing subnormals and rounding up.
void CheckModes(const std::vector<Record>& records) {
  const unsigned before = _mm_getcsr();
  const unsigned hostile = 0x1F80 | 0x8040 | 0x4000;
  _mm_setcsr(hostile);
  for (const Record& record : records) CheckPiece(record, 0, record.count, 0, 1, Stores::kCached);
  if (_mm_getcsr() != hostile) Fail("the floating-point mode was not restored");
  _mm_setcsr(before);
}
#else
void CheckModes(const std::vector<Record>&) {}
#endif

int Main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: convert_test table.bin\n");
    return 2;
  }
  const std::vector<Record> records = ReadTable(argv[1]);
  if (records.size() != kNumberCount)
    Fail("the table has " + std::to_string(records.size()) + " dtypes");
  for (std::size_t i = 0; AvailableKernel(i) != nullptr; ++i) {
    if (!SetKernel(AvailableKernel(i))) Fail("an available kernel was refused");
    CheckKernel(records);
    CheckModes(records);
    CheckReads(records);
    std::printf("%s: %d failures\n", KernelName(), failures);
  }
  if (SetKernel("abacus")) Fail("an unknown kernel was accepted");
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace safetensors_mmap

int main(int argc, char** argv) { return safetensors_mmap::Main(argc, argv); }
