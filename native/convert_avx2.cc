// Owns: the kernel for x86-64 processors with AVX2 and F16C, eight or sixteen floats at a time.
// Refuses: asking the processor; convert_dispatch.cc does, before any function of this file runs.
#include "convert_kernel.h"

#if SAFETENSORS_MMAP_X64
#include <cstring>

#include "x86_intrinsics.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,f16c"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC target("avx2,f16c")
#endif

#include "convert_blocks.h"

namespace safetensors_mmap {
namespace {

// The floats of sixteen elements, for decoders that begin with a register of 16-bit words.
struct Pair {
  __m256 low;
  __m256 high;
};

template <Number kNumberOfDecoder, unsigned kBits, std::size_t kLanesOfDecoder = 8>
struct Decoder {
  static constexpr Number kNumber = kNumberOfDecoder;
  static constexpr std::size_t kLanes = kLanesOfDecoder;
  static constexpr std::size_t kBytes = kLanes * kBits / 8;
  static void Store(float* target, __m256 floats) { _mm256_storeu_ps(target, floats); }
  static void Store(float* target, Pair floats) {
    _mm256_storeu_ps(target, floats.low);
    _mm256_storeu_ps(target + 8, floats.high);
  }
  static void Stream(float* target, __m256 floats) { _mm256_stream_ps(target, floats); }
  static void Stream(float* target, Pair floats) {
    _mm256_stream_ps(target, floats.low);
    _mm256_stream_ps(target + 8, floats.high);
  }
  static void Fence() { _mm_sfence(); }
};

__m256i Word(std::uint32_t bits) { return _mm256_set1_epi32(static_cast<int>(bits)); }
__m256i Half(std::uint32_t bits) { return _mm256_set1_epi16(static_cast<short>(bits)); }
__m256 AsFloat(__m256i bits) { return _mm256_castsi256_ps(bits); }
__m256i AsBits(__m256 floats) { return _mm256_castps_si256(floats); }
__m128i Load16(const std::uint8_t* source) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(source));
}
__m128i Load8(const std::uint8_t* source) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(source));
}
__m256i Load32(const std::uint8_t* source) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
}

// Eight small floats in the low bits of words; higher bits may be anything where F has fewer than eight. Subnormals go
// through an integer and an exact product of normal numbers: no operand meets the flush modes or the slow path.
template <class F>
__m256 DecodeSmall(__m256i bits) {
  const __m256i magnitude = _mm256_and_si256(bits, Word(F::kMagnitudeMask));
  const __m256i sign =
      _mm256_and_si256(_mm256_slli_epi32(bits, static_cast<int>(F::kSignShift)), Word(0x80000000u));
  const __m256i normal = _mm256_add_epi32(
      _mm256_slli_epi32(magnitude, static_cast<int>(F::kMagnitudeShift)), Word(F::kRebias));
  const __m256 subnormal = _mm256_mul_ps(_mm256_cvtepi32_ps(magnitude), AsFloat(Word(F::kUnit)));
  const __m256i is_subnormal = _mm256_cmpgt_epi32(Word(F::kFirstNormal), magnitude);
  __m256i result = AsBits(_mm256_blendv_ps(AsFloat(normal), subnormal, AsFloat(is_subnormal)));
  if (F::kSpecial == Special::kAllOnes) {
    const __m256i nan = _mm256_cmpeq_epi32(magnitude, Word(F::kMagnitudeMask));
    result = _mm256_blendv_epi8(result, Word(kFloat32QuietNaN), nan);
  }
  if (F::kSpecial == Special::kNegativeZero) {
    const __m256i nan = _mm256_cmpeq_epi32(bits, Word(F::kMagnitudeMask + 1));
    result = _mm256_or_si256(result, _mm256_and_si256(nan, Word(kFloat32QuietNaN)));
  }
  if (F::kSpecial == Special::kIeee) {
    const __m256i special = _mm256_cmpgt_epi32(magnitude, Word(F::kInfinity - 1));
    const __m256i nan = _mm256_cmpgt_epi32(magnitude, Word(F::kInfinity));
    result = _mm256_blendv_epi8(result, Word(kFloat32Infinity), special);
    result = _mm256_or_si256(result, _mm256_and_si256(nan, Word(kFloat32QuietBit)));
  }
  return AsFloat(_mm256_or_si256(result, sign));
}

