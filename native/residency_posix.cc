// Owns mincore, cachestat, and the calls that take pages away. Refuses to take one away that was written to.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "residency.h"

namespace safetensors_mmap {
namespace {

std::size_t PageSize() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// Pages looked at in one call.
constexpr std::size_t kPages = 8192;

// Calls what is given with each run of whole pages in ranges of a mapping. The last page of a file is whole, since nobody
// else has the rest of it.
template <typename Use>
void ForWholePages(const Mapping& mapping, const std::vector<ByteRange>& ranges, std::size_t page,
                   const Use& use) {
  for (const ByteRange& range : ranges) {
    const std::size_t begin = (range.begin + page - 1) / page * page;
    const std::size_t last = range.end == mapping.size() ? range.end + page - 1 : range.end;
    const std::size_t end = last / page * page;
    if (begin < end) use(begin, end);
  }
}

#if defined(__linux__)

// An entry of /proc/self/pagemap. proc_pid_pagemap(5).
constexpr std::uint64_t kPresentOrSwapped = (1ULL << 63) | (1ULL << 62);
constexpr std::uint64_t kOfFile = 1ULL << 61;

constexpr int kPageOut = 21;  // MADV_PAGEOUT, since Linux 5.4

// A private page that was written to is no longer one of the file.
bool IsWritten(std::uint64_t entry) {
  return (entry & kPresentOrSwapped) != 0 && (entry & kOfFile) == 0;
}

// PAGEMAP_SCAN, since Linux 6.7: names the written pages and passes over what is not there, where an entry for each page
// is 2 GiB for 1 TiB of holes. linux/fs.h, whose version on the machine that builds may be older.
struct PageRegion {
  std::uint64_t start, end, categories;
};
struct PageScan {
  std::uint64_t size, flags, start, end, walk_end, regions, region_count, most_pages;
  std::uint64_t inverted, all_of, any_of, returned;
};
constexpr std::uint64_t kScanFile = 1 << 2;
constexpr std::uint64_t kScanPresent = 1 << 3;
constexpr std::uint64_t kScanSwapped = 1 << 4;
constexpr unsigned long kPagemapScan = _IOWR('f', 16, PageScan);

// Calls what is given with each run of pages in [begin, end) that is not written to, as the scan tells; how far that went,
// `end` where the system has it.
template <typename Use>
std::size_t ScanUnwritten(const Mapping& mapping, int pagemap, std::size_t begin, std::size_t end,
                          const Use& use) {
  PageRegion written[64];
  const std::uint64_t base = reinterpret_cast<std::uintptr_t>(mapping.data());
  while (begin < end) {
    PageScan scan = {};
    scan.size = sizeof(scan);
    scan.start = base + begin;
    scan.end = base + end;
    scan.regions = reinterpret_cast<std::uintptr_t>(written);
    scan.region_count = sizeof(written) / sizeof(written[0]);
    scan.inverted = kScanFile;
    scan.all_of = kScanFile;
    scan.any_of = kScanPresent | kScanSwapped;
    scan.returned = kScanPresent;
    const int count = ioctl(pagemap, kPagemapScan, &scan);
    if (count < 0 || scan.walk_end <= scan.start) return begin;
    const std::size_t walked = std::min(static_cast<std::size_t>(scan.walk_end - base), end);
    for (int i = 0; i < count; i++) {
      const std::size_t from = static_cast<std::size_t>(written[i].start - base);
      if (begin < from) use(begin, from);
      begin = static_cast<std::size_t>(written[i].end - base);
    }
    if (begin < walked) use(begin, walked);
    begin = walked;
  }
  return end;
}

// The same page by page; false when the system does not say which are written.
template <typename Use>
bool ForUnwritten(const Mapping& mapping, int pagemap, std::size_t page, std::size_t begin,
                  std::size_t end, const Use& use) {
  begin = ScanUnwritten(mapping, pagemap, begin, end, use);
  if (begin >= end) return true;
  std::vector<std::uint64_t> entries(kPages);
  const std::size_t first = reinterpret_cast<std::uintptr_t>(mapping.data()) / page;
  while (begin < end) {
    const std::size_t count = std::min(kPages, (end - begin) / page);
    const std::size_t bytes = count * sizeof(std::uint64_t);
    const off_t at = static_cast<off_t>((first + begin / page) * sizeof(std::uint64_t));
    if (pread(pagemap, entries.data(), bytes, at) != static_cast<ssize_t>(bytes)) return false;
    for (std::size_t i = 0; i < count;) {
      const bool written = IsWritten(entries[i]);
      std::size_t j = i + 1;
      while (j < count && IsWritten(entries[j]) == written) j++;
      if (!written) use(begin + i * page, begin + j * page);
      i = j;
    }
    begin += count * page;
  }
  return true;
}

int OpenPagemap() { return open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC); }

#endif

}  // namespace

