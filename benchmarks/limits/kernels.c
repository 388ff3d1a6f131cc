// Owns: hand-written C kernels for BF16, F16 and F8_E4M3 to float32, and a row gather.
// Refuses: odd lengths, unaligned targets, NaN payloads: it shows what the instruction set can do, not what is right.
#include "kernels.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,f16c")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

// E4M3 as float32: the seven bits moved to exponent and mantissa are the value times 2^-120.
#define SCALE 0x1p120f

#define LOOP_AVX2(name, store, bytes, decode)                              \
  AVX2 static void name(const void *source, size_t count, float *target) { \
    const uint8_t *from = source;                                          \
    for (size_t i = 0; i < count; i += 16) {                               \
      const __m256 a = decode(from + i * bytes);                           \
      const __m256 b = decode(from + (i + 8) * bytes);                     \
      store(target + i, a);                                                \
      store(target + i + 8, b);                                            \
    }                                                                      \
  }

AVX2 static inline __m256 bf16_avx2(const uint8_t *from) {
  const __m128i halves = _mm_loadu_si128((const __m128i *)from);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}
AVX2 static inline __m256 f16_avx2(const uint8_t *from) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from));
}
AVX2 static inline __m256 e4m3_avx2(const uint8_t *from) {
  const __m256i bytes = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)from));
  const __m256i magnitude = _mm256_and_si256(_mm256_slli_epi32(bytes, 20), _mm256_set1_epi32(0x07F00000));
  const __m256i sign = _mm256_and_si256(bytes, _mm256_set1_epi32((int)0x80000000));
  const __m256i nan = _mm256_cmpeq_epi32(magnitude, _mm256_set1_epi32(0x07F00000));
  const __m256 value = _mm256_mul_ps(_mm256_castsi256_ps(magnitude), _mm256_set1_ps(SCALE));
  return _mm256_or_ps(_mm256_or_ps(value, _mm256_castsi256_ps(nan)), _mm256_castsi256_ps(sign));
}
LOOP_AVX2(bf16_avx2_cached, _mm256_store_ps, 2, bf16_avx2)
LOOP_AVX2(bf16_avx2_streaming, _mm256_stream_ps, 2, bf16_avx2)
LOOP_AVX2(f16_avx2_cached, _mm256_store_ps, 2, f16_avx2)
LOOP_AVX2(f16_avx2_streaming, _mm256_stream_ps, 2, f16_avx2)
LOOP_AVX2(e4m3_avx2_cached, _mm256_store_ps, 1, e4m3_avx2)
LOOP_AVX2(e4m3_avx2_streaming, _mm256_stream_ps, 1, e4m3_avx2)

#define LOOP_AVX512(name, store, bytes, decode)                              \
  AVX512 static void name(const void *source, size_t count, float *target) { \
    const uint8_t *from = source;                                            \
    for (size_t i = 0; i < count; i += 32) {                                 \
      const __m512 a = decode(from + i * bytes);                             \
      const __m512 b = decode(from + (i + 16) * bytes);                      \
      store(target + i, a);                                                  \
      store(target + i + 16, b);                                             \
    }                                                                        \
  }

AVX512 static inline __m512 bf16_avx512(const uint8_t *from) {
  const __m256i halves = _mm256_loadu_si256((const __m256i *)from);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}
AVX512 static inline __m512 f16_avx512(const uint8_t *from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
}
AVX512 static inline __m512 e4m3_avx512(const uint8_t *from) {
  const __m512i bytes = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)from));
  const __m512i magnitude = _mm512_and_si512(_mm512_slli_epi32(bytes, 20), _mm512_set1_epi32(0x07F00000));
  const __m512i sign = _mm512_and_si512(bytes, _mm512_set1_epi32((int)0x80000000));
  const __mmask16 nan = _mm512_cmpeq_epi32_mask(magnitude, _mm512_set1_epi32(0x07F00000));
  __m512i value = _mm512_castps_si512(_mm512_mul_ps(_mm512_castsi512_ps(magnitude), _mm512_set1_ps(SCALE)));
  value = _mm512_mask_mov_epi32(value, nan, _mm512_set1_epi32(0x7FC00000));
  return _mm512_castsi512_ps(_mm512_or_si512(value, sign));
}
LOOP_AVX512(bf16_avx512_cached, _mm512_store_ps, 2, bf16_avx512)
LOOP_AVX512(bf16_avx512_streaming, _mm512_stream_ps, 2, bf16_avx512)
LOOP_AVX512(f16_avx512_cached, _mm512_store_ps, 2, f16_avx512)
LOOP_AVX512(f16_avx512_streaming, _mm512_stream_ps, 2, f16_avx512)
LOOP_AVX512(e4m3_avx512_cached, _mm512_store_ps, 1, e4m3_avx512)
LOOP_AVX512(e4m3_avx512_streaming, _mm512_stream_ps, 1, e4m3_avx512)
#endif

#if defined(__aarch64__)
#include <arm_neon.h>

static void bf16_neon(const void *source, size_t count, float *target) {
  const uint16_t *from = source;
  for (size_t i = 0; i < count; i += 8) {
    const uint16x8_t halves = vld1q_u16(from + i);
    vst1q_u32((uint32_t *)target + i, vshll_n_u16(vget_low_u16(halves), 16));
    vst1q_u32((uint32_t *)target + i + 4, vshll_n_u16(vget_high_u16(halves), 16));
  }
}
static void f16_neon(const void *source, size_t count, float *target) {
  const uint16_t *from = source;
  for (size_t i = 0; i < count; i += 8) {
    const float16x8_t halves = vreinterpretq_f16_u16(vld1q_u16(from + i));
    vst1q_f32(target + i, vcvt_f32_f16(vget_low_f16(halves)));
    vst1q_f32(target + i + 4, vcvt_high_f32_f16(halves));
  }
}
#endif

kernel kernel_for(const char *set, const char *dtype, int streaming) {
  static const struct {
    const char *set, *dtype;
    kernel cached, streaming;
  } kernels[] = {
#if defined(__x86_64__)
    {"avx2", "BF16", bf16_avx2_cached, bf16_avx2_streaming},
    {"avx2", "F16", f16_avx2_cached, f16_avx2_streaming},
    {"avx2", "F8_E4M3", e4m3_avx2_cached, e4m3_avx2_streaming},
    {"avx512", "BF16", bf16_avx512_cached, bf16_avx512_streaming},
    {"avx512", "F16", f16_avx512_cached, f16_avx512_streaming},
    {"avx512", "F8_E4M3", e4m3_avx512_cached, e4m3_avx512_streaming},
#endif
#if defined(__aarch64__)
    {"neon", "BF16", bf16_neon, NULL},
    {"neon", "F16", f16_neon, NULL},
#endif
    {"none", "none", NULL, NULL},
  };
  for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; ++i) {
    if (strcmp(kernels[i].set, set) != 0 || strcmp(kernels[i].dtype, dtype) != 0) continue;
    return streaming ? kernels[i].streaming : kernels[i].cached;
  }
  return NULL;
}

void gather_rows(const void *source, size_t rows, size_t row_bytes, size_t pitch, void *target) {
  const uint8_t *from = source;
  uint8_t *to = target;
  for (size_t row = 0; row < rows; ++row) memcpy(to + row * row_bytes, from + row * pitch, row_bytes);
}
