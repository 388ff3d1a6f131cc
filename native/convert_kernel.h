// Owns: what the kernels share: their table's shape and the layout of the small floats, as compile-time data.
// Refuses: functions that could be compiled with one kernel's instructions and linked into another.
#ifndef SAFETENSORS_MMAP_CONVERT_KERNEL_H_
#define SAFETENSORS_MMAP_CONVERT_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "convert.h"

#if defined(__x86_64__) || defined(_M_X64)
#define SAFETENSORS_MMAP_X64 1
#else
#define SAFETENSORS_MMAP_X64 0
#endif
#if defined(__aarch64__) || defined(_M_ARM64)
#define SAFETENSORS_MMAP_ARM64 1
#else
#define SAFETENSORS_MMAP_ARM64 0
#endif

namespace safetensors_mmap {

using Convert = void (*)(const std::uint8_t* source, std::size_t count, float* target,
                         Stores stores);

struct Kernel {
  const char* name;
  Convert (*find)(Number number);
};

extern const Kernel kScalarKernel;
#if SAFETENSORS_MMAP_X64
extern const Kernel kAvx2Kernel;    // needs AVX2, F16C
extern const Kernel kAvx512Kernel;  // needs AVX-512 F, BW, VL, DQ
#endif
#if SAFETENSORS_MMAP_ARM64
extern const Kernel kNeonKernel;
#endif

// Which patterns of a small float are not finite numbers.
enum class Special {
  kNone,          // every pattern is a number
  kIeee,          // the largest exponent is infinity or NaN
  kAllOnes,       // all bits but the sign set is NaN
  kNegativeZero,  // the pattern of -0 is NaN
};

// A float of 1 sign, E exponent and M mantissa bits in the low bits of a word.
template <unsigned E, unsigned M, int kBias, Special kSpecialPatterns>
struct SmallFloat {
  static constexpr unsigned kWidth = 1 + E + M;
  static constexpr Special kSpecial = kSpecialPatterns;
  static constexpr std::uint32_t kMagnitudeMask = (1u << (E + M)) - 1;
  // The least magnitude that has an implicit leading one.
  static constexpr std::uint32_t kFirstNormal = 1u << M;
  // The magnitude of infinity, for kIeee.
  static constexpr std::uint32_t kInfinity = kMagnitudeMask & ~(kFirstNormal - 1);
  // Moves the sign, and the magnitude of a normal number, to where float32 has them.
  static constexpr unsigned kSignShift = 31 - (E + M);
  static constexpr unsigned kMagnitudeShift = 23 - M;
  static constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kBias) << 23;
  // The float32 bits of the least subnormal, 2^(1 - bias - M).
  static constexpr std::uint32_t kUnit =
      static_cast<std::uint32_t>(127 + 1 - kBias - static_cast<int>(M)) << 23;
};

using F8E5M2 = SmallFloat<5, 2, 15, Special::kIeee>;
using F8E4M3 = SmallFloat<4, 3, 7, Special::kAllOnes>;
using F8E5M2FNUZ = SmallFloat<5, 2, 16, Special::kNegativeZero>;
using F8E4M3FNUZ = SmallFloat<4, 3, 8, Special::kNegativeZero>;
using F6E3M2 = SmallFloat<3, 2, 3, Special::kNone>;
using F6E2M3 = SmallFloat<2, 3, 1, Special::kNone>;
using F4E2M1 = SmallFloat<2, 1, 1, Special::kNone>;

constexpr std::uint32_t kFloat32Infinity = 0x7F800000;
constexpr std::uint32_t kFloat32QuietNaN = 0x7FC00000;
constexpr std::uint32_t kFloat32QuietBit = 0x00400000;

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_CONVERT_KERNEL_H_
