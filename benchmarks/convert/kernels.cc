// Owns: the timing of the library's kernels against the plain C ones in one process, taken in turns.
// Refuses: files and Node; inputs are made here. Prints one line of JSON for each contender, GB/s of output.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "../../native/convert.h"
#include "../../native/gather.h"
#include "reference.h"

namespace {

using namespace safetensors_mmap;

struct Contender {
  std::string name;
  std::function<void()> run;
  std::vector<double> seconds;
};

// Each round runs every contender once, in an order of its own: a slow moment of the machine meets all of them, and
// nobody always comes after the one that leaves the caches cold.
void Race(const std::string& what, std::size_t target_bytes, int rounds, std::vector<Contender>& contenders) {
  std::mt19937 random(1);
  for (Contender& contender : contenders) contender.run();
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(contenders.begin(), contenders.end(), random);
    for (Contender& contender : contenders) {
      const auto start = std::chrono::steady_clock::now();
      contender.run();
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      contender.seconds.push_back(spent.count());
    }
  }
  for (Contender& contender : contenders) {
    std::sort(contender.seconds.begin(), contender.seconds.end());
    const auto rate = [&](double part) {
      const double index = part * static_cast<double>(contender.seconds.size() - 1);
      return static_cast<double>(target_bytes) / contender.seconds[static_cast<std::size_t>(index)] / 1e9;
    };
    std::printf("{\"case\":\"%s\",\"contender\":\"%s\",\"median\":%.2f,\"best\":%.2f,\"worst\":%.2f}\n", what.c_str(),
                contender.name.c_str(), rate(0.5), rate(0), rate(1));
  }
  std::fflush(stdout);
}

void RaceConversions(std::size_t source_bytes, int rounds, std::uint8_t* source, float* target) {
  for (const char* dtype : {"BF16", "F16", "F8_E4M3"}) {
    Number number;
    NumberFromName(dtype, &number);
    const std::size_t count = source_bytes * 8 / BitsOf(number);
    const Stores stores = StoresFor(count * sizeof(float));
    for (std::size_t i = 0; AvailableKernel(i) != nullptr; ++i) {
      const char* const set = AvailableKernel(i);
      std::vector<Contender> contenders;
      contenders.push_back({"library", [=] { ConvertToFloat32(number, source, count, target, stores); }, {}});
      for (const int streaming : {0, 1}) {
        const reference_kernel kernel = reference_convert(set, dtype, streaming);
        if (kernel == nullptr || (streaming && stores == Stores::kCached)) continue;
        contenders.push_back({streaming ? "C, streaming" : "C", [=] { kernel(source, count, target); }, {}});
      }
      SetKernel(set);
      Race(std::string(dtype) + " " + set + " " + std::to_string(source_bytes >> 10) + " KiB", count * sizeof(float),
           rounds, contenders);
    }
    SetKernel(nullptr);
  }
}

void RaceGathers(std::size_t source_bytes, int rounds, const std::uint8_t* source, float* target) {
  constexpr std::size_t pitch = 8192;
  for (const std::size_t part : {2, 8}) {
    const std::size_t rows = source_bytes / pitch;
    const std::size_t row_bytes = pitch / part;
    const std::uint64_t dims[] = {rows, row_bytes / 2};
    const std::int64_t strides[] = {pitch, 2};
    GatherPlan plan;
    if (!PlanGather(dims, strides, 2, 2, &plan)) std::abort();
    std::vector<Contender> contenders;
    contenders.push_back({"library", [=] { Gather(plan, source, 0, plan.item_count, target); }, {}});
    contenders.push_back({"C", [=] { reference_gather(source, rows, row_bytes, pitch, target); }, {}});
    Race("columns 1/" + std::to_string(part), rows * row_bytes, rounds, contenders);
  }
}

}  // namespace

int main() {
  constexpr std::size_t tensor = std::size_t{64} << 20;
  constexpr std::size_t room = tensor * sizeof(float);
  auto* const source = static_cast<std::uint8_t*>(std::aligned_alloc(4096, tensor));
  auto* const target = static_cast<float*>(std::aligned_alloc(4096, room));
  // Weights: small values of both signs, and no pattern of ones that would be a NaN.
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < tensor; ++i) {
    state = state * 1664525u + 1013904223u;
    source[i] = static_cast<std::uint8_t>((state >> 24) & 0xBB);
  }
  std::memset(target, 0, room);
  RaceConversions(tensor, 15, source, target);
  RaceConversions(std::size_t{64} << 10, 201, source, target);
  RaceGathers(tensor, 31, source, target);
  std::free(source);
  std::free(target);
  return 0;
}
