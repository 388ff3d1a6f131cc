// Owns: the kernel for x86-64 processors with AVX-512 F, BW, VL and DQ, sixteen floats at a time.
// Refuses: asking the processor; convert_dispatch.cc does, before any function of this file runs.
#include "convert_kernel.h"

#if SAFETENSORS_MMAP_X64

// GCC 12 takes its own header's "any value will do" registers for mistakes.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,f16c"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,f16c")
#endif

#include "convert_blocks.h"

namespace safetensors_mmap {
namespace {

template <Number kNumberOfDecoder, unsigned kBits>
struct Vector16 {
  using Vector = __m512;
  static constexpr Number kNumber = kNumberOfDecoder;
  static constexpr std::size_t kLanes = 16;
  static constexpr std::size_t kBytes = kLanes * kBits / 8;
  static void Store(float* target, __m512 vector) { _mm512_storeu_ps(target, vector); }
  static void Stream(float* target, __m512 vector) { _mm512_stream_ps(target, vector); }
  static void Fence() { _mm_sfence(); }
};

__m512i Word(std::uint32_t bits) { return _mm512_set1_epi32(static_cast<int>(bits)); }
__m512 AsFloat(__m512i bits) { return _mm512_castsi512_ps(bits); }
__m512i AsBits(__m512 floats) { return _mm512_castps_si512(floats); }
__m128i Load16(const std::uint8_t* source) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(source));
}
__m256i Load32(const std::uint8_t* source) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
}
__m512i Load64(const std::uint8_t* source) { return _mm512_loadu_si512(source); }
__m512 Join(__m256 low, __m256 high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

// Sixteen small floats, each in the low bits of its word; higher bits may hold anything where F
// has fewer than eight. As in the AVX2 kernel, no operand is ever subnormal.
template <class F>
__m512 DecodeSmall(__m512i bits) {
  const __m512i magnitude = _mm512_and_si512(bits, Word(F::kMagnitudeMask));
  const __m512i sign = _mm512_slli_epi32(bits, F::kSignShift);
  __m512i result =
      _mm512_add_epi32(_mm512_slli_epi32(magnitude, F::kMagnitudeShift), Word(F::kRebias));
  const __mmask16 is_subnormal = _mm512_cmplt_epu32_mask(magnitude, Word(F::kFirstNormal));
  result = AsBits(_mm512_mask_mul_ps(AsFloat(result), is_subnormal, _mm512_cvtepi32_ps(magnitude),
                                     AsFloat(Word(F::kUnit))));
  if (F::kSpecial == Special::kAllOnes) {
    const __mmask16 nan = _mm512_cmpeq_epi32_mask(magnitude, Word(F::kMagnitudeMask));
    result = _mm512_mask_mov_epi32(result, nan, Word(kFloat32QuietNaN));
  }
  if (F::kSpecial == Special::kNegativeZero) {
    const __mmask16 nan = _mm512_cmpeq_epi32_mask(bits, Word(F::kMagnitudeMask + 1));
    result = _mm512_mask_mov_epi32(result, nan, Word(kFloat32QuietNaN));
  }
  if (F::kSpecial == Special::kIeee) {
    const __mmask16 special = _mm512_cmpge_epu32_mask(magnitude, Word(F::kInfinity));
    const __mmask16 nan = _mm512_cmpgt_epu32_mask(magnitude, Word(F::kInfinity));
    result = _mm512_mask_mov_epi32(result, special, Word(kFloat32Infinity));
    result = _mm512_mask_mov_epi32(result, nan, Word(kFloat32QuietNaN));
  }
  // 0xEA is the truth table of (a & b) | c: the sign bit over the rest.
  return AsFloat(_mm512_ternarylogic_epi32(Word(0x80000000u), sign, result, 0xEA));
}

template <Number kNumberOfDecoder, class F>
struct Bytes : Vector16<kNumberOfDecoder, 8> {
  static __m512 Decode(const std::uint8_t* source) {
    return DecodeSmall<F>(_mm512_cvtepu8_epi32(Load16(source)));
  }
};

template <Number kNumberOfDecoder, class F>
struct Sixths : Vector16<kNumberOfDecoder, 6> {
  static __m512 Decode(const std::uint8_t* source) {
    // Twelve bytes are four groups of 24 bits. Each 128-bit lane takes one group into all its
    // words and shifts each word to its element.
    const __m128i packed = _mm_maskz_loadu_epi8(0x0FFF, source);
    const __m512i groups = _mm512_shuffle_epi8(
        _mm512_broadcast_i32x4(packed), _mm512_set_epi32(0x0B0A09, 0x0B0A09, 0x0B0A09, 0x0B0A09,  //
                                                         0x080706, 0x080706, 0x080706, 0x080706,  //
                                                         0x050403, 0x050403, 0x050403, 0x050403,  //
                                                         0x020100, 0x020100, 0x020100, 0x020100));
    const __m512i shifts = _mm512_set_epi32(18, 12, 6, 0, 18, 12, 6, 0, 18, 12, 6, 0, 18, 12, 6, 0);
    return DecodeSmall<F>(_mm512_srlv_epi32(groups, shifts));
  }
};

struct Nibbles : Vector16<Number::kF4, 4> {
  static __m512 Decode(const std::uint8_t* source) {
    // All sixteen values fit one register, and the lookup ignores the bits above the index.
    const __m512 values = _mm512_setr_ps(0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f,  //
                                         -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f);
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(source));
    const __m128i pairs = _mm_unpacklo_epi8(bytes, _mm_srli_epi16(bytes, 4));
    return _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(pairs), values);
  }
};

