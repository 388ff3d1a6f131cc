// Owns: the reference kernel: one element at a time, plain C++, the definition that the fast kernels are held against.
// Refuses: cleverness; a table is as far as it goes.
#include <array>
#include <cstring>

#include "convert_kernel.h"

namespace safetensors_mmap {
namespace {

float FromBits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
T Load(const std::uint8_t* source, std::size_t index) {
  T value;
  std::memcpy(&value, source + index * sizeof(T), sizeof value);
  return value;
}

// A subnormal is 0.m × 2^(1 - bias): shift the mantissa up to its leading one, an exponent down for each step.
constexpr std::uint32_t Normalise(std::uint32_t magnitude, std::uint32_t first_normal,
                                  unsigned shift, std::uint32_t rebias) {
  if (magnitude == 0) return 0;
  std::uint32_t exponent = rebias + (1u << 23);
  while (magnitude < first_normal) {
    magnitude <<= 1;
    exponent -= 1u << 23;
  }
  return exponent + ((magnitude - first_normal) << shift);
}

template <class F>
constexpr std::uint32_t Decode(std::uint32_t bits) {
  const std::uint32_t sign = (bits << F::kSignShift) & 0x80000000u;
  const std::uint32_t magnitude = bits & F::kMagnitudeMask;
  if (F::kSpecial == Special::kAllOnes && magnitude == F::kMagnitudeMask) {
    return sign | kFloat32QuietNaN;
  }
  if (F::kSpecial == Special::kNegativeZero && magnitude == 0 && sign != 0) {
    return sign | kFloat32QuietNaN;
  }
  if (F::kSpecial == Special::kIeee && magnitude >= F::kInfinity) {
    return sign | (magnitude == F::kInfinity ? kFloat32Infinity : kFloat32QuietNaN);
  }
  if (magnitude < F::kFirstNormal) {
    return sign | Normalise(magnitude, F::kFirstNormal, F::kMagnitudeShift, F::kRebias);
  }
  return sign | ((magnitude << F::kMagnitudeShift) + F::kRebias);
}

template <class F>
constexpr std::array<std::uint32_t, std::size_t{1} << F::kWidth> MakeTable() {
  std::array<std::uint32_t, std::size_t{1} << F::kWidth> table{};
  for (std::uint32_t bits = 0; bits < table.size(); ++bits) table[bits] = Decode<F>(bits);
  return table;
}

template <class F>
constexpr auto kTable = MakeTable<F>();

template <class F>
void ConvertBytes(const std::uint8_t* source, std::size_t count, float* target, Stores) {
  for (std::size_t i = 0; i < count; ++i) target[i] = FromBits(kTable<F>[source[i]]);
}

void ConvertF4(const std::uint8_t* source, std::size_t count, float* target, Stores) {
  for (std::size_t i = 0; i < count; ++i) {
    target[i] = FromBits(kTable<F4E2M1>[(source[i / 2] >> (i % 2 * 4)) & 15]);
  }
}

template <class F>
void ConvertF6(const std::uint8_t* source, std::size_t count, float* target, Stores) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t byte = i * 6 / 8;
    const std::size_t shift = i * 6 % 8;
    unsigned bits = source[byte];
    if (shift > 2) bits |= static_cast<unsigned>(source[byte + 1]) << 8;
    target[i] = FromBits(kTable<F>[(bits >> shift) & 63]);
  }
}

// 2^(x - 127) is x in the exponent field, but for the ends: 2^-127 is a subnormal and 255 is NaN.
void ConvertE8M0(const std::uint8_t* source, std::size_t count, float* target, Stores) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t x = source[i];
    target[i] = FromBits((x << 23) | (x == 0 || x == 255 ? kFloat32QuietBit : 0));
  }
}

void ConvertF16(const std::uint8_t* source, std::size_t count, float* target, Stores) {
  constexpr std::uint32_t rebias = (127 - 15) << 23;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = Load<std::uint16_t>(source, i);
    const std::uint32_t sign = (bits & 0x8000) << 16;
    const std::uint32_t magnitude = bits & 0x7FFF;
    std::uint32_t result;
    if (magnitude >= 0x7C00) {
      result = kFloat32Infinity | ((magnitude & 0x03FF) << 13);
    } else if (magnitude < 0x0400) {
      result = Normalise(magnitude, 0x0400, 13, rebias);
    } else {
      result = (magnitude << 13) + rebias;
    }
    target[i] = FromBits(sign | result);
  }
}

void ConvertBF16(const std::uint8_t* source, std::size_t count, float* target, Stores) {
  for (std::size_t i = 0; i < count; ++i) {
    target[i] = FromBits(static_cast<std::uint32_t>(Load<std::uint16_t>(source, i)) << 16);
  }
}

void ConvertF32(const std::uint8_t* source, std::size_t count, float* target, Stores) {
  std::memcpy(target, source, count * sizeof(float));
}

void ConvertBool(const std::uint8_t* source, std::size_t count, float* target, Stores) {
  for (std::size_t i = 0; i < count; ++i) target[i] = source[i] != 0 ? 1.0f : 0.0f;
}

// F64 and the integers: the language's own conversion rounds once, in the mode that ConvertToFloat32 has set.
template <class T>
void ConvertCast(const std::uint8_t* source, std::size_t count, float* target, Stores) {
  for (std::size_t i = 0; i < count; ++i) target[i] = static_cast<float>(Load<T>(source, i));
}

Convert Find(Number number) {
  switch (number) {
    case Number::kF64:
      return ConvertCast<double>;
    case Number::kF32:
      return ConvertF32;
    case Number::kBF16:
      return ConvertBF16;
    case Number::kF16:
      return ConvertF16;
    case Number::kF8E5M2FNUZ:
      return ConvertBytes<F8E5M2FNUZ>;
    case Number::kF8E4M3FNUZ:
      return ConvertBytes<F8E4M3FNUZ>;
    case Number::kF8E8M0:
      return ConvertE8M0;
    case Number::kF8E4M3:
      return ConvertBytes<F8E4M3>;
    case Number::kF8E5M2:
      return ConvertBytes<F8E5M2>;
    case Number::kF6E3M2:
      return ConvertF6<F6E3M2>;
    case Number::kF6E2M3:
      return ConvertF6<F6E2M3>;
    case Number::kF4:
      return ConvertF4;
    case Number::kU64:
      return ConvertCast<std::uint64_t>;
    case Number::kI64:
      return ConvertCast<std::int64_t>;
    case Number::kU32:
      return ConvertCast<std::uint32_t>;
    case Number::kI32:
      return ConvertCast<std::int32_t>;
    case Number::kU16:
      return ConvertCast<std::uint16_t>;
    case Number::kI16:
      return ConvertCast<std::int16_t>;
    case Number::kU8:
      return ConvertCast<std::uint8_t>;
    case Number::kI8:
      return ConvertCast<std::int8_t>;
    case Number::kBool:
      return ConvertBool;
  }
  return nullptr;
}

}  // namespace

const Kernel kScalarKernel = {"scalar", Find};

}  // namespace safetensors_mmap
