// Owns: the x86 intrinsics without the warnings of their own header. Refuses: other architectures.
#ifndef SAFETENSORS_MMAP_X86_INTRINSICS_H_
#define SAFETENSORS_MMAP_X86_INTRINSICS_H_

// GCC 12 takes the header's "any value will do" registers for mistakes, wherever they are inlined.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#endif  // SAFETENSORS_MMAP_X86_INTRINSICS_H_
