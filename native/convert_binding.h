// Owns: the JavaScript face of convert, at once or on a thread of the pool. Refuses: to write into JavaScript's memory
// from another thread; a buffer could be transferred or freed meanwhile.
#ifndef SAFETENSORS_MMAP_CONVERT_BINDING_H_
#define SAFETENSORS_MMAP_CONVERT_BINDING_H_

#include <napi.h>

namespace safetensors_mmap {

// convert(dtype: string, source: Uint8Array, target: Float32Array): boolean, false when the two overlap
Napi::Value Convert(const Napi::CallbackInfo& info);
// convertMapped(handle, offset, runBytes, counts, strides, dtype, target: Float32Array): boolean,
// false when the target overlaps what is read
Napi::Value ConvertMapped(const Napi::CallbackInfo& info);
// overlaps(handle, begin, end, floats: Float32Array): boolean, whether they lie over bytes [begin, end) of the mapping
Napi::Value Overlaps(const Napi::CallbackInfo& info);
// convertInto(handle, offset, runBytes, counts, strides, dtype, first, floats, at, count): Promise<void>;
// elements [first, first + count) of the region, on a thread of the pool
Napi::Value ConvertInto(const Napi::CallbackInfo& info);
// kernel(): string; setKernel(name: string | null): boolean; kernels(): string[]
Napi::Value GetKernel(const Napi::CallbackInfo& info);
Napi::Value ForceKernel(const Napi::CallbackInfo& info);
Napi::Value ListKernels(const Napi::CallbackInfo& info);

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_CONVERT_BINDING_H_
