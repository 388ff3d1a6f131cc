#include "convert_binding.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "arguments.h"
#include "convert.h"
#include "floats_binding.h"
#include "gather_binding.h"
#include "mapping_binding.h"
#include "pool_work.h"

namespace safetensors_mmap {
namespace {

// Strided elements are gathered so many bytes at a time; what stays in a core's own cache.
constexpr std::size_t kScratchBytes = 32 * 1024;

// A region of a mapping as numbers of one kind.
struct Numbers {
  std::shared_ptr<Mapping> mapping;
  Region region;
  Number number = Number::kF32;
  std::size_t count() const { return region.bytes() * 8 / BitsOf(number); }

  // Converts elements [first, first + count) of the region. For packed numbers both are such that
  // the piece starts on a byte.
  void ConvertPiece(std::size_t first, std::size_t count, float* target, Stores stores) const {
    const std::size_t bits = BitsOf(number);
    const std::uint8_t* source = mapping->data() + region.offset;
    const GatherPlan& plan = region.plan;
    const bool contiguous =
        plan.rank == 0 && plan.row_stride == static_cast<std::int64_t>(plan.item_bytes);
    if (contiguous) {
      ConvertToFloat32(number, source + first * bits / 8, count, target, stores);
      return;
    }
    // An item is a whole number of elements, and a piece a whole number of items but at the region's end.
    const std::size_t item_elements = plan.item_bytes * 8 / bits;
    const std::size_t scratch_items = std::max<std::size_t>(kScratchBytes / plan.item_bytes, 1);
    alignas(64) std::uint8_t scratch[kScratchBytes];
    std::uint64_t item = first / item_elements;
    std::size_t skip = first % item_elements;
    while (count > 0) {
      const std::uint64_t items = std::min<std::uint64_t>(scratch_items, plan.item_count - item);
      Gather(plan, source, item, items, scratch);
      const std::size_t elements =
          std::min<std::size_t>(static_cast<std::size_t>(items) * item_elements - skip, count);
      ConvertToFloat32(number, scratch + skip * bits / 8, elements, target, stores);
      target += elements;
      count -= elements;
      item += items;
      skip = 0;
    }
  }
};

bool ReadNumber(const Napi::CallbackInfo& info, std::size_t position, Number* number) {
  if (!info[position].IsString()) return Refuse(info.Env(), "dtype is not a string");
  const std::string name = info[position].As<Napi::String>().Utf8Value();
  return NumberFromName(name.c_str(), number) ||
         Refuse(info.Env(), "a dtype that does not convert to float32");
}

// Bytes of the smallest group of elements that starts and ends on a byte.
std::size_t UnitBytes(Number number) {
  const std::size_t bits = BitsOf(number);
  return bits == 4 ? 1 : bits == 6 ? 3 : bits / 8;
}

// Reads handle, offset, runBytes, counts, strides, dtype from `position` 0 on.
bool ReadNumbers(const Napi::CallbackInfo& info, Numbers* numbers) {
  numbers->mapping = MappingFrom(info.Env(), info[0]);
  return numbers->mapping != nullptr && ReadNumber(info, 5, &numbers->number) &&
         ReadRegion(info, 1, numbers->mapping->size(), UnitBytes(numbers->number),
                    &numbers->region);
}

// Counts as a writer of floats for as long as it lives; made and destroyed on the JavaScript thread.
class Writer {
 public:
  explicit Writer(std::shared_ptr<Floats> floats) : floats_(std::move(floats)) {
    floats_->writers++;
  }
  ~Writer() { floats_->writers--; }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  float* data() const { return floats_->data(); }

 private:
  const std::shared_ptr<Floats> floats_;
};

bool Overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const std::uint8_t* first = static_cast<const std::uint8_t*>(a);
  const std::uint8_t* second = static_cast<const std::uint8_t*>(b);
  return first < second + b_bytes && second < first + a_bytes;
}

}  // namespace

