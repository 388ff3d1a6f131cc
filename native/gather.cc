// Owns: the gather: shortening a region to rows, and the loops over them.
// Refuses: recursion; the rank of a hostile shape must not become stack depth.
#include "gather.h"

#include <cstring>

namespace safetensors_mmap {
namespace {

// Copies of a size known to the compiler are one load and one store.
template <std::size_t kBytes>
void CopyItems(const std::uint8_t* source, std::int64_t stride, std::uint64_t count,
               std::uint8_t* target) {
  const std::ptrdiff_t step = static_cast<std::ptrdiff_t>(stride);
  std::ptrdiff_t at = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memcpy(target, source + at, kBytes);
    target += kBytes;
    at += step;
  }
}

void CopyRow(const GatherPlan& plan, const std::uint8_t* source, std::uint64_t count,
             std::uint8_t* target) {
  if (plan.row_stride == static_cast<std::int64_t>(plan.item_bytes)) {
    std::memcpy(target, source, static_cast<std::size_t>(count) * plan.item_bytes);
    return;
  }
  switch (plan.item_bytes) {
    case 1:
      return CopyItems<1>(source, plan.row_stride, count, target);
    case 2:
      return CopyItems<2>(source, plan.row_stride, count, target);
    case 4:
      return CopyItems<4>(source, plan.row_stride, count, target);
    case 8:
      return CopyItems<8>(source, plan.row_stride, count, target);
    case 16:
      return CopyItems<16>(source, plan.row_stride, count, target);
    default:
      break;
  }
  std::ptrdiff_t at = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memcpy(target, source + at, plan.item_bytes);
    target += plan.item_bytes;
    at += static_cast<std::ptrdiff_t>(plan.row_stride);
  }
}

bool HasFixedCopy(std::uint64_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

}  // namespace

bool PlanGather(const std::uint64_t* dims, const std::int64_t* strides, std::size_t rank,
                std::size_t element_bytes, GatherPlan* plan) {
  constexpr std::uint64_t most = static_cast<std::uint64_t>(INT64_MAX);
  *plan = GatherPlan();
  if (element_bytes == 0 || element_bytes > most) return false;
  plan->item_bytes = element_bytes;

  for (std::size_t i = 0; i < rank; ++i) {
    if (dims[i] == 0) return true;
  }
  std::uint64_t elements = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    if (dims[i] > most / element_bytes / elements) return false;
    elements *= dims[i];
  }

  for (std::size_t i = 0; i < rank; ++i) {
    if (dims[i] == 1) continue;
    // A dimension that continues the one before it is the same walk: i·(n·s) + j·s = (i·n + j)·s.
    const std::size_t last = plan->rank - 1;
    if (plan->rank > 0 && strides[i] <= INT64_MAX / static_cast<std::int64_t>(dims[i]) &&
        strides[i] >= -(INT64_MAX / static_cast<std::int64_t>(dims[i])) &&
        plan->strides[last] == strides[i] * static_cast<std::int64_t>(dims[i])) {
      plan->dims[last] *= dims[i];
      plan->strides[last] = strides[i];
      continue;
    }
    plan->dims[plan->rank] = dims[i];
    plan->strides[plan->rank] = strides[i];
    ++plan->rank;
  }

  // A few elements that lie together travel as one item, so that the row is the longer dimension.
  if (plan->rank > 1) {
    const std::size_t last = plan->rank - 1;
    const bool together = plan->strides[last] == static_cast<std::int64_t>(element_bytes);
    if (together && HasFixedCopy(plan->dims[last] * element_bytes)) {
      plan->item_bytes = static_cast<std::size_t>(plan->dims[last]) * element_bytes;
      plan->rank = last;
    }
  }
  plan->item_count = elements * element_bytes / plan->item_bytes;

  // The last dimension left is the row.
  if (plan->rank == 0) {
    plan->row_items = 1;
    plan->row_stride = static_cast<std::int64_t>(plan->item_bytes);
  } else {
    --plan->rank;
    plan->row_items = plan->dims[plan->rank];
    plan->row_stride = plan->strides[plan->rank];
  }
  return true;
}

void Gather(const GatherPlan& plan, const void* source, std::uint64_t first, std::uint64_t count,
            void* target) {
  if (count == 0) return;
  const std::uint8_t* const from = static_cast<const std::uint8_t*>(source);
  std::uint8_t* to = static_cast<std::uint8_t*>(target);

  // Where the first row stands, as an index in each dimension and as bytes from the source.
  std::uint64_t index[GatherPlan::kMaxRank];
  std::int64_t row_offset = 0;
  std::uint64_t rows_before = first / plan.row_items;
  for (std::size_t i = plan.rank; i-- > 0;) {
    index[i] = rows_before % plan.dims[i];
    rows_before /= plan.dims[i];
    row_offset += static_cast<std::int64_t>(index[i]) * plan.strides[i];
  }

  std::uint64_t skipped = first % plan.row_items;
  for (;;) {
    std::uint64_t items = plan.row_items - skipped;
    if (items > count) items = count;
    const std::int64_t offset = row_offset + static_cast<std::int64_t>(skipped) * plan.row_stride;
    CopyRow(plan, from + static_cast<std::ptrdiff_t>(offset), items, to);
    count -= items;
    if (count == 0) return;
    to += static_cast<std::size_t>(items) * plan.item_bytes;
    skipped = 0;

    // The next row: the last dimension steps, and a dimension at its end starts over and carries.
    for (std::size_t i = plan.rank; i-- > 0;) {
      row_offset += plan.strides[i];
      if (++index[i] < plan.dims[i]) break;
      row_offset -= static_cast<std::int64_t>(index[i]) * plan.strides[i];
      index[i] = 0;
    }
  }
}

}  // namespace safetensors_mmap
