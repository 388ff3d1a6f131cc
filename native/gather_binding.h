// Owns: the JavaScript face of gather. Refuses: runs outside the mapping, and targets that overlap them.
#ifndef SAFETENSORS_MMAP_GATHER_BINDING_H_
#define SAFETENSORS_MMAP_GATHER_BINDING_H_

#include <napi.h>

#include "gather.h"

namespace safetensors_mmap {

// A region of a mapping in bytes, checked to lie inside it.
struct Region {
  GatherPlan plan;
  std::size_t offset = 0;  // of the first run
  std::size_t begin = 0;   // of the lowest byte
  std::size_t end = 0;     // past the highest byte
  std::size_t bytes() const { return plan.item_bytes * plan.item_count; }
};

// Reads the arguments offset, runBytes, counts, strides from `position` on and checks them against
// `size` bytes; throws in JavaScript and returns false when they are not a region of those. The
// plan's items are whole units of `unit_bytes`; with 0, the runs.
bool ReadRegion(const Napi::CallbackInfo& info, std::size_t position, std::size_t size,
                std::size_t unit_bytes, Region* region);

// gather(handle, offset, runBytes, counts: number[], strides: number[], target: Uint8Array): boolean
Napi::Value GatherFromMapping(const Napi::CallbackInfo& info);

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_GATHER_BINDING_H_
