#include "floats_binding.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "arguments.h"
#include "handles.h"
#include "large_pages.h"

namespace safetensors_mmap {
namespace {

std::atomic<std::size_t> live_count{0};

constexpr HandleKind kFloats = {{0x1d3f7b60a5c84e92ULL, 0xb26e0c9f4471d85aULL},
                                "a handle of floats"};

// What a handle or a buffer holds; null in a handle that has given it away.
struct FloatsShare {
  std::shared_ptr<Floats> floats;
};

FloatsShare* ShareFrom(const Napi::CallbackInfo& info, std::size_t position) {
  return DataOfHandle<FloatsShare>(info.Env(), kFloats, info[position]);
}

void* AllocateMemory(std::size_t bytes) {
#if defined(__linux__)
  // Large pages where the memory is large: first touches and giving back cost a hundredth, and the
  // second is done by the collector, on the JavaScript thread.
  if (bytes >= 2 * kLargePage && bytes <= SIZE_MAX - kLargePage) {
    const std::size_t rounded = (bytes + kLargePage - 1) / kLargePage * kLargePage;
    void* memory = std::aligned_alloc(kLargePage, rounded);
    if (memory != nullptr) AskForLargePages(memory, rounded);
    return memory;
  }
#endif
  return std::malloc(bytes);
}

}  // namespace

Floats::Floats(float* data, std::size_t count) : data_(data), count_(count) {
  live_count.fetch_add(1, std::memory_order_relaxed);
}

Floats::~Floats() {
  std::free(data_);
  live_count.fetch_sub(1, std::memory_order_relaxed);
}

std::shared_ptr<Floats> Floats::Allocate(std::size_t count) {
  float* data = static_cast<float*>(AllocateMemory(count * sizeof(float)));
  if (data == nullptr) return nullptr;
  Floats* floats = new (std::nothrow) Floats(data, count);
  if (floats == nullptr) std::free(data);
  return std::shared_ptr<Floats>(floats);
}

std::size_t Floats::LiveCount() { return live_count.load(std::memory_order_relaxed); }

std::shared_ptr<Floats> FloatsFrom(const Napi::CallbackInfo& info, std::size_t position) {
  const FloatsShare* share = ShareFrom(info, position);
  if (share == nullptr) return nullptr;
  if (share->floats == nullptr) Refuse(info.Env(), "the floats were exposed or released");
  return share->floats;
}

Napi::Value AllocateFloats(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::int64_t count = 0;
  if (!ReadInteger(info, 0, "count", 1, kMaxSafeInteger / sizeof(float), &count)) {
    return env.Undefined();
  }
  std::shared_ptr<Floats> floats = Floats::Allocate(static_cast<std::size_t>(count));
  if (floats == nullptr) return env.Null();
  FloatsShare* share = new FloatsShare{std::move(floats)};
  return MakeHandle<FloatsShare>(env, kFloats, share,
                                 [](Napi::Env, FloatsShare* owned) { delete owned; });
}

Napi::Value CopyFloats(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::shared_ptr<Floats> floats = FloatsFrom(info, 0);
  Napi::Float32Array target;
  std::size_t at = 0;
  std::size_t count = 0;
  std::int64_t target_at = 0;
  if (floats == nullptr || !ReadSpan(info, 1, floats->count(), &at, &count) ||
      !ReadFloat32Array(info, 3, &target) ||
      !ReadInteger(info, 4, "targetAt", 0, kMaxSafeInteger, &target_at)) {
    return env.Undefined();
  }
  const std::size_t length = target.ElementLength();
  const std::size_t begin = static_cast<std::size_t>(target_at);
  const bool fits = begin <= length && count <= length - begin;
  if (fits && count > 0) std::copy_n(floats->data() + at, count, target.Data() + begin);
  return Napi::Boolean::New(env, fits);
}

Napi::Value ExposeFloats(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::shared_ptr<Floats> floats = FloatsFrom(info, 0);
  if (floats == nullptr) return env.Undefined();
  if (floats->writers > 0) {
    Refuse(env, "the floats are still being written");
    return env.Undefined();
  }
  if (static_cast<double>(floats->bytes()) > kBufferLimit) return env.Null();
  FloatsShare* owned = new FloatsShare{floats};
  napi_value buffer = nullptr;
  const napi_status status = napi_create_external_arraybuffer(
      env, floats->data(), floats->bytes(),
      [](napi_env, void*, void* hint) { delete static_cast<FloatsShare*>(hint); }, owned, &buffer);
  if (status == napi_ok) {
    // The buffer's share is the only one left, so that the memory goes when the buffer goes.
    ShareFrom(info, 0)->floats.reset();
    return Napi::Value(env, buffer);
  }
  // As in CreateSegment: after other failures the runtime has run the finaliser, or will.
  if (status == napi_no_external_buffers_allowed) delete owned;
  if (env.IsExceptionPending()) env.GetAndClearPendingException();
  return env.Null();
}

Napi::Value ReleaseFloats(const Napi::CallbackInfo& info) {
  FloatsShare* share = ShareFrom(info, 0);
  if (share != nullptr) share->floats.reset();
  return info.Env().Undefined();
}

Napi::Value LiveFloats(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(Floats::LiveCount()));
}

}  // namespace safetensors_mmap
