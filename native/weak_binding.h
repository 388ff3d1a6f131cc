// Owns weak references to buffers. Refuses to keep a buffer alive, also to the end of the current job, as WeakRef does.
#ifndef SAFETENSORS_MMAP_WEAK_BINDING_H_
#define SAFETENSORS_MMAP_WEAK_BINDING_H_

#include <napi.h>

namespace safetensors_mmap {

// weaken(buffer: ArrayBuffer): WeakHandle
Napi::Value WeakenBuffer(const Napi::CallbackInfo& info);
// strengthen(handle): ArrayBuffer, undefined once it was collected
Napi::Value StrengthenBuffer(const Napi::CallbackInfo& info);

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_WEAK_BINDING_H_
