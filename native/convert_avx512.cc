// Owns: the kernel for x86-64 processors with AVX-512 F, BW, VL and DQ, sixteen or thirty-two floats at a time.
// Refuses: asking the processor; convert_dispatch.cc does, before any function of this file runs.
#include "convert_kernel.h"

#if SAFETENSORS_MMAP_X64
#include "x86_intrinsics.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512bw,avx512vl,avx512dq"))), \
                             apply_to = function)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC target("avx512bw,avx512vl,avx512dq")
#endif

#include "convert_blocks.h"

namespace safetensors_mmap {
namespace {

// The floats of thirty-two elements, for decoders that begin with a register of 16-bit words.
struct Pair {
  __m512 low;
  __m512 high;
};

template <Number kNumberOfDecoder, unsigned kBits, std::size_t kLanesOfDecoder = 16>
struct Decoder {
  static constexpr Number kNumber = kNumberOfDecoder;
  static constexpr std::size_t kLanes = kLanesOfDecoder;
  static constexpr std::size_t kBytes = kLanes * kBits / 8;
  static void Store(float* target, __m512 floats) { _mm512_storeu_ps(target, floats); }
  static void Store(float* target, Pair floats) {
    _mm512_storeu_ps(target, floats.low);
    _mm512_storeu_ps(target + 16, floats.high);
  }
  static void Stream(float* target, __m512 floats) { _mm512_stream_ps(target, floats); }
  static void Stream(float* target, Pair floats) {
    _mm512_stream_ps(target, floats.low);
    _mm512_stream_ps(target + 16, floats.high);
  }
  static void Fence() { _mm_sfence(); }
};

__m512i Word(std::uint32_t bits) { return _mm512_set1_epi32(static_cast<int>(bits)); }
__m512i Half(std::uint32_t bits) { return _mm512_set1_epi16(static_cast<short>(bits)); }
__m512 AsFloat(__m512i bits) { return _mm512_castsi512_ps(bits); }
__m512i AsBits(__m512 floats) { return _mm512_castps_si512(floats); }
__m128i Load16(const std::uint8_t* source) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(source));
}
__m256i Load32(const std::uint8_t* source) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
}
__m512i Load64(const std::uint8_t* source) { return _mm512_loadu_si512(source); }
__m512 Floats(__m512i words) { return _mm512_cvtepi32_ps(words); }
__m512 Join(__m256 low, __m256 high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

// Sixteen small floats in the low bits of words; higher bits may be anything where F has fewer than eight. Subnormals go
// through an integer and an exact product of normal numbers: no operand meets the flush modes or the slow path.
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
struct Bytes : Decoder<kNumberOfDecoder, 8> {
  static __m512 Decode(const std::uint8_t* source) {
    return DecodeSmall<F>(_mm512_cvtepu8_epi32(Load16(source)));
  }
};

// By way of halves, of which a register holds twice as many words: the pattern moved to a half's
// place, its NaN made the half's, and the exponents' difference made up by an exact product.
struct E4M3 : Decoder<Number::kF8E4M3, 8, 32> {
  static Pair Decode(const std::uint8_t* source) {
    const __m512i wide = _mm512_cvtepi8_epi16(Load32(source));
    const __m512i moved = _mm512_and_si512(_mm512_slli_epi16(wide, 7), Half(0xBF80));
    const __mmask32 is_nan =
        _mm512_cmpeq_epi16_mask(_mm512_and_si512(moved, Half(0x7FFF)), Half(0x3F80));
    const __m512i nans = _mm512_xor_si512(moved, Half(0x3F80 ^ 0x7E00));
    const __m512i halves = _mm512_mask_mov_epi16(moved, is_nan, nans);
    const __m512 scale = _mm512_set1_ps(256.0f);
    return {_mm512_mul_ps(_mm512_cvtph_ps(_mm512_castsi512_si256(halves)), scale),
            _mm512_mul_ps(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1)), scale)};
  }
};

template <Number kNumberOfDecoder, class F>
struct Sixths : Decoder<kNumberOfDecoder, 6> {
  static __m512 Decode(const std::uint8_t* source) {
    // Twelve bytes are four groups of 24 bits: a lane takes one into all its words and shifts each to its element.
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

struct Nibbles : Decoder<Number::kF4, 4> {
  static __m512 Decode(const std::uint8_t* source) {
    // All sixteen values fit one register, and the lookup ignores the bits above the index.
    const __m512 values = _mm512_setr_ps(0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f,  //
                                         -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f);
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(source));
    const __m128i pairs = _mm_unpacklo_epi8(bytes, _mm_srli_epi16(bytes, 4));
    return _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(pairs), values);
  }
};

