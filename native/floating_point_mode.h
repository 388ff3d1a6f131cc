// Owns: the floating-point mode of a thread while numbers are converted.
// Refuses: any other state. A value of DefaultFloatingPoint belongs to the thread and scope that made it.
#ifndef SAFETENSORS_MMAP_FLOATING_POINT_MODE_H_
#define SAFETENSORS_MMAP_FLOATING_POINT_MODE_H_

#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#elif defined(_M_ARM64) && !defined(__clang__)
#include <intrin.h>
#endif

namespace safetensors_mmap {

// Round to nearest, subnormals kept, nothing trapped, for as long as it lives. Another library on
// this thread may have set flush-to-zero and left it so.
class DefaultFloatingPoint {
 public:
#if defined(__x86_64__) || defined(_M_X64)
  DefaultFloatingPoint() : saved_(_mm_getcsr()) {
    constexpr unsigned initial = 0x1F80;
    if (saved_ != initial) _mm_setcsr(initial);
  }
  // Restores the sticky flags too, which the conversions may have raised.
  ~DefaultFloatingPoint() { _mm_setcsr(saved_); }

 private:
  const unsigned saved_;
#elif defined(__aarch64__) || defined(_M_ARM64)
  DefaultFloatingPoint() : saved_(Read()) {
    if (saved_ != 0) Write(0);
  }
  ~DefaultFloatingPoint() {
    if (saved_ != 0) Write(saved_);
  }

 private:
#if defined(_MSC_VER) && !defined(__clang__)
  static std::uint64_t Read() { return static_cast<std::uint64_t>(_ReadStatusReg(ARM64_FPCR)); }
  static void Write(std::uint64_t mode) {
    _WriteStatusReg(ARM64_FPCR, static_cast<std::int64_t>(mode));
  }
#else
  static std::uint64_t Read() {
    std::uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void Write(std::uint64_t mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
#endif
  const std::uint64_t saved_;
#else
 public:
  DefaultFloatingPoint() {}
#endif

 public:
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;
};

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_FLOATING_POINT_MODE_H_