template <Number kNumberOfDecoder, class F>
struct Bytes : Decoder<kNumberOfDecoder, 8> {
  static __m256 Decode(const std::uint8_t* source) {
    return DecodeSmall<F>(_mm256_cvtepu8_epi32(Load8(source)));
  }
};

// By way of halves, of which a register holds twice as many words: the pattern moved to a half's
// place, its NaN made the half's, and the exponents' difference made up by an exact product.
struct E4M3 : Decoder<Number::kF8E4M3, 8, 16> {
  static Pair Decode(const std::uint8_t* source) {
    const __m256i wide = _mm256_cvtepi8_epi16(Load16(source));
    __m256i halves = _mm256_and_si256(_mm256_slli_epi16(wide, 7), Half(0xBF80));
    const __m256i is_nan = _mm256_cmpeq_epi16(_mm256_and_si256(halves, Half(0x7FFF)), Half(0x3F80));
    halves = _mm256_xor_si256(halves, _mm256_and_si256(is_nan, Half(0x3F80 ^ 0x7E00)));
    const __m256 scale = _mm256_set1_ps(256.0f);
    return {_mm256_mul_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(halves)), scale),
            _mm256_mul_ps(_mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)), scale)};
  }
};

template <Number kNumberOfDecoder, class F>
struct Sixths : Decoder<kNumberOfDecoder, 6> {
  static __m256 Decode(const std::uint8_t* source) {
    // Six bytes are two groups of 24 bits; each lane takes its group and shifts to its element.
    std::uint32_t low;
    std::uint16_t high;
    std::memcpy(&low, source, sizeof low);
    std::memcpy(&high, source + sizeof low, sizeof high);
    const std::uint32_t upper = (low >> 24) | (static_cast<std::uint32_t>(high) << 8);
    const __m256i groups = _mm256_setr_m128i(_mm_set1_epi32(static_cast<int>(low)),
                                             _mm_set1_epi32(static_cast<int>(upper)));
    const __m256i shifts = _mm256_setr_epi32(0, 6, 12, 18, 0, 6, 12, 18);
    return DecodeSmall<F>(_mm256_srlv_epi32(groups, shifts));
  }
};

struct Nibbles : Decoder<Number::kF4, 4> {
  static __m256 Decode(const std::uint8_t* source) {
    std::uint32_t word;
    std::memcpy(&word, source, sizeof word);
    const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    return DecodeSmall<F4E2M1>(_mm256_srlv_epi32(Word(word), shifts));
  }
};

struct E8M0 : Decoder<Number::kF8E8M0, 8> {
  static __m256 Decode(const std::uint8_t* source) {
    const __m256i x = _mm256_cvtepu8_epi32(Load8(source));
    const __m256i end = _mm256_or_si256(_mm256_cmpeq_epi32(x, _mm256_setzero_si256()),
                                        _mm256_cmpeq_epi32(x, Word(255)));
    return AsFloat(
        _mm256_or_si256(_mm256_slli_epi32(x, 23), _mm256_and_si256(end, Word(kFloat32QuietBit))));
  }
};

struct F16 : Decoder<Number::kF16, 16, 16> {
  // The instruction makes NaNs quiet: theirs are the sign extended over the exponent's place, and what it lacks set.
  static __m256 DecodeNaNs(__m128i halves) {
    const __m256i wide = _mm256_cvtepi16_epi32(halves);
    const __m256i nan_bits = _mm256_or_si256(_mm256_slli_epi32(wide, 13), Word(0x70000000));
    const __m256i is_nan = _mm256_cmpgt_epi32(_mm256_and_si256(wide, Word(0x7FFF)), Word(0x7C00));
    return _mm256_blendv_ps(_mm256_cvtph_ps(halves), AsFloat(nan_bits), AsFloat(is_nan));
  }
  static Pair Decode(const std::uint8_t* source) {
    const __m256i magnitude = _mm256_and_si256(Load32(source), Half(0x7FFF));
    const __m128i low = Load16(source);
    const __m128i high = Load16(source + 16);
    if (_mm256_movemask_epi8(_mm256_cmpgt_epi16(magnitude, Half(0x7C00))) != 0) {
      return {DecodeNaNs(low), DecodeNaNs(high)};
    }
    return {_mm256_cvtph_ps(low), _mm256_cvtph_ps(high)};
  }
};

