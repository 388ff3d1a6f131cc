// Owns: copying, converting and gathering at their limit, in rounds within one process.
// Refuses: to choose who is better: cached and streaming stores are two contenders.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels.h"
#include "limits.h"

static void *fresh(size_t size) {
  void *const address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) fail("mmap");
#ifdef MADV_HUGEPAGE
  // The best that C can do, and what the library asks for.
  madvise(address, size, MADV_HUGEPAGE);
#endif
  return address;
}

// copy-memory BYTES ROUNDS: memcpy into reused memory.
void copy_memory(int count, char **arguments) {
  (void)count;
  const size_t size = number(arguments[0]), rounds = number(arguments[1]);
  uint8_t *const from = memory(size), *const to = memory(size);
  double *const times = calloc(rounds, sizeof *times);
  for (size_t i = 0; i < rounds; ++i) {
    const uint64_t start = now();
    memcpy(to, from, size);
    // The compiler must not find out that nobody reads the copy.
    __asm__ volatile("" : : "r"(to) : "memory");
    times[i] = (double)(now() - start);
  }
  // Without a checksum: it copies what it likes.
  printf("{\"value\":%.1f}\n", median_of(times, rounds));
}

// convert PATH OFFSET COUNT DTYPE SET STREAMING ROUNDS [fresh]: from the mapped file to float32.
void convert(int count, char **arguments) {
  const size_t offset = number(arguments[1]), elements = number(arguments[2]), rounds = number(arguments[6]);
  const int is_fresh = count > 7;
  const kernel run = kernel_for(arguments[4], arguments[3], (int)number(arguments[5]));
  if (run == NULL) {
    fprintf(stderr, "no C kernel for %s with %s\n", arguments[3], arguments[4]);
    exit(1);
  }
  const int descriptor = open_file(arguments[0]);
  const uint8_t *const source = (const uint8_t *)map_file(descriptor, size_of(descriptor)) + offset;
  const size_t size = elements * sizeof(float);
  float *target = is_fresh ? NULL : memory(size);
  double *const times = calloc(rounds, sizeof *times);
  uint32_t sum = 0;
  for (size_t i = 0; i <= rounds; ++i) {
    const uint64_t start = now();
    if (is_fresh) target = fresh(size);
    run(source, elements, target);
    const double spent = (double)(now() - start);
    if (i > 0) times[i - 1] = spent;
    // Walking through it takes longer than filling it: once, where all rounds fill the same.
    if (is_fresh || i == rounds) sum = sum_words((const uint8_t *)target, size, 64);
    if (is_fresh) munmap(target, size);
  }
  print_sample(median_of(times, rounds), sum);
}

// gather PATH OFFSET ROWS ROW_BYTES PITCH ROUNDS: the first bytes of each row, into reused memory.
void gather(int count, char **arguments) {
  (void)count;
  const size_t offset = number(arguments[1]), rows = number(arguments[2]), row_bytes = number(arguments[3]);
  const size_t pitch = number(arguments[4]), rounds = number(arguments[5]);
  uint8_t *const target = memory(rows * row_bytes);
  double *const times = calloc(rounds, sizeof *times);
  for (size_t i = 0; i < rounds; ++i) {
    const uint64_t start = now();
    const int descriptor = open_file(arguments[0]);
    const size_t size = size_of(descriptor);
    uint8_t *const bytes = map_file(descriptor, size);
    close(descriptor);
    gather_rows(bytes + offset, rows, row_bytes, pitch, target);
    munmap(bytes, size);
    times[i] = (double)(now() - start);
  }
  print_sample(median_of(times, rounds), sum_words(target, rows * row_bytes, 64));
}
