// Owns: mmap and munmap, and which thread is kept waiting by them. Refuses: policy; what is asked for is mapped or an
// errno comes back.
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <new>
#include <utility>

#include "mapping.h"

namespace safetensors_mmap {
namespace {

std::atomic<std::int64_t> live_count{0};

// Smaller ones cost less where they end than to hand over: both were measured, docs/decisions/0015.
constexpr std::size_t kLarge = 1024 * 1024;

// The system holds a lock on the whole address space while it takes pages out of it, and allocations and page faults of
// other threads wait for that. So it is asked for pieces, each as long as took about so many nanoseconds …
constexpr std::int64_t kLongestHold = 500 * 1000;
constexpr std::size_t kShortestPiece = 256 * 1024;
constexpr std::size_t kFirstPiece = 4 * 1024 * 1024;
constexpr std::size_t kLongestPiece = 1024 * 1024 * 1024;
// … and left alone for so many between two. Else this thread would take the lock again before who waits for it wakes up.
constexpr std::int64_t kPause = 20 * 1000;

std::int64_t Nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

// Calls give(offset, length) for one piece after the other.
template <typename Give>
void InPieces(std::size_t size, Give give) {
  std::size_t piece = kFirstPiece;
  for (std::size_t offset = 0; offset < size;) {
    const std::size_t length = std::min(piece, size - offset);
    const std::int64_t began = Nanoseconds();
    give(offset, length);
    const std::int64_t took = Nanoseconds() - began;
    offset += length;
    if (took > kLongestHold) {
      piece = std::max(kShortestPiece, piece / 2);
    } else if (took < kLongestHold / 2) {
      piece = std::min(kLongestPiece, piece * 2);
    }
    // What took next to no time kept nobody waiting.
    if (took < kPause) continue;
    const timespec pause = {0, kPause};
    nanosleep(&pause, nullptr);
  }
}

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
  if (unmapped_ < size_) munmap(data_ + unmapped_, size_ - unmapped_);
  live_count.fetch_sub(1, std::memory_order_relaxed);
}

void Mapping::Retire(Mapping* mapping) {
  if (mapping->size_ < kLarge || !Reaper::HandOver(mapping)) delete mapping;
}

void Mapping::DropPagesLater(std::shared_ptr<Mapping> mapping) {
  if (mapping->size_ >= kLarge) {
    Mapping& large = *mapping;
    large.dropping_ = std::move(mapping);
    if (Reaper::HandOver(&large)) return;
    mapping = std::move(large.dropping_);
  }
  mapping->DropPages();
}

void Mapping::Run() {
  InPieces(size_, [this](std::size_t offset, std::size_t length) {
    madvise(data_ + offset, length, MADV_DONTNEED);
  });
  // May be the last share, and then comes back here to be unmapped. Moved out first, since that ends this object.
  const std::shared_ptr<Mapping> share = std::move(dropping_);
  if (share != nullptr) return;
  // Empty, but for its page tables: 64 GiB of those are long enough to be noticed, too.
  InPieces(size_, [this](std::size_t offset, std::size_t length) {
    if (unmapped_ == offset && munmap(data_ + offset, length) == 0) unmapped_ += length;
  });
  delete this;
}

void Mapping::DropPages() const {
  // madvise(2), not posix_madvise(3): that one ignores the advice. Failing leaves the pages where they are.
  madvise(data_, size_, MADV_DONTNEED);
}

Mapping::Result Mapping::Map(int descriptor, std::size_t size, Protection wanted) {
  // Those that wait for the reaper count, and are hurried along rather than held against the caller.
  while (LiveCount() >= kMost) {
    if (!Reaper::Help()) return {nullptr, ENOMEM};
  }
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
  return {std::shared_ptr<Mapping>(mapping, Retire), 0};
}

std::int64_t Mapping::LiveCount() { return live_count.load(std::memory_order_relaxed); }

}  // namespace safetensors_mmap