Napi::Value Convert(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Number number = Number::kF32;
  Napi::Float32Array target;
  Napi::Uint8Array source;
  if (!ReadNumber(info, 0, &number) || !ReadUint8Array(info, 1, "source", &source) ||
      !ReadFloat32Array(info, 2, &target)) {
    return env.Undefined();
  }
  const std::size_t count = target.ElementLength();
  const std::size_t bytes = (count * BitsOf(number) + 7) / 8;
  if (source.ByteLength() != bytes) {
    Refuse(env, "source and target differ in length");
    return env.Undefined();
  }
  const bool overlap = Overlap(source.Data(), bytes, target.Data(), count * sizeof(float));
  if (!overlap && count > 0) {
    ConvertToFloat32(number, source.Data(), count, target.Data(), StoresFor(count * sizeof(float)));
  }
  return Napi::Boolean::New(env, !overlap);
}

Napi::Value ConvertMapped(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Numbers numbers;
  Napi::Float32Array target;
  if (!ReadNumbers(info, &numbers) || !ReadFloat32Array(info, 6, &target)) return env.Undefined();
  const std::size_t count = numbers.count();
  if (target.ElementLength() != count) {
    Refuse(env, "source and target differ in length");
    return env.Undefined();
  }
  const Region& region = numbers.region;
  const bool overlap = Overlap(numbers.mapping->data() + region.begin, region.end - region.begin,
                               target.Data(), count * sizeof(float));
  if (!overlap) {
    numbers.ConvertPiece(0, count, target.Data(), StoresFor(count * sizeof(float)));
  }
  return Napi::Boolean::New(env, !overlap);
}

Napi::Value Overlaps(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::shared_ptr<Mapping> mapping = MappingFrom(env, info[0]);
  if (mapping == nullptr) return env.Undefined();
  std::int64_t begin = 0;
  std::int64_t end = 0;
  Napi::Float32Array floats;
  const double size = static_cast<double>(mapping->size());
  if (!ReadInteger(info, 1, "begin", 0, size, &begin) ||
      !ReadInteger(info, 2, "end", static_cast<double>(begin), size, &end) ||
      !ReadFloat32Array(info, 3, &floats)) {
    return env.Undefined();
  }
  return Napi::Boolean::New(
      env, Overlap(mapping->data() + begin, static_cast<std::size_t>(end - begin), floats.Data(),
                   floats.ElementLength() * sizeof(float)));
}

Napi::Value ConvertInto(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Numbers numbers;
  if (!ReadNumbers(info, &numbers)) return env.Undefined();
  std::shared_ptr<Floats> floats = FloatsFrom(info, 7);
  if (floats == nullptr) return env.Undefined();
  std::size_t at = 0;
  std::size_t count = 0;
  std::int64_t first = 0;
  if (!ReadSpan(info, 8, floats->count(), &at, &count) ||
      !ReadInteger(info, 6, "first", 0,
                   static_cast<double>(numbers.count()) - static_cast<double>(count), &first)) {
    return env.Undefined();
  }
  if (static_cast<std::size_t>(first) * BitsOf(numbers.number) % 8 != 0) {
    Refuse(env, "the piece starts inside a byte");
    return env.Undefined();
  }
  // It holds shares of all that it touches, so whatever happens to the file, the result or the environment meanwhile, the
  // memory is there.
  auto writer = std::make_unique<Writer>(std::move(floats));
  return StartWork(env, "safetensors:convert",
                   [numbers = std::move(numbers), writer = std::move(writer), first, at, count] {
                     numbers.ConvertPiece(static_cast<std::size_t>(first), count,
                                          writer->data() + at, Stores::kCached);
                     return 0;
                   });
}

Napi::Value GetKernel(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), KernelName());
}

Napi::Value ForceKernel(const Napi::CallbackInfo& info) {
  if (info[0].IsNull()) return Napi::Boolean::New(info.Env(), SetKernel(nullptr));
  if (!info[0].IsString()) {
    Refuse(info.Env(), "a kernel's name is a string or null");
    return info.Env().Undefined();
  }
  return Napi::Boolean::New(info.Env(), SetKernel(info[0].As<Napi::String>().Utf8Value().c_str()));
}

Napi::Value ListKernels(const Napi::CallbackInfo& info) {
  Napi::Array names = Napi::Array::New(info.Env());
  for (std::size_t i = 0; AvailableKernel(i) != nullptr; i++) {
    names.Set(static_cast<std::uint32_t>(i), AvailableKernel(i));
  }
  return names;
}

}  // namespace safetensors_mmap
