// Owns bringing a mapping's pages into memory ahead of their use, with an error where touching them would raise a signal.
// Refuses threads and order: the caller has both. Thread-safe, as a Mapping is.
#ifndef SAFETENSORS_MMAP_PREFETCH_H_
#define SAFETENSORS_MMAP_PREFETCH_H_

#include <vector>

#include "byte_range.h"
#include "mapping.h"

namespace safetensors_mmap {

// Reads the pages of ranges that lie within the mapping, and maps them; returns when they are there. 0, or an errno:
// EINVAL where the system has no such call, and has been told of the ranges as a hint instead; EFAULT where the file has become shorter or its disk cannot be read.
int BringIn(const Mapping& mapping, const std::vector<ByteRange>& ranges);

// Asks that what is yet to be read of these ranges be kept in the largest pages. A hint.
void AskForLargePages(const Mapping& mapping, const std::vector<ByteRange>& ranges);

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_PREFETCH_H_
