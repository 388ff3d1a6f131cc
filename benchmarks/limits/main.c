// Owns: the program of the physical limits: its subcommands, the clock, the line that it prints.
// Refuses: any knowledge of the format. Offsets and lengths come as arguments; what it measures is the machine.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "limits.h"

uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void fail(const char *what) {
  perror(what);
  exit(1);
}

void print_sample(double value, uint32_t checksum) {
  printf("{\"value\":%.1f,\"checksum\":%u}\n", value, checksum);
}

static int ascending(const void *a, const void *b) {
  const double one = *(const double *)a, two = *(const double *)b;
  return (one > two) - (one < two);
}

double median_of(double *values, size_t count) {
  qsort(values, count, sizeof *values, ascending);
  return values[count / 2];
}

uint64_t number(const char *text) {
  char *end;
  const uint64_t value = strtoull(text, &end, 10);
  if (end == text || *end != '\0') {
    fprintf(stderr, "not a number: \"%s\"\n", text);
    exit(2);
  }
  return value;
}

int open_file(const char *path) {
  const int descriptor = open(path, O_RDONLY);
  if (descriptor < 0) fail("open");
  return descriptor;
}

size_t size_of(int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) fail("fstat");
  return (size_t)status.st_size;
}

void *map_file(int descriptor, size_t size) {
  void *const address = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) fail("mmap");
  return address;
}

void *memory(size_t size) {
  void *const address = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
  if (address == NULL) fail("aligned_alloc");
  memset(address, 1, size);
  return address;
}

uint32_t sum_words(const uint8_t *bytes, size_t size, size_t step) {
  uint32_t sum = 0;
  for (size_t at = 0; at + 4 <= size; at += step) {
    uint32_t word;
    memcpy(&word, bytes + at, 4);
    sum += word;
  }
  return sum;
}

int main(int count, char **arguments) {
  static const struct {
    const char *name;
    int least;
    void (*run)(int, char **);
  } commands[] = {
      {"evict", 1, evict},
      {"faults", 1, faults},
      {"touch", 1, touch},
      {"pass", 3, pass},
      {"read", 5, read_pieces},
      {"first-tensor", 5, first_tensor},
      {"one-tensor", 4, one_tensor},
      {"unmap", 1, unmap},
      {"copy-memory", 2, copy_memory},
      {"convert", 7, convert},
      {"gather", 6, gather},
      {"write-file", 2, write_file},
  };
  for (size_t i = 0; count > 1 && i < sizeof commands / sizeof commands[0]; ++i) {
    if (strcmp(arguments[1], commands[i].name) != 0 || count - 2 < commands[i].least) continue;
    commands[i].run(count - 2, arguments + 2);
    return 0;
  }
  fprintf(stderr, "usage: limits COMMAND ARGUMENT…\n");
  return 2;
}
