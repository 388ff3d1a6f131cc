// Owns: mmap and munmap. Refuses: policy; what is asked for is mapped or an errno comes back.
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <new>

#include "mapping.h"

namespace safetensors_mmap {
namespace {

std::atomic<std::int64_t> live_count{0};

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

void* MapPages(int descriptor, std::size_t size, Protection protection) {
  // MAP_NORESERVE: without it the kernel charges every private writable page
  // against the commit limit, and a model larger than memory is refused.
  // mmap(2), "MAP_NORESERVE".
  const int access = protection == Protection::kReadOnly ? PROT_READ : PROT_READ | PROT_WRITE;
  return mmap(nullptr, size, access, MAP_PRIVATE | MAP_NORESERVE, descriptor, 0);
}

}  // namespace

Mapping::Mapping(std::uint8_t* data, std::size_t size, Protection protection)
    : data_(data), size_(size), protection_(protection) {
  live_count.fetch_add(1, std::memory_order_relaxed);
}

Mapping::~Mapping() {
  // Fails only for arguments that mmap did not return (munmap(2), EINVAL).
  munmap(data_, size_);
  live_count.fetch_sub(1, std::memory_order_relaxed);
}

void Mapping::DropPages() const {
  // madvise(2), not posix_madvise(3): that one ignores the advice. Failing leaves the pages where they are.
  madvise(data_, size_, MADV_DONTNEED);
}

Mapping::Result Mapping::Map(int descriptor, std::size_t size, Protection wanted) {
  if (LiveCount() >= kMost) return {nullptr, ENOMEM};
  Protection granted = wanted;
  void* pages = MapPages(descriptor, size, granted);
  if (pages == MAP_FAILED && errno == ENOMEM && wanted == Protection::kCopyOnWrite) {
    // Strict overcommit ignores MAP_NORESERVE; read-only pages are never charged.
    granted = Protection::kReadOnly;
    pages = MapPages(descriptor, size, granted);
  }
  if (pages == MAP_FAILED) return {nullptr, errno};
  Mapping* mapping = new (std::nothrow) Mapping(static_cast<std::uint8_t*>(pages), size, granted);
  if (mapping == nullptr) {
    munmap(pages, size);
    return {nullptr, ENOMEM};
  }
  return {std::shared_ptr<Mapping>(mapping), 0};
}

void Mapping::Populate(std::size_t offset, std::size_t length) const {
  // Advice is for whole pages. The mapping begins on one, and no system's pages are larger than this.
  constexpr std::size_t kLargestPage = 65536;
  const std::size_t begin = offset / kLargestPage * kLargestPage;
  const std::size_t bytes = offset + length - begin;
#if defined(__linux__)
  // MADV_POPULATE_READ, since Linux 5.14; the headers may be older than the system. It does not copy private pages,
  // and reports a file that has become shorter instead of raising SIGBUS. madvise(2).
  constexpr int kPopulateRead = 22;
  if (madvise(data_ + begin, bytes, kPopulateRead) == 0 || errno != EINVAL) return;
#endif
  posix_madvise(data_ + begin, bytes, POSIX_MADV_WILLNEED);
}

std::int64_t Mapping::LiveCount() { return live_count.load(std::memory_order_relaxed); }

}  // namespace safetensors_mmap
