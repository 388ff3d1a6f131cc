// Owns: the JavaScript face of Mapping. Refuses: any meaning of the bytes.
#ifndef SAFETENSORS_MMAP_MAPPING_BINDING_H_
#define SAFETENSORS_MMAP_MAPPING_BINDING_H_

#include <napi.h>

#include <memory>

#include "mapping.h"

namespace safetensors_mmap {

// map(descriptor: number, size: number, readOnly: boolean): MappingHandle | errno (number > 0)
Napi::Value MapFile(const Napi::CallbackInfo& info);
// segment(handle, offset: number, length: number): ArrayBuffer that shares the mapping,
// or the Node-API status (number) when the runtime made none
Napi::Value CreateSegment(const Napi::CallbackInfo& info);
// isReadOnly(handle): boolean
Napi::Value IsReadOnly(const Napi::CallbackInfo& info);
// release(handle, dropPages: boolean): void; drops the handle's own share, twice is fine
Napi::Value ReleaseMapping(const Napi::CallbackInfo& info);
// detach(buffer: ArrayBuffer): boolean, false when the runtime refused
Napi::Value DetachBuffer(const Napi::CallbackInfo& info);
// liveMappings(): number, over all threads of the process
Napi::Value LiveMappings(const Napi::CallbackInfo& info);
// allowsExternalBuffers(): boolean
Napi::Value AllowsExternalBuffers(const Napi::CallbackInfo& info);

// The mapping behind a handle; throws a TypeError in JavaScript and returns
// null for anything that is not a handle or was released.
std::shared_ptr<Mapping> MappingFrom(const Napi::Env& env, const Napi::Value& value);

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_MAPPING_BINDING_H_
