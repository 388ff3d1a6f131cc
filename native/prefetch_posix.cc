// Owns madvise for pages that will be needed. Refuses to touch a byte itself: that could raise SIGBUS.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "prefetch.h"

namespace safetensors_mmap {
namespace {

std::size_t PageSize() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// What every system has: advice to read ahead, which is no promise and tells no errors.
void Hint(const Mapping& mapping, const ByteRange& range) {
  const std::size_t page = PageSize();
  const std::size_t begin = range.begin / page * page;
  posix_madvise(mapping.data() + begin, range.end - begin, POSIX_MADV_WILLNEED);
}

int HintOnly(const Mapping& mapping, const std::vector<ByteRange>& ranges) {
  for (const ByteRange& range : ranges) Hint(mapping, range);
  return EINVAL;
}

}  // namespace

#if defined(__linux__)

namespace {

// madvise(2). The headers of the machine that builds may be older than the system that runs.
constexpr int kHugePage = 14;      // MADV_HUGEPAGE
constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, since Linux 5.14

// The kernel keeps the lock of the address space through one call where pages are cached, and every mmap of the
// JavaScript thread waits for it: so much takes less than a millisecond even in pages of 4 KiB.
constexpr std::size_t kOneCall = 4 * 1024 * 1024;

// A range or piece of one that is shorter has no largest page of its own, and is asked for by itself.
constexpr std::size_t kLargePage = 2 * 1024 * 1024;

}  // namespace

int BringIn(const Mapping& mapping, const std::vector<ByteRange>& ranges) {
  const std::size_t page = PageSize();
  // A fault reads as much around it as the disk is set to, megabytes on some machines; the hint reads what was asked for,
  // up to the disk's longest request, all of the ranges at once.
  for (const ByteRange& range : ranges) {
    if (range.end - range.begin < kLargePage) Hint(mapping, range);
  }
  for (const ByteRange& range : ranges) {
    std::size_t at = range.begin / page * page;
    while (at < range.end) {
      // Up to the next multiple, so that no page of the largest size is asked for twice.
      const std::size_t to = std::min(range.end, (at / kOneCall + 1) * kOneCall);
      if (madvise(mapping.data() + at, to - at, kPopulateRead) == 0) {
        at = to;
      } else if (errno != EINTR && errno != EAGAIN) {
        return errno == EINVAL ? HintOnly(mapping, ranges) : errno;
      }
    }
  }
  return 0;
}

void AskForLargePages(const Mapping& mapping, const std::vector<ByteRange>& ranges) {
  const std::size_t page = PageSize();
  for (const ByteRange& range : ranges) {
    const std::size_t begin = range.begin / page * page;
    madvise(mapping.data() + begin, range.end - begin, kHugePage);
  }
}

#else

// Elsewhere errors stay signals: the caller reads the file instead.
int BringIn(const Mapping& mapping, const std::vector<ByteRange>& ranges) {
  return HintOnly(mapping, ranges);
}

void AskForLargePages(const Mapping&, const std::vector<ByteRange>&) {}

#endif

}  // namespace safetensors_mmap
