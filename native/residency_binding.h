// Owns the JavaScript face of residency. Refuses any meaning of the ranges.
#ifndef SAFETENSORS_MMAP_RESIDENCY_BINDING_H_
#define SAFETENSORS_MMAP_RESIDENCY_BINDING_H_

#include <napi.h>

namespace safetensors_mmap {

// residentBytes(handle, ranges: [begin, end, begin, end …]): number, -1 where the system does not say
Napi::Value GetResidentBytes(const Napi::CallbackInfo& info);
// cachedBytes(descriptor, ranges): number, -1 where the system does not say
Napi::Value GetCachedBytes(const Napi::CallbackInfo& info);
// evict(handle, ranges): void
Napi::Value EvictMapped(const Napi::CallbackInfo& info);
// isUnwritten(handle, at, count): boolean
Napi::Value GetIsUnwritten(const Napi::CallbackInfo& info);
// dropCached(descriptor, ranges): void
Napi::Value DropCachedPages(const Napi::CallbackInfo& info);

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_RESIDENCY_BINDING_H_
