// Owns: loading at its limit: map and sum, pread on one or more threads, the first tensor, a small one, munmap.
// Refuses: what a loader has to do besides: no header is parsed, nothing is checked.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "limits.h"

// pass PATH DATA_OFFSET STEP: open, map, one word of each STEP bytes, unmap.
void pass(int count, char **arguments) {
  (void)count;
  const size_t offset = number(arguments[1]), step = number(arguments[2]);
  const uint64_t start = now();
  const int descriptor = open_file(arguments[0]);
  const size_t size = size_of(descriptor);
  uint8_t *const bytes = map_file(descriptor, size);
  close(descriptor);
  const uint32_t sum = sum_words(bytes + offset, size - offset, step);
  munmap(bytes, size);
  print_sample((double)(now() - start), sum);
}

struct reader {
  pthread_t thread;
  int descriptor;
  size_t begin, end, piece, step;
  uint32_t sum;
};

static void *read_range(void *argument) {
  struct reader *const reader = argument;
  uint8_t *const buffer = memory(reader->piece);
  for (size_t at = reader->begin; at < reader->end;) {
    const size_t left = reader->end - at;
    const size_t wanted = left < reader->piece ? left : reader->piece;
    const ssize_t found = pread(reader->descriptor, buffer, wanted, (off_t)at);
    if (found != (ssize_t)wanted) fail("pread");
    reader->sum += sum_words(buffer, wanted, reader->step);
    at += wanted;
  }
  free(buffer);
  return NULL;
}

// read PATH DATA_OFFSET STEP PIECE THREADS: everything by pread into a reused buffer of each thread, summed there.
void read_pieces(int count, char **arguments) {
  (void)count;
  const size_t offset = number(arguments[1]), step = number(arguments[2]), piece = number(arguments[3]);
  const size_t threads = number(arguments[4]);
  struct reader *const readers = calloc(threads, sizeof *readers);
  if (readers == NULL) fail("calloc");
  const uint64_t start = now();
  const int descriptor = open_file(arguments[0]);
  const size_t pieces = (size_of(descriptor) - offset) / piece;
  uint32_t sum = 0;
  for (size_t i = 0; i < threads; ++i) {
    readers[i] = (struct reader){.descriptor = descriptor,
                                 .begin = offset + pieces * i / threads * piece,
                                 .end = offset + pieces * (i + 1) / threads * piece,
                                 .piece = piece,
                                 .step = step};
    if (i + 1 == threads) readers[i].end = size_of(descriptor);
    if (pthread_create(&readers[i].thread, NULL, read_range, &readers[i]) != 0) fail("pthread_create");
  }
  for (size_t i = 0; i < threads; ++i) {
    pthread_join(readers[i].thread, NULL);
    sum += readers[i].sum;
  }
  close(descriptor);
  print_sample((double)(now() - start), sum);
  free(readers);
}

// first-tensor PATH HEADER_LENGTH OFFSET LENGTH ROUNDS: open, read the header's bytes, map, sum each line, unmap.
void first_tensor(int count, char **arguments) {
  (void)count;
  const size_t header = number(arguments[1]), offset = number(arguments[2]);
  const size_t length = number(arguments[3]), rounds = number(arguments[4]);
  char *const bytes = memory(header + 8);
  double *const times = calloc(rounds, sizeof *times);
  uint32_t sum = 0;
  for (size_t i = 0; i < rounds; ++i) {
    const uint64_t start = now();
    const int descriptor = open_file(arguments[0]);
    const size_t size = size_of(descriptor);
    if (pread(descriptor, bytes, 8, 0) != 8) fail("pread");
    if (pread(descriptor, bytes + 8, header, 8) != (ssize_t)header) fail("pread");
    uint8_t *const mapped = map_file(descriptor, size);
    close(descriptor);
    sum = sum_words(mapped + offset, length, 64);
    munmap(mapped, size);
    times[i] = (double)(now() - start);
  }
  print_sample(median_of(times, rounds), sum);
}

// one-tensor PATH HEADER_LENGTH OFFSET LENGTH: open, read the header's bytes, read the tensor, sum each cache line.
void one_tensor(int count, char **arguments) {
  (void)count;
  const size_t header = number(arguments[1]), offset = number(arguments[2]), length = number(arguments[3]);
  uint8_t *const bytes = memory(header + 8 + length);
  const uint64_t start = now();
  const int descriptor = open_file(arguments[0]);
  if (pread(descriptor, bytes, 8, 0) != 8) fail("pread");
  if (pread(descriptor, bytes + 8, header, 8) != (ssize_t)header) fail("pread");
  if (pread(descriptor, bytes, length, (off_t)offset) != (ssize_t)length) fail("pread");
  const uint32_t sum = sum_words(bytes, length, 64);
  close(descriptor);
  print_sample((double)(now() - start), sum);
}

// unmap PATH: how long munmap takes after every page was touched.
void unmap(int count, char **arguments) {
  (void)count;
  const int descriptor = open_file(arguments[0]);
  const size_t size = size_of(descriptor);
  uint8_t *const bytes = map_file(descriptor, size);
  const uint32_t sum = sum_words(bytes, size, 4096);
  const uint64_t start = now();
  munmap(bytes, size);
  print_sample((double)(now() - start), sum);
}
