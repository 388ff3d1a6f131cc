#include "mapping_binding.h"

#include <climits>
#include <cmath>
#include <utility>

#include "arguments.h"
#include "handles.h"

namespace safetensors_mmap {
namespace {

// One share of a mapping. A segment's finaliser deletes its share and does
// nothing else, so it may run on any thread and after the environment is gone.
struct Share {
  std::shared_ptr<Mapping> mapping;
};

constexpr HandleKind kMappings = {{0x5c0f3a1be2d94e67ULL, 0x9a71c4d80b6f2e35ULL},
                                  "a mapping handle"};

void DeleteShare(napi_env /*env*/, void* /*data*/, void* hint) { delete static_cast<Share*>(hint); }

Share* ShareFrom(const Napi::Env& env, const Napi::Value& value) {
  return DataOfHandle<Share>(env, kMappings, value);
}

}  // namespace

std::shared_ptr<Mapping> MappingFrom(const Napi::Env& env, const Napi::Value& value) {
  Share* share = ShareFrom(env, value);
  if (share == nullptr) return nullptr;
  if (share->mapping == nullptr) {
    Refuse(env, "the mapping handle was released");
  }
  return share->mapping;
}

Napi::Value MapFile(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::int64_t descriptor = 0;
  std::int64_t size = 0;
  if (!ReadInteger(info, 0, "descriptor", 0, INT_MAX, &descriptor)) return env.Undefined();
  if (!ReadInteger(info, 1, "size", 1, kMaxSafeInteger, &size)) return env.Undefined();
  if (!info[2].IsBoolean()) {
    Refuse(env, "readOnly is not a boolean");
    return env.Undefined();
  }
  const Protection wanted =
      info[2].As<Napi::Boolean>().Value() ? Protection::kReadOnly : Protection::kCopyOnWrite;
  Mapping::Result result =
      Mapping::Map(static_cast<int>(descriptor), static_cast<std::size_t>(size), wanted);
  if (result.mapping == nullptr) return Napi::Number::New(env, result.error);

  Share* share = new Share{std::move(result.mapping)};
  return MakeHandle<Share>(env, kMappings, share, [](Napi::Env, Share* owned) { delete owned; });
}

Napi::Value CreateSegment(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::shared_ptr<Mapping> mapping = MappingFrom(env, info[0]);
  if (mapping == nullptr) return env.Undefined();
  const double size = static_cast<double>(mapping->size());
  std::int64_t offset = 0;
  std::int64_t length = 0;
  if (!ReadInteger(info, 1, "offset", 0, size, &offset)) return env.Undefined();
  // Length 0 is refused: with it, some runtimes return a detached buffer.
  const double most = std::fmin(size - static_cast<double>(offset), kBufferLimit);
  if (!ReadInteger(info, 2, "length", 1, most, &length)) return env.Undefined();

  Share* share = new Share{mapping};
  napi_value buffer = nullptr;
  const napi_status status = napi_create_external_arraybuffer(
      env, mapping->data() + offset, static_cast<std::size_t>(length), DeleteShare, share, &buffer);
  if (status == napi_ok) {
    // A second share, which ends with the buffer as an object. Detaching ends the first, but work that Node does
    // elsewhere (a response under way, zlib, fs) goes on reading the memory, and holds on to the object until it is done.
    Share* pending = new Share{mapping};
    if (napi_add_finalizer(env, buffer, nullptr, DeleteShare, pending, nullptr) != napi_ok)
      delete pending;
    return Napi::Value(env, buffer);
  }
  // Only this status is known to leave the finaliser uncalled. After any other
  // failure the runtime has run it or will, so the share is left to it: a
  // double delete would be worse than a leak of one share.
  if (status == napi_no_external_buffers_allowed) delete share;
  if (env.IsExceptionPending()) env.GetAndClearPendingException();
  return Napi::Number::New(env, status);
}

Napi::Value IsReadOnly(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Mapping> mapping = MappingFrom(info.Env(), info[0]);
  if (mapping == nullptr) return info.Env().Undefined();
  return Napi::Boolean::New(info.Env(), mapping->protection() == Protection::kReadOnly);
}

Napi::Value ReleaseMapping(const Napi::CallbackInfo& info) {
  Share* share = ShareFrom(info.Env(), info[0]);
  if (share == nullptr || share->mapping == nullptr) return info.Env().Undefined();
  const bool drop_pages = info[1].IsBoolean() && info[1].As<Napi::Boolean>().Value();
  // Buffers that are still known to somebody keep the mapping, not its pages.
  std::shared_ptr<Mapping> mapping = std::move(share->mapping);
  share->mapping = nullptr;
  if (drop_pages && mapping.use_count() > 1) Mapping::DropPagesLater(std::move(mapping));
  return info.Env().Undefined();
}

Napi::Value DetachBuffer(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsArrayBuffer()) {
    Refuse(env, "buffer is not an ArrayBuffer");
    return env.Undefined();
  }
  return Napi::Boolean::New(env, napi_detach_arraybuffer(env, info[0]) == napi_ok);
}

Napi::Value LiveMappings(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(Mapping::LiveCount()));
}

Napi::Value AllowsExternalBuffers(const Napi::CallbackInfo& info) {
  static std::uint8_t probe[8] = {};
  napi_value buffer = nullptr;
  const napi_status status =
      napi_create_external_arraybuffer(info.Env(), probe, sizeof(probe), nullptr, nullptr, &buffer);
  if (info.Env().IsExceptionPending()) info.Env().GetAndClearPendingException();
  return Napi::Boolean::New(info.Env(), status == napi_ok);
}

}  // namespace safetensors_mmap
