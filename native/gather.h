// Owns: copying a strided region of any rank into contiguous memory, whole or piece by piece. Thread-safe; no allocation.
// Refuses: bounds: the caller has checked that every element of the region lies in the source; and overlapping memory.
#ifndef SAFETENSORS_MMAP_GATHER_H_
#define SAFETENSORS_MMAP_GATHER_H_

#include <cstddef>
#include <cstdint>

namespace safetensors_mmap {

// A region in its shortest form: rows of equal items, and the dimensions that lead from row to
// row. Made by PlanGather; it holds no pointer, so one plan serves every thread and mapping.
struct GatherPlan {
  // Dimensions of one element are dropped, and 64 that have two or more would count past 2^63.
  static constexpr std::size_t kMaxRank = 64;

  std::size_t item_bytes = 0;    // of an element, or of a few that lie together
  std::uint64_t item_count = 0;  // of the whole region
  std::uint64_t row_items = 0;
  std::int64_t row_stride = 0;  // bytes from item to item; item_bytes when the row is contiguous
  std::size_t rank = 0;         // of the rows, the slowest dimension first
  std::uint64_t dims[kMaxRank];
  std::int64_t strides[kMaxRank];  // bytes, may be negative or zero
};

// Plans the region whose element [i0, i1, …] lies at Σ i·stride bytes from the source. False when
// element_bytes is 0 or the region has more than 2^63 - 1 bytes.
bool PlanGather(const std::uint64_t* dims, const std::int64_t* strides, std::size_t rank,
                std::size_t element_bytes, GatherPlan* plan);

// Copies the items [first, first + count) in row-major order; `target` receives the first of them.
// `source` is the address of the region's element [0, 0, …]. Pieces may be copied in any order, on any threads.
void Gather(const GatherPlan& plan, const void* source, std::uint64_t first, std::uint64_t count,
            void* target);

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_GATHER_H_