struct BF16 : Decoder<Number::kBF16, 16> {
  static __m256 Decode(const std::uint8_t* source) {
    return AsFloat(_mm256_slli_epi32(_mm256_cvtepu16_epi32(Load16(source)), 16));
  }
};

struct F32 : Decoder<Number::kF32, 32> {
  static __m256 Decode(const std::uint8_t* source) { return AsFloat(Load32(source)); }
};

struct F64 : Decoder<Number::kF64, 64> {
  static __m256 Decode(const std::uint8_t* source) {
    const __m128 low = _mm256_cvtpd_ps(_mm256_castsi256_pd(Load32(source)));
    const __m128 high = _mm256_cvtpd_ps(_mm256_castsi256_pd(Load32(source + 32)));
    return _mm256_set_m128(high, low);
  }
};

struct U32 : Decoder<Number::kU32, 32> {
  static __m256 Decode(const std::uint8_t* source) {
    // Both halves are exact as floats; their sum is rounded, once.
    const __m256i bits = Load32(source);
    const __m256 high = _mm256_cvtepi32_ps(_mm256_srli_epi32(bits, 16));
    const __m256 low = _mm256_cvtepi32_ps(_mm256_and_si256(bits, Word(0xFFFF)));
    return _mm256_add_ps(_mm256_mul_ps(high, _mm256_set1_ps(65536.0f)), low);
  }
};

struct I32 : Decoder<Number::kI32, 32> {
  static __m256 Decode(const std::uint8_t* source) { return _mm256_cvtepi32_ps(Load32(source)); }
};

struct U16 : Decoder<Number::kU16, 16> {
  static __m256 Decode(const std::uint8_t* source) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(Load16(source)));
  }
};

struct I16 : Decoder<Number::kI16, 16> {
  static __m256 Decode(const std::uint8_t* source) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(Load16(source)));
  }
};

struct U8 : Decoder<Number::kU8, 8> {
  static __m256 Decode(const std::uint8_t* source) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(Load8(source)));
  }
};

struct I8 : Decoder<Number::kI8, 8> {
  static __m256 Decode(const std::uint8_t* source) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(Load8(source)));
  }
};

struct Bool : Decoder<Number::kBool, 8> {
  static __m256 Decode(const std::uint8_t* source) {
    const __m256i bytes = _mm256_cvtepu8_epi32(Load8(source));
    const __m256i set = _mm256_cmpgt_epi32(bytes, _mm256_setzero_si256());
    return _mm256_and_ps(AsFloat(set), _mm256_set1_ps(1.0f));
  }
};

Convert Find(Number number) {
  // AVX2 has no conversion of 64-bit integers; the scalar one is a single instruction.
  return FindDecoder<F64, F32, BF16, F16, Bytes<Number::kF8E5M2FNUZ, F8E5M2FNUZ>,
                     Bytes<Number::kF8E4M3FNUZ, F8E4M3FNUZ>, E8M0, E4M3,
                     Bytes<Number::kF8E5M2, F8E5M2>, Sixths<Number::kF6E3M2, F6E3M2>,
                     Sixths<Number::kF6E2M3, F6E2M3>, Nibbles, U32, I32, U16, I16, U8, I8, Bool>(
      number);
}

}  // namespace

const Kernel kAvx2Kernel = {"avx2", Find};

}  // namespace safetensors_mmap

#if defined(__clang__)
#pragma clang attribute pop
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif

#endif  // SAFETENSORS_MMAP_X64
