// Owns: the kernel for 64-bit Arm, eight floats at a time in two registers. Every such processor has the instructions.
// Refuses: streaming stores; the architecture has none that pay.
#include "convert_kernel.h"

#if SAFETENSORS_MMAP_ARM64

#include <arm_neon.h>

#include <cstring>

#include "convert_blocks.h"

namespace safetensors_mmap {
namespace {

struct Words {
  uint32x4_t low;
  uint32x4_t high;
};

template <Number kNumberOfDecoder, unsigned kBits>
struct Vector8 {
  static constexpr Number kNumber = kNumberOfDecoder;
  static constexpr std::size_t kLanes = 8;
  static constexpr std::size_t kBytes = kLanes * kBits / 8;
  static void Store(float* target, Words vector) {
    vst1q_u8(reinterpret_cast<std::uint8_t*>(target), vreinterpretq_u8_u32(vector.low));
    vst1q_u8(reinterpret_cast<std::uint8_t*>(target + 4), vreinterpretq_u8_u32(vector.high));
  }
  static void Stream(float* target, Words vector) { Store(target, vector); }
  static void Fence() {}
};

// Loads go by bytes: a load of wider elements may assume their alignment.
uint16x8_t LoadHalves(const std::uint8_t* source) { return vreinterpretq_u16_u8(vld1q_u8(source)); }
uint32x4_t LoadWords(const std::uint8_t* source) { return vreinterpretq_u32_u8(vld1q_u8(source)); }

Words Widen(uint16x8_t halves) {
  return {vmovl_u16(vget_low_u16(halves)), vmovl_u16(vget_high_u16(halves))};
}
Words WidenBytes(const std::uint8_t* source) { return Widen(vmovl_u8(vld1_u8(source))); }

uint32x4_t AsBits(float32x4_t floats) { return vreinterpretq_u32_f32(floats); }
Words FromUnsigned(Words words) {
  return {AsBits(vcvtq_f32_u32(words.low)), AsBits(vcvtq_f32_u32(words.high))};
}
Words FromSigned(int32x4_t low, int32x4_t high) {
  return {AsBits(vcvtq_f32_s32(low)), AsBits(vcvtq_f32_s32(high))};
}

// Four small floats, each in the low bits of its word; higher bits may hold anything where F has
// fewer than eight. Subnormals go through an integer conversion and an exact product of normal
// numbers, so that no operand is ever subnormal.
template <class F>
uint32x4_t DecodeSmall(uint32x4_t bits) {
  const uint32x4_t magnitude = vandq_u32(bits, vdupq_n_u32(F::kMagnitudeMask));
  const uint32x4_t normal = vaddq_u32(vshlq_n_u32(magnitude, static_cast<int>(F::kMagnitudeShift)),
                                      vdupq_n_u32(F::kRebias));
  const uint32x4_t subnormal =
      AsBits(vmulq_f32(vcvtq_f32_u32(magnitude), vreinterpretq_f32_u32(vdupq_n_u32(F::kUnit))));
  uint32x4_t result =
      vbslq_u32(vcltq_u32(magnitude, vdupq_n_u32(F::kFirstNormal)), subnormal, normal);
  if (F::kSpecial == Special::kAllOnes) {
    const uint32x4_t nan = vceqq_u32(magnitude, vdupq_n_u32(F::kMagnitudeMask));
    result = vbslq_u32(nan, vdupq_n_u32(kFloat32QuietNaN), result);
  }
  if (F::kSpecial == Special::kNegativeZero) {
    const uint32x4_t nan = vceqq_u32(bits, vdupq_n_u32(F::kMagnitudeMask + 1));
    result = vbslq_u32(nan, vdupq_n_u32(kFloat32QuietNaN), result);
  }
  if (F::kSpecial == Special::kIeee) {
    const uint32x4_t special = vcgeq_u32(magnitude, vdupq_n_u32(F::kInfinity));
    const uint32x4_t nan = vcgtq_u32(magnitude, vdupq_n_u32(F::kInfinity));
    result = vbslq_u32(special, vdupq_n_u32(kFloat32Infinity), result);
    result = vbslq_u32(nan, vdupq_n_u32(kFloat32QuietNaN), result);
  }
  const uint32x4_t sign = vshlq_n_u32(bits, static_cast<int>(F::kSignShift));
  return vbslq_u32(vdupq_n_u32(0x80000000u), sign, result);
}

template <Number kNumberOfDecoder, class F>
struct Bytes : Vector8<kNumberOfDecoder, 8> {
  static Words Decode(const std::uint8_t* source) {
    const Words words = WidenBytes(source);
    return {DecodeSmall<F>(words.low), DecodeSmall<F>(words.high)};
  }
};

// Four elements of `bits` bits from the low end of a word.
template <class F>
uint32x4_t DecodePacked(std::uint32_t word) {
  constexpr std::int32_t width = static_cast<std::int32_t>(F::kWidth);
  constexpr std::int32_t shifts[4] = {0, -width, -2 * width, -3 * width};
  return DecodeSmall<F>(vshlq_u32(vdupq_n_u32(word), vld1q_s32(shifts)));
}

template <Number kNumberOfDecoder, class F>
struct Sixths : Vector8<kNumberOfDecoder, 6> {
  static Words Decode(const std::uint8_t* source) {
    std::uint32_t low;
    std::uint16_t high;
    std::memcpy(&low, source, sizeof low);
    std::memcpy(&high, source + sizeof low, sizeof high);
    const std::uint32_t upper = (low >> 24) | (static_cast<std::uint32_t>(high) << 8);
    return {DecodePacked<F>(low), DecodePacked<F>(upper)};
  }
};

struct Nibbles : Vector8<Number::kF4, 4> {
  static Words Decode(const std::uint8_t* source) {
    std::uint32_t word;
    std::memcpy(&word, source, sizeof word);
    return {DecodePacked<F4E2M1>(word), DecodePacked<F4E2M1>(word >> 16)};
  }
};

struct E8M0 : Vector8<Number::kF8E8M0, 8> {
  static uint32x4_t Decode4(uint32x4_t x) {
    const uint32x4_t end = vorrq_u32(vceqq_u32(x, vdupq_n_u32(0)), vceqq_u32(x, vdupq_n_u32(255)));
    return vorrq_u32(vshlq_n_u32(x, 23), vandq_u32(end, vdupq_n_u32(kFloat32QuietBit)));
  }
  static Words Decode(const std::uint8_t* source) {
    const Words words = WidenBytes(source);
    return {Decode4(words.low), Decode4(words.high)};
  }
};

struct F16 : Vector8<Number::kF16, 16> {
  static uint32x4_t Decode4(uint16x4_t halves) {
    // The instruction makes NaNs quiet, so theirs are put together from the bits: the sign is
    // extended over the exponent's place and the missing exponent bits are set.
    const uint32x4_t wide = vreinterpretq_u32_s32(vmovl_s16(vreinterpret_s16_u16(halves)));
    const uint32x4_t nan_bits = vorrq_u32(vshlq_n_u32(wide, 13), vdupq_n_u32(0x70000000u));
    const uint32x4_t is_nan = vcgtq_u32(vandq_u32(wide, vdupq_n_u32(0x7FFF)), vdupq_n_u32(0x7C00));
    return vbslq_u32(is_nan, nan_bits, AsBits(vcvt_f32_f16(vreinterpret_f16_u16(halves))));
  }
  static Words Decode(const std::uint8_t* source) {
    const uint16x8_t halves = LoadHalves(source);
    return {Decode4(vget_low_u16(halves)), Decode4(vget_high_u16(halves))};
  }
};

struct BF16 : Vector8<Number::kBF16, 16> {
  static Words Decode(const std::uint8_t* source) {
    const uint16x8_t halves = LoadHalves(source);
    return {vshll_n_u16(vget_low_u16(halves), 16), vshll_n_u16(vget_high_u16(halves), 16)};
  }
};

struct F32 : Vector8<Number::kF32, 32> {
  static Words Decode(const std::uint8_t* source) {
    return {LoadWords(source), LoadWords(source + 16)};
  }
};

struct F64 : Vector8<Number::kF64, 64> {
  static uint32x4_t Decode4(const std::uint8_t* source) {
    const float64x2_t low = vreinterpretq_f64_u8(vld1q_u8(source));
    const float64x2_t high = vreinterpretq_f64_u8(vld1q_u8(source + 16));
    return AsBits(vcvt_high_f32_f64(vcvt_f32_f64(low), high));
  }
  static Words Decode(const std::uint8_t* source) {
    return {Decode4(source), Decode4(source + 32)};
  }
};

struct U32 : Vector8<Number::kU32, 32> {
  static Words Decode(const std::uint8_t* source) {
    return FromUnsigned({LoadWords(source), LoadWords(source + 16)});
  }
};

struct I32 : Vector8<Number::kI32, 32> {
  static Words Decode(const std::uint8_t* source) {
    return FromSigned(vreinterpretq_s32_u32(LoadWords(source)),
                      vreinterpretq_s32_u32(LoadWords(source + 16)));
  }
};

struct U16 : Vector8<Number::kU16, 16> {
  static Words Decode(const std::uint8_t* source) {
    return FromUnsigned(Widen(LoadHalves(source)));
  }
};

struct I16 : Vector8<Number::kI16, 16> {
  static Words Decode(const std::uint8_t* source) {
    const int16x8_t halves = vreinterpretq_s16_u16(LoadHalves(source));
    return FromSigned(vmovl_s16(vget_low_s16(halves)), vmovl_s16(vget_high_s16(halves)));
  }
};

struct U8 : Vector8<Number::kU8, 8> {
  static Words Decode(const std::uint8_t* source) { return FromUnsigned(WidenBytes(source)); }
};

struct I8 : Vector8<Number::kI8, 8> {
  static Words Decode(const std::uint8_t* source) {
    const int16x8_t halves = vmovl_s8(vreinterpret_s8_u8(vld1_u8(source)));
    return FromSigned(vmovl_s16(vget_low_s16(halves)), vmovl_s16(vget_high_s16(halves)));
  }
};

struct Bool : Vector8<Number::kBool, 8> {
  static uint32x4_t Decode4(uint32x4_t bytes) {
    return vandq_u32(vtstq_u32(bytes, bytes), AsBits(vdupq_n_f32(1.0f)));
  }
  static Words Decode(const std::uint8_t* source) {
    const Words words = WidenBytes(source);
    return {Decode4(words.low), Decode4(words.high)};
  }
};

Convert Find(Number number) {
  // A vector of 64-bit integers converts only to doubles, which would round twice: the scalar kernel has those.
  return FindDecoder<F64, F32, BF16, F16, Bytes<Number::kF8E5M2FNUZ, F8E5M2FNUZ>,
                     Bytes<Number::kF8E4M3FNUZ, F8E4M3FNUZ>, E8M0, Bytes<Number::kF8E4M3, F8E4M3>,
                     Bytes<Number::kF8E5M2, F8E5M2>, Sixths<Number::kF6E3M2, F6E3M2>,
                     Sixths<Number::kF6E2M3, F6E2M3>, Nibbles, U32, I32, U16, I16, U8, I8, Bool>(
      number);
}

}  // namespace

const Kernel kNeonKernel = {"neon", Find};

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_ARM64
