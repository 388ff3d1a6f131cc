// Owns: the face of the plain C kernels that the library is measured against.
// Refuses: anything shared with native/: the two must be able to differ.
#ifndef KERNELS_H_
#define KERNELS_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*kernel)(const void *source, size_t count, float *target);

// A kernel as somebody would write it by hand for one instruction set: aligned target, a count
// that is a multiple of 64, no care for NaN payloads. Null where there is none for the set.
// set: "avx2", "avx512" or "neon"; dtype: "BF16", "F16" or "F8_E4M3"; streaming: 0 or 1.
kernel kernel_for(const char *set, const char *dtype, int streaming);

// `rows` rows of `row_bytes` bytes, `pitch` apart, one after the other into `target`.
void gather_rows(const void *source, size_t rows, size_t row_bytes, size_t pitch, void *target);

#ifdef __cplusplus
}
#endif

#endif
