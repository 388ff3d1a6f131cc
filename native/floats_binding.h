// Owns: memory for floats that threads write to, and its handle in JavaScript. Refuses: to show it to JavaScript while it
// is being written.
#ifndef SAFETENSORS_MMAP_FLOATS_BINDING_H_
#define SAFETENSORS_MMAP_FLOATS_BINDING_H_

#include <napi.h>

#include <cstddef>
#include <memory>

namespace safetensors_mmap {

// Freed with its last share: the handle's, a writer's or a buffer's, on whichever thread that ends.
class Floats {
 public:
  // Null when the system has no memory.
  static std::shared_ptr<Floats> Allocate(std::size_t count);
  // Alive in this process, all threads counted.
  static std::size_t LiveCount();

  ~Floats();
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;

  float* data() const { return data_; }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(float); }

  // Pieces under way; touched by the JavaScript thread alone.
  int writers = 0;

 private:
  Floats(float* data, std::size_t count);
  float* const data_;
  const std::size_t count_;
};

// The floats behind the handle at `position`; throws a TypeError in JavaScript and returns null for
// anything that is not a handle, or was exposed or released.
std::shared_ptr<Floats> FloatsFrom(const Napi::CallbackInfo& info, std::size_t position);

// allocateFloats(count): FloatsHandle, memory outside of JavaScript; null when there is none
Napi::Value AllocateFloats(const Napi::CallbackInfo& info);
// copyFloats(floats, at, count, target: Float32Array, targetAt): boolean, false when the target is too short by now
Napi::Value CopyFloats(const Napi::CallbackInfo& info);
// exposeFloats(floats): ArrayBuffer that has the handle's share; null when the runtime takes no such buffer
Napi::Value ExposeFloats(const Napi::CallbackInfo& info);
// releaseFloats(floats): void; drops the handle's share, twice is fine
Napi::Value ReleaseFloats(const Napi::CallbackInfo& info);
// liveFloats(): number, over all threads of the process
Napi::Value LiveFloats(const Napi::CallbackInfo& info);

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_FLOATS_BINDING_H_
