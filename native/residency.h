// Owns what of a file is in memory, and giving it back to the system. Refuses to lose what was written to a page.
// Thread-safe, as a Mapping is, but for pages that are written to at the same time.
#ifndef SAFETENSORS_MMAP_RESIDENCY_H_
#define SAFETENSORS_MMAP_RESIDENCY_H_

#include <cstdint>
#include <vector>

#include "byte_range.h"
#include "mapping.h"

namespace safetensors_mmap {

// The answer of a system that does not say.
constexpr std::int64_t kUnknown = -1;

// How many bytes of the ranges lie in pages that are in memory, or kUnknown. Of a file that is neither the caller's own
// nor writable to it, Linux says that everything is.
std::int64_t ResidentBytes(const Mapping& mapping, const std::vector<ByteRange>& ranges);

// The same of an open file, by the page cache alone, and without looking at each page; kUnknown before Linux 6.5.
std::int64_t CachedBytes(int descriptor, const std::vector<ByteRange>& ranges);

// Takes the pages that lie wholly in the ranges out of the mapping, but for those that were written to.
void EvictPages(const Mapping& mapping, const std::vector<ByteRange>& ranges);

// Whether no page of [begin, end) was written to, so that the file has the same bytes; false where the system does not say.
bool IsUnwritten(const Mapping& mapping, std::size_t begin, std::size_t end);

// Takes the pages that lie wholly in the ranges, and that nobody has mapped, out of the page cache. A hint.
void DropCached(int descriptor, const std::vector<ByteRange>& ranges);

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_RESIDENCY_H_
