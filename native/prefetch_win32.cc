// Owns what Windows has of prefetch.h: nothing that reports errors (PrefetchVirtualMemory is a hint and returns early).
// Refuses to pretend: the caller reads the file instead, which fills the same cache.
#include <cerrno>

#include "prefetch.h"

namespace safetensors_mmap {

int BringIn(const Mapping&, const std::vector<ByteRange>&) { return EINVAL; }

void AskForLargePages(const Mapping&, const std::vector<ByteRange>&) {}

}  // namespace safetensors_mmap
