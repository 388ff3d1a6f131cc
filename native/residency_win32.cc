// Owns what Windows has of residency.h: taking pages out of the working set. Refuses to guess at the file cache.
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "residency.h"

namespace safetensors_mmap {

std::int64_t ResidentBytes(const Mapping&, const std::vector<ByteRange>&) { return kUnknown; }

std::int64_t CachedBytes(int, const std::vector<ByteRange>&) { return kUnknown; }

void EvictPages(const Mapping& mapping, const std::vector<ByteRange>& ranges) {
  SYSTEM_INFO system;
  GetSystemInfo(&system);
  const std::size_t page = system.dwPageSize;
  for (const ByteRange& range : ranges) {
    const std::size_t begin = (range.begin + page - 1) / page * page;
    const std::size_t end = range.end / page * page;
    // Unlocking what is not locked takes the pages out of the working set (VirtualUnlock, "Remarks"); written ones stay.
    if (begin < end) VirtualUnlock(mapping.data() + begin, end - begin);
  }
}

bool IsUnwritten(const Mapping& mapping, std::size_t begin, std::size_t end) {
  return begin == end || mapping.protection() != Protection::kCopyOnWrite;
}

void DropCached(int, const std::vector<ByteRange>&) {}

}  // namespace safetensors_mmap
