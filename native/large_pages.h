// Owns: the wish for the system's largest pages under memory that is about to be filled. A hint: nothing reports whether it
// was heard. Refuses: to allocate.
#ifndef SAFETENSORS_MMAP_LARGE_PAGES_H_
#define SAFETENSORS_MMAP_LARGE_PAGES_H_

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstddef>
#include <cstdint>

namespace safetensors_mmap {

constexpr std::size_t kLargePage = std::size_t{2} << 20;

// For the large pages that lie within the memory; those that it has only a part of belong to others, too.
inline void AskForLargePages(void* memory, std::size_t bytes) {
#if defined(__linux__)
  const std::uintptr_t start = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t begin = (start + kLargePage - 1) / kLargePage * kLargePage;
  const std::uintptr_t end = (start + bytes) / kLargePage * kLargePage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#else
  (void)memory;
  (void)bytes;
#endif
}

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_LARGE_PAGES_H_
