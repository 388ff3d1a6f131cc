// Owns the JavaScript face of sending what was written on its way to the disk. Refuses promises: what is on the disk, a
// flush at the end says.
#ifndef SAFETENSORS_MMAP_WRITEBACK_BINDING_H_
#define SAFETENSORS_MMAP_WRITEBACK_BINDING_H_

#include <napi.h>

namespace safetensors_mmap {

// startWriteback(descriptor, begin, length): Promise<number>, always 0: a hint, which other systems than Linux lack.
// The descriptor has to stay open meanwhile.
Napi::Value StartWriteback(const Napi::CallbackInfo& info);

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_WRITEBACK_BINDING_H_
