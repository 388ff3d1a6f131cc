// Owns: a check of the gather against a plain loop over indices; a program of its own, for sanitizers and emulators.
// Refuses: Node and test frameworks.
//
//   c++ -std=c++17 -O2 -o build/gather_test native/gather.cc native/gather_test.cc && build/gather_test
#include "gather.h"

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace safetensors_mmap {
namespace {

using Bytes = std::vector<std::uint8_t>;

int failures = 0;
void Fail(const std::string& what) {
  if (++failures <= 20) std::fprintf(stderr, "FAIL %s\n", what.c_str());
}

void CheckGather() {
  std::mt19937 random(20240229);
  for (int round = 0; round < 20000; ++round) {
    const std::size_t sizes[] = {1, 2, 3, 4, 8, 16, 24};
    const std::size_t element = sizes[random() % 7];
    const std::size_t rank = random() % 6;
    std::vector<std::uint64_t> dims(rank);
    std::vector<std::int64_t> strides(rank);
    // A full array with some slack in each dimension, of which a stepped, perhaps reversed region is taken.
    std::int64_t pitch = static_cast<std::int64_t>(element);
    std::int64_t start = 0;
    std::size_t total = 1;
    for (std::size_t i = rank; i-- > 0;) {
      dims[i] = random() % 12 == 0 ? 0 : 1 + random() % 6;
      const std::int64_t step = random() % 2 ? 1 : 1 + static_cast<std::int64_t>(random() % 3);
      strides[i] = pitch * step;
      const std::int64_t extent =
          step * static_cast<std::int64_t>(dims[i]) + (random() % 2 ? 0 : 1);
      if (dims[i] > 0 && random() % 3 == 0) {
        start += strides[i] * static_cast<std::int64_t>(dims[i] - 1);
        strides[i] = -strides[i];
      }
      pitch *= std::max<std::int64_t>(extent, 1);
      total *= dims[i];
    }
    Bytes source(static_cast<std::size_t>(pitch));
    for (auto& byte : source) byte = static_cast<std::uint8_t>(random());
    Bytes expected;
    std::vector<std::uint64_t> index(rank, 0);
    for (std::size_t n = 0; n < total; ++n) {
      std::int64_t at = start;
      for (std::size_t i = 0; i < rank; ++i) at += static_cast<std::int64_t>(index[i]) * strides[i];
      expected.insert(expected.end(), source.begin() + at,
                      source.begin() + at + static_cast<std::int64_t>(element));
      for (std::size_t i = rank; i-- > 0;) {
        if (++index[i] < dims[i]) break;
        index[i] = 0;
      }
    }
    GatherPlan plan;
    if (!PlanGather(dims.data(), strides.data(), rank, element, &plan))
      Fail("a region was refused");
    if (plan.item_count * plan.item_bytes != expected.size()) Fail("a region has the wrong size");
    Bytes got(expected.size());
    for (std::uint64_t first = 0; first < plan.item_count;) {
      const std::uint64_t piece =
          std::min<std::uint64_t>(1 + random() % 50, plan.item_count - first);
      Gather(plan, source.data() + start, first, piece,
             &got[static_cast<std::size_t>(first) * plan.item_bytes]);
      first += piece;
    }
    if (got != expected) Fail("gather " + std::to_string(round));
  }
  // A rank that no stack could follow, and sizes that no memory has.
  const std::vector<std::uint64_t> ones(1000000, 1);
  const std::vector<std::int64_t> none(1000000, 0);
  GatherPlan plan;
  if (!PlanGather(ones.data(), none.data(), ones.size(), 4, &plan) || plan.item_count != 1)
    Fail("rank 1000000");
  const std::vector<std::uint64_t> twos(64, 2);
  if (PlanGather(twos.data(), none.data(), twos.size(), 1, &plan))
    Fail("2^64 elements were accepted");
}

}  // namespace
}  // namespace safetensors_mmap

int main() {
  safetensors_mmap::CheckGather();
  std::printf("gather: %d failures\n", safetensors_mmap::failures);
  return safetensors_mmap::failures == 0 ? 0 : 1;
}
