// Owns the JavaScript face of prefetch: each call one short piece of work on a thread of the pool.
// Refuses loops over files, aborts and progress: those are JavaScript's.
#ifndef SAFETENSORS_MMAP_PREFETCH_BINDING_H_
#define SAFETENSORS_MMAP_PREFETCH_BINDING_H_

#include <napi.h>

namespace safetensors_mmap {

// bringIn(handle, ranges: [begin, end, begin, end …]): Promise<number>, 0 or the errno
Napi::Value BringInPages(const Napi::CallbackInfo& info);
// askForLargePages(handle, ranges): Promise<number>, always 0
Napi::Value AskForLargeFolios(const Napi::CallbackInfo& info);

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_PREFETCH_BINDING_H_