std::int64_t ResidentBytes(const Mapping& mapping, const std::vector<ByteRange>& ranges) {
  const std::size_t page = PageSize();
#if defined(__APPLE__)
  std::vector<char> present(kPages);
#else
  std::vector<unsigned char> present(kPages);
#endif
  std::size_t total = 0;
  for (const ByteRange& range : ranges) {
    for (std::size_t at = range.begin / page * page; at < range.end; at += kPages * page) {
      const std::size_t to = std::min(range.end, at + kPages * page);
      if (mincore(mapping.data() + at, to - at, present.data()) != 0) return kUnknown;
      for (std::size_t i = 0; at + i * page < to; i++) {
        if ((present[i] & 1) == 0) continue;
        const std::size_t from = std::max(range.begin, at + i * page);
        total += std::min(to, at + (i + 1) * page) - from;
      }
    }
  }
  return static_cast<std::int64_t>(total);
}

std::int64_t CachedBytes(int descriptor, const std::vector<ByteRange>& ranges) {
#if defined(__linux__)
  constexpr long kCacheStat = 451;  // cachestat(2), the same number everywhere
  const std::size_t page = PageSize();
  std::uint64_t total = 0;
  for (const ByteRange& range : ranges) {
    const std::uint64_t asked[2] = {range.begin, range.end - range.begin};
    std::uint64_t pages[5] = {};
    if (syscall(kCacheStat, descriptor, asked, pages, 0) != 0) return kUnknown;
    // Which pages is not said, so of a page that lies partly in the range all is counted, up to the range's length.
    total += std::min(pages[0] * page, asked[1]);
  }
  return static_cast<std::int64_t>(total);
#else
  (void)descriptor;
  (void)ranges;
  return kUnknown;
#endif
}

void EvictPages(const Mapping& mapping, const std::vector<ByteRange>& ranges) {
  const std::size_t page = PageSize();
#if defined(__linux__)
  const bool writable = mapping.protection() == Protection::kCopyOnWrite;
  const int pagemap = writable ? OpenPagemap() : -1;
  const auto drop = [&](std::size_t begin, std::size_t end) {
    madvise(mapping.data() + begin, end - begin, MADV_DONTNEED);
  };
  ForWholePages(mapping, ranges, page, [&](std::size_t begin, std::size_t end) {
    if (!writable) {
      drop(begin, end);
    } else if (pagemap < 0 || !ForUnwritten(mapping, pagemap, page, begin, end, drop)) {
      // Without the page map there is still a call that loses nothing, though it need not do anything.
      madvise(mapping.data() + begin, end - begin, kPageOut);
    }
  });
  if (pagemap >= 0) close(pagemap);
#else
  // Elsewhere this advice keeps what was written.
  ForWholePages(mapping, ranges, page, [&](std::size_t begin, std::size_t end) {
    posix_madvise(mapping.data() + begin, end - begin, POSIX_MADV_DONTNEED);
  });
#endif
}

bool IsUnwritten(const Mapping& mapping, std::size_t begin, std::size_t end) {
  if (begin == end || mapping.protection() != Protection::kCopyOnWrite) return true;
#if defined(__linux__)
  const int pagemap = OpenPagemap();
  if (pagemap < 0) return false;
  const std::size_t page = PageSize();
  const std::size_t first = begin / page * page;
  const std::size_t last = (end + page - 1) / page * page;
  std::size_t unwritten = 0;
  const bool is_known =
      ForUnwritten(mapping, pagemap, page, first, last,
                   [&](std::size_t from, std::size_t to) { unwritten += to - from; });
  close(pagemap);
  return is_known && unwritten == last - first;
#else
  (void)begin;
  (void)end;
  return false;
#endif
}

void DropCached(int descriptor, const std::vector<ByteRange>& ranges) {
#if defined(__linux__)
  // The kernel leaves out pages that lie in a range in part, but for the file's last.
  for (const ByteRange& range : ranges) {
    posix_fadvise(descriptor, static_cast<off_t>(range.begin),
                  static_cast<off_t>(range.end - range.begin), POSIX_FADV_DONTNEED);
  }
#else
  (void)descriptor;
  (void)ranges;
#endif
}

}  // namespace safetensors_mmap