struct E8M0 : Decoder<Number::kF8E8M0, 8> {
  static __m512 Decode(const std::uint8_t* source) {
    const __m512i x = _mm512_cvtepu8_epi32(Load16(source));
    // 0 and 255: those whose successor has no bit of 0xFE.
    const __mmask16 end = _mm512_testn_epi32_mask(_mm512_add_epi32(x, Word(1)), Word(0xFE));
    const __m512i shifted = _mm512_slli_epi32(x, 23);
    return AsFloat(_mm512_mask_or_epi32(shifted, end, shifted, Word(kFloat32QuietBit)));
  }
};

struct F16 : Decoder<Number::kF16, 16, 32> {
  // The instruction makes NaNs quiet: theirs are the sign extended over the exponent's place, and what it lacks set.
  static __m512 DecodeNaNs(__m256i halves) {
    const __m512i wide = _mm512_cvtepi16_epi32(halves);
    const __mmask16 is_nan =
        _mm512_cmpgt_epu32_mask(_mm512_and_si512(wide, Word(0x7FFF)), Word(0x7C00));
    return AsFloat(_mm512_mask_or_epi32(AsBits(_mm512_cvtph_ps(halves)), is_nan,
                                        _mm512_slli_epi32(wide, 13), Word(0x70000000)));
  }
  static Pair Decode(const std::uint8_t* source) {
    const __m512i magnitude = _mm512_and_si512(Load64(source), Half(0x7FFF));
    const __m256i low = Load32(source);
    const __m256i high = Load32(source + 32);
    const bool has_nan = _mm512_cmpgt_epu16_mask(magnitude, Half(0x7C00)) != 0;
    if (has_nan) return {DecodeNaNs(low), DecodeNaNs(high)};
    return {_mm512_cvtph_ps(low), _mm512_cvtph_ps(high)};
  }
};

struct BF16 : Decoder<Number::kBF16, 16> {
  static __m512 Decode(const std::uint8_t* source) {
    return AsFloat(_mm512_slli_epi32(_mm512_cvtepu16_epi32(Load32(source)), 16));
  }
};

struct F32 : Decoder<Number::kF32, 32> {
  static __m512 Decode(const std::uint8_t* source) { return AsFloat(Load64(source)); }
};

struct F64 : Decoder<Number::kF64, 64> {
  static __m512 Decode(const std::uint8_t* source) {
    return Join(_mm512_cvtpd_ps(_mm512_castsi512_pd(Load64(source))),
                _mm512_cvtpd_ps(_mm512_castsi512_pd(Load64(source + 64))));
  }
};

struct U64 : Decoder<Number::kU64, 64> {
  static __m512 Decode(const std::uint8_t* source) {
    return Join(_mm512_cvtepu64_ps(Load64(source)), _mm512_cvtepu64_ps(Load64(source + 64)));
  }
};

struct I64 : Decoder<Number::kI64, 64> {
  static __m512 Decode(const std::uint8_t* source) {
    return Join(_mm512_cvtepi64_ps(Load64(source)), _mm512_cvtepi64_ps(Load64(source + 64)));
  }
};

struct U32 : Decoder<Number::kU32, 32> {
  static __m512 Decode(const std::uint8_t* source) { return _mm512_cvtepu32_ps(Load64(source)); }
};

struct I32 : Decoder<Number::kI32, 32> {
  static __m512 Decode(const std::uint8_t* source) { return _mm512_cvtepi32_ps(Load64(source)); }
};

struct U16 : Decoder<Number::kU16, 16> {
  static __m512 Decode(const std::uint8_t* p) { return Floats(_mm512_cvtepu16_epi32(Load32(p))); }
};

struct I16 : Decoder<Number::kI16, 16> {
  static __m512 Decode(const std::uint8_t* p) { return Floats(_mm512_cvtepi16_epi32(Load32(p))); }
};

struct U8 : Decoder<Number::kU8, 8> {
  static __m512 Decode(const std::uint8_t* p) { return Floats(_mm512_cvtepu8_epi32(Load16(p))); }
};

struct I8 : Decoder<Number::kI8, 8> {
  static __m512 Decode(const std::uint8_t* p) { return Floats(_mm512_cvtepi8_epi32(Load16(p))); }
};

struct Bool : Decoder<Number::kBool, 8> {
  static __m512 Decode(const std::uint8_t* source) {
    const __m128i bytes = Load16(source);
    return _mm512_maskz_mov_ps(_mm_test_epi8_mask(bytes, bytes), _mm512_set1_ps(1.0f));
  }
};

Convert Find(Number number) {
  return FindDecoder<F64, F32, BF16, F16, Bytes<Number::kF8E5M2FNUZ, F8E5M2FNUZ>,
                     Bytes<Number::kF8E4M3FNUZ, F8E4M3FNUZ>, E8M0, E4M3,
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
