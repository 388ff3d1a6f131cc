// Owns: what the parts of the limits program share: the clock, the printed line, a mapped file.
// Refuses: recovery. A system call that fails ends the program with a message; the harness records it.
#ifndef LIMITS_H_
#define LIMITS_H_

#include <stddef.h>
#include <stdint.h>

// Nanoseconds of a clock that only goes forward.
uint64_t now(void);

// Ends the program, naming what failed and why.
void fail(const char *what);

// The line that a sample is: {"value":…,"checksum":…}.
void print_sample(double value, uint32_t checksum);

// The median of values, which are put in order.
double median_of(double *values, size_t count);

// A decimal argument. Ends the program when it is none.
uint64_t number(const char *text);

size_t size_of(int descriptor);
int open_file(const char *path);
void *map_file(int descriptor, size_t size);

// Memory at a page's start, every page of it present.
void *memory(size_t size);

// The sum of one word in each `step` bytes: what every contender computes of the data.
uint32_t sum_words(const uint8_t *bytes, size_t size, size_t step);

// The subcommands, each given its own arguments. files.c, loading.c and computing.c have them.
void evict(int count, char **paths);
void faults(int count, char **arguments);
void touch(int count, char **arguments);
void pass(int count, char **arguments);
void read_pieces(int count, char **arguments);
void first_tensor(int count, char **arguments);
void one_tensor(int count, char **arguments);
void unmap(int count, char **arguments);
void copy_memory(int count, char **arguments);
void convert(int count, char **arguments);
void gather(int count, char **arguments);
void write_file(int count, char **arguments);

#endif
