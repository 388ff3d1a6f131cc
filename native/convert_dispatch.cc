// Owns: which kernel runs: asked of the processor once, changed only by SetKernel; and the names of the numbers.
// Refuses: conversion itself.
#include <atomic>
#include <cstring>

#include "convert_kernel.h"
#include "floating_point_mode.h"

#if SAFETENSORS_MMAP_X64
#if defined(_MSC_VER)
#include <immintrin.h>
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

namespace safetensors_mmap {
namespace {

#if SAFETENSORS_MMAP_X64

struct Registers {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers Cpuid(std::uint32_t leaf) {
  Registers result;
#if defined(_MSC_VER)
  int registers[4];
  __cpuidex(registers, 0, 0);
  if (static_cast<std::uint32_t>(registers[0]) < leaf) return result;
  __cpuidex(registers, static_cast<int>(leaf), 0);
  result.eax = static_cast<std::uint32_t>(registers[0]);
  result.ebx = static_cast<std::uint32_t>(registers[1]);
  result.ecx = static_cast<std::uint32_t>(registers[2]);
  result.edx = static_cast<std::uint32_t>(registers[3]);
#else
  __get_cpuid_count(leaf, 0, &result.eax, &result.ebx, &result.ecx, &result.edx);
#endif
  return result;
}

// Which register sets the system saves when it switches threads.
std::uint32_t EnabledRegisters() {
#if defined(_MSC_VER)
  return static_cast<std::uint32_t>(_xgetbv(0));
#else
  std::uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
#endif
}

constexpr bool Has(std::uint32_t word, std::uint32_t bits) { return (word & bits) == bits; }
constexpr std::uint32_t Bit(unsigned position) { return std::uint32_t{1} << position; }

struct Processor {
  bool avx2 = false;
  bool avx512 = false;
};

Processor AskProcessor() {
  Processor processor;
  const Registers basic = Cpuid(1);
  // F16C, AVX, OSXSAVE: without the last, XGETBV is not an instruction.
  if (!Has(basic.ecx, Bit(29) | Bit(28) | Bit(27))) return processor;
  const std::uint32_t enabled = EnabledRegisters();
  const Registers extended = Cpuid(7);
  // XMM and YMM state; AVX2.
  processor.avx2 = Has(enabled, Bit(1) | Bit(2)) && Has(extended.ebx, Bit(5));
  // Mask registers and both halves of ZMM; AVX-512 F, DQ, BW, VL.
  processor.avx512 = processor.avx2 && Has(enabled, Bit(5) | Bit(6) | Bit(7)) &&
                     Has(extended.ebx, Bit(16) | Bit(17) | Bit(30) | Bit(31));
  return processor;
}

#endif

// The kernels of this processor, the slowest first, null after the last.
struct Kernels {
  const Kernel* list[4] = {&kScalarKernel, nullptr, nullptr, nullptr};
  std::size_t count = 1;

  Kernels() {
#if SAFETENSORS_MMAP_X64
    const Processor processor = AskProcessor();
    if (processor.avx2) list[count++] = &kAvx2Kernel;
    if (processor.avx512) list[count++] = &kAvx512Kernel;
#endif
#if SAFETENSORS_MMAP_ARM64
    list[count++] = &kNeonKernel;
#endif
  }
  const Kernel* best() const { return list[count - 1]; }
};

const Kernels& AvailableKernels() {
  static const Kernels kernels;
  return kernels;
}

std::atomic<const Kernel*> forced_kernel{nullptr};

const Kernel& CurrentKernel() {
  const Kernel* const forced = forced_kernel.load(std::memory_order_relaxed);
  return forced != nullptr ? *forced : *AvailableKernels().best();
}

struct NumberRow {
  Number number;
  const char* name;
  unsigned bits;
};

constexpr NumberRow kNumbers[kNumberCount] = {
    {Number::kF64, "F64", 64},
    {Number::kF32, "F32", 32},
    {Number::kBF16, "BF16", 16},
    {Number::kF16, "F16", 16},
    {Number::kF8E5M2FNUZ, "F8_E5M2FNUZ", 8},
    {Number::kF8E4M3FNUZ, "F8_E4M3FNUZ", 8},
    {Number::kF8E8M0, "F8_E8M0", 8},
    {Number::kF8E4M3, "F8_E4M3", 8},
    {Number::kF8E5M2, "F8_E5M2", 8},
    {Number::kF6E3M2, "F6_E3M2", 6},
    {Number::kF6E2M3, "F6_E2M3", 6},
    {Number::kF4, "F4", 4},
    {Number::kU64, "U64", 64},
    {Number::kI64, "I64", 64},
    {Number::kU32, "U32", 32},
    {Number::kI32, "I32", 32},
    {Number::kU16, "U16", 16},
    {Number::kI16, "I16", 16},
    {Number::kU8, "U8", 8},
    {Number::kI8, "I8", 8},
    {Number::kBool, "BOOL", 8},
};

// BitsOf reads the row at the number's own position.
constexpr bool IsInOrder() {
  for (std::size_t i = 0; i < kNumberCount; ++i) {
    if (static_cast<std::size_t>(kNumbers[i].number) != i) return false;
  }
  return true;
}
static_assert(IsInOrder(), "kNumbers is not in the order of Number");

}  // namespace

bool NumberFromName(const char* name, Number* number) {
  for (const NumberRow& row : kNumbers) {
    if (std::strcmp(row.name, name) == 0) {
      *number = row.number;
      return true;
    }
  }
  return false;
}

unsigned BitsOf(Number number) { return kNumbers[static_cast<std::size_t>(number)].bits; }

Stores StoresFor(std::size_t target_bytes) {
  constexpr std::size_t larger_than_caches = std::size_t{32} << 20;
  return target_bytes >= larger_than_caches ? Stores::kStreaming : Stores::kCached;
}

void ConvertToFloat32(Number number, const void* source, std::size_t count, float* target,
                      Stores stores) {
  if (count == 0) return;
  const Convert convert = CurrentKernel().find(number);
  const DefaultFloatingPoint mode;
  convert(static_cast<const std::uint8_t*>(source), count, target, stores);
}

const char* KernelName() { return CurrentKernel().name; }

bool SetKernel(const char* name) {
  if (name == nullptr) {
    forced_kernel.store(nullptr, std::memory_order_relaxed);
    return true;
  }
  const Kernels& kernels = AvailableKernels();
  for (std::size_t i = 0; i < kernels.count; ++i) {
    if (std::strcmp(kernels.list[i]->name, name) == 0) {
      forced_kernel.store(kernels.list[i], std::memory_order_relaxed);
      return true;
    }
  }
  return false;
}

const char* AvailableKernel(std::size_t index) {
  const Kernels& kernels = AvailableKernels();
  return index < kernels.count ? kernels.list[index]->name : nullptr;
}

}  // namespace safetensors_mmap
