// Owns: every number dtype to float32, the same bits in every kernel. Thread-safe; no allocation, no exceptions, no Node.
// Refuses: complex numbers, scales of block formats, overlapping source and target, and checking the caller's lengths.
//
// What the bits are: values are exact where float32 can hold them, else rounded once to nearest, ties to even.
// F16 and BF16 keep their NaN payloads and signalling bits. F64 keeps the payload's upper 22 bits, made quiet.
// An 8-bit NaN, of any payload, becomes the quiet NaN 0x7FC00000 with the sign it had. BOOL is 1 for any byte but 0.
// F4 and F6 are packed little-endian: element i occupies the bits [i·w, (i+1)·w) of the source, counted from the low end.
#ifndef SAFETENSORS_MMAP_CONVERT_H_
#define SAFETENSORS_MMAP_CONVERT_H_

#include <cstddef>
#include <cstdint>

namespace safetensors_mmap {

enum class Number : std::uint8_t {
  kF64,
  kF32,
  kBF16,
  kF16,
  kF8E5M2FNUZ,
  kF8E4M3FNUZ,
  kF8E8M0,
  kF8E4M3,
  kF8E5M2,
  kF6E3M2,
  kF6E2M3,
  kF4,
  kU64,
  kI64,
  kU32,
  kI32,
  kU16,
  kI16,
  kU8,
  kI8,
  kBool,
};

constexpr std::size_t kNumberCount = 21;

// Finds a number by the dtype's name as it stands in a file; false when it is none that converts.
bool NumberFromName(const char* name, Number* number);

// Bits of one element: 64, 32, 16, 8, 6 or 4.
unsigned BitsOf(Number number);

enum class Stores {
  // Through the caches: for results that are read soon or are small.
  kCached,
  // Around the caches, where the kernel can: for results larger than the caches.
  kStreaming,
};

// Which stores pay for a result of `target_bytes`; ask once for the whole result, not for each of its pieces.
Stores StoresFor(std::size_t target_bytes);

// Writes `count` floats. Reads exactly ⌈count · bits / 8⌉ bytes from `source`, which may have any address;
// a piece of a packed tensor starts on a byte, which is a multiple of 2 elements of F4 and of 4 elements of F6.
// The calling thread's rounding and flush-to-zero modes do not matter and are left as they were.
void ConvertToFloat32(Number number, const void* source, std::size_t count, float* target,
                      Stores stores = Stores::kCached);

// The kernel in use: "scalar", "avx2", "avx512" or "neon". The best of the processor unless one was forced.
const char* KernelName();

// Forces a kernel, for tests and measurements; a null name goes back to the best. False, and no
// change, when this processor has none of that name. Calls under way keep the kernel they began with.
bool SetKernel(const char* name);

// The kernels this processor can run, the slowest first; null past the last.
const char* AvailableKernel(std::size_t index);

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_CONVERT_H_
