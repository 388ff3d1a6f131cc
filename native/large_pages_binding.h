// Owns: the wish for large pages under arrays of JavaScript's. Refuses: to look at what is in them.
#ifndef SAFETENSORS_MMAP_LARGE_PAGES_BINDING_H_
#define SAFETENSORS_MMAP_LARGE_PAGES_BINDING_H_

#include <napi.h>

namespace safetensors_mmap {

// useLargePages(array: a typed array): void
Napi::Value UseLargePages(const Napi::CallbackInfo& info);

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_LARGE_PAGES_BINDING_H_