struct E8M0 : Vector16<Number::kF8E8M0, 8> {
  static __m512 Decode(const std::uint8_t* source) {
    const __m512i x = _mm512_cvtepu8_epi32(Load16(source));
    const __m512i shifted = _mm512_slli_epi32(x, 23);
    const __mmask16 end =
        _mm512_cmpeq_epi32_mask(x, _mm512_setzero_si512()) | _mm512_cmpeq_epi32_mask(x, Word(255));
    return AsFloat(_mm512_mask_or_epi32(shifted, end, shifted, Word(kFloat32QuietBit)));
  }
};

struct F16 : Vector16<Number::kF16, 16> {
  static __m512 Decode(const std::uint8_t* source) {
    // The instruction makes NaNs quiet, so theirs are put together from the bits: the sign is
    // extended over the exponent's place and the missing exponent bits are set.
    const __m256i halves = Load32(source);
    const __mmask16 is_nan = _mm256_cmpgt_epu16_mask(
        _mm256_and_si256(halves, _mm256_set1_epi16(0x7FFF)), _mm256_set1_epi16(0x7C00));
    const __m512i nan_bits = _mm512_slli_epi32(_mm512_cvtepi16_epi32(halves), 13);
    return AsFloat(
        _mm512_mask_or_epi32(AsBits(_mm512_cvtph_ps(halves)), is_nan, nan_bits, Word(0x70000000)));
  }
};

struct BF16 : Vector16<Number::kBF16, 16> {
  static __m512 Decode(const std::uint8_t* source) {
    return AsFloat(_mm512_slli_epi32(_mm512_cvtepu16_epi32(Load32(source)), 16));
  }
};

struct F32 : Vector16<Number::kF32, 32> {
  static __m512 Decode(const std::uint8_t* source) { return AsFloat(Load64(source)); }
};

struct F64 : Vector16<Number::kF64, 64> {
  static __m512 Decode(const std::uint8_t* source) {
    return Join(_mm512_cvtpd_ps(_mm512_castsi512_pd(Load64(source))),
                _mm512_cvtpd_ps(_mm512_castsi512_pd(Load64(source + 64))));
  }
};

struct U64 : Vector16<Number::kU64, 64> {
  static __m512 Decode(const std::uint8_t* source) {
    return Join(_mm512_cvtepu64_ps(Load64(source)), _mm512_cvtepu64_ps(Load64(source + 64)));
  }
};

struct I64 : Vector16<Number::kI64, 64> {
  static __m512 Decode(const std::uint8_t* source) {
    return Join(_mm512_cvtepi64_ps(Load64(source)), _mm512_cvtepi64_ps(Load64(source + 64)));
  }
};

struct U32 : Vector16<Number::kU32, 32> {
  static __m512 Decode(const std::uint8_t* source) { return _mm512_cvtepu32_ps(Load64(source)); }
};

struct I32 : Vector16<Number::kI32, 32> {
  static __m512 Decode(const std::uint8_t* source) { return _mm512_cvtepi32_ps(Load64(source)); }
};

struct U16 : Vector16<Number::kU16, 16> {
  static __m512 Decode(const std::uint8_t* source) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(Load32(source)));
  }
};

struct I16 : Vector16<Number::kI16, 16> {
  static __m512 Decode(const std::uint8_t* source) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(Load32(source)));
  }
};

struct U8 : Vector16<Number::kU8, 8> {
  static __m512 Decode(const std::uint8_t* source) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(Load16(source)));
  }
};

struct I8 : Vector16<Number::kI8, 8> {
  static __m512 Decode(const std::uint8_t* source) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(Load16(source)));
  }
};

struct Bool : Vector16<Number::kBool, 8> {
  static __m512 Decode(const std::uint8_t* source) {
    const __m128i bytes = Load16(source);
    return _mm512_maskz_mov_ps(_mm_test_epi8_mask(bytes, bytes), _mm512_set1_ps(1.0f));
  }
};

Convert Find(Number number) {
  return FindDecoder<F64, F32, BF16, F16, Bytes<Number::kF8E5M2FNUZ, F8E5M2FNUZ>,
                     Bytes<Number::kF8E4M3FNUZ, F8E4M3FNUZ>, E8M0, Bytes<Number::kF8E4M3, F8E4M3>,
                     Bytes<Number::kF8E5M2, F8E5M2>, Sixths<Number::kF6E3M2, F6E3M2>,
                     Sixths<Number::kF6E2M3, F6E2M3>, Nibbles, U64, I64, U32, I32, U16, I16, U8, I8,
                     Bool>(number);
}

}  // namespace

const Kernel kAvx512Kernel = {"avx512", Find};

}  // namespace safetensors_mmap

#if defined(__clang__)
#pragma clang attribute pop
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif

#endif  // SAFETENSORS_MMAP_X64
