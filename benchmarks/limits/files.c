// Owns: the state of files in the page cache: evicting, proving it, counting faults; and writing with fsync.
// Refuses: to call a file cold of which one page is still resident.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "limits.h"

enum { kPage = 4096, kPiece = 4 << 20, kHuge = 2 << 20 };

static size_t resident_pages(int descriptor, size_t size) {
  const size_t pages = (size + kPage - 1) / kPage;
  unsigned char *const states = malloc(pages);
  void *const address = map_file(descriptor, size);
  if (states == NULL || mincore(address, size, states) != 0) fail("mincore");
  size_t resident = 0;
  for (size_t i = 0; i < pages; ++i) resident += states[i] & 1;
  munmap(address, size);
  free(states);
  return resident;
}

// evict PATH…: writes back, drops from the page cache, and proves it.
void evict(int count, char **paths) {
  for (int i = 0; i < count; ++i) {
    const int descriptor = open_file(paths[i]);
    const size_t size = size_of(descriptor);
    size_t resident = 1;
    // A page that is being read ahead cannot be dropped at that moment.
    for (int attempt = 0; attempt < 50 && resident > 0; ++attempt) {
      if (attempt > 0) usleep(10000);
      if (fsync(descriptor) != 0) fail("fsync");
      if (posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) != 0) fail("posix_fadvise");
      resident = resident_pages(descriptor, size);
    }
    if (resident > 0) {
      fprintf(stderr, "%zu pages stay in the page cache\n", resident);
      exit(1);
    }
    close(descriptor);
  }
}

static uint64_t fault_count(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (uint64_t)(usage.ru_minflt + usage.ru_majflt);
}

// faults PATH: {"faultsPerGiB":…,"resident":…}, with every page touched once; resident is the part that was cached before.
void faults(int count, char **arguments) {
  (void)count;
  const int descriptor = open_file(arguments[0]);
  const size_t size = size_of(descriptor);
  const double resident = (double)resident_pages(descriptor, size) * kPage / (double)size;
  const uint8_t *const bytes = map_file(descriptor, size);
  const uint64_t before = fault_count();
  volatile uint32_t sum = sum_words(bytes, size, kPage);
  (void)sum;
  const double found = (double)(fault_count() - before);
  printf("{\"faultsPerGiB\":%.0f,\"resident\":%.3f}\n", found * (double)(1 << 30) / (double)size,
         resident > 1 ? 1 : resident);
}

// touch BYTES: has the machine provide so much free memory, in huge pages. A virtual one gives large free pages back to its
// host, and whoever takes them next waits for the host; which of the free pages that is depends on what ran before.
void touch(int count, char **arguments) {
  (void)count;
  const size_t size = number(arguments[0]);
  uint8_t *const bytes = aligned_alloc(kHuge, (size + kHuge - 1) / kHuge * kHuge);
  if (bytes == NULL) fail("aligned_alloc");
#ifdef MADV_HUGEPAGE
  madvise(bytes, size, MADV_HUGEPAGE);
#endif
  for (size_t at = 0; at < size; at += kPage) bytes[at] = 1;
  // The compiler must not find out that nobody reads it.
  __asm__ volatile("" : : "r"(bytes) : "memory");
}

static int create_file(const char *path) {
  const int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (descriptor < 0) fail("open for writing");
  return descriptor;
}

static void write_all(int descriptor, const uint8_t *bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = write(descriptor, bytes, size);
    if (written < 0) fail("write");
    bytes += written;
    size -= (size_t)written;
  }
}

static void finish(int descriptor, uint64_t start) {
  if (fsync(descriptor) != 0 || close(descriptor) != 0) fail("fsync");
  print_sample((double)(now() - start), 0);
}

// write-file PATH BYTES: from memory, in pieces of 4 MiB, with fsync.
void write_file(int count, char **arguments) {
  (void)count;
  const uint64_t size = number(arguments[1]);
  const uint8_t *const piece = memory(kPiece);
  const uint64_t start = now();
  const int descriptor = create_file(arguments[0]);
  for (uint64_t left = size; left > 0;) {
    const size_t part = left < kPiece ? left : kPiece;
    write_all(descriptor, piece, part);
    left -= part;
  }
  finish(descriptor, start);
}
