#include "weak_binding.h"

#include "arguments.h"
#include "handles.h"

namespace safetensors_mmap {
namespace {

constexpr HandleKind kWeak = {{0x7be1940c52fd4a83ULL, 0xc1f08e3b6a2d9547ULL}, "a weak handle"};

// The one finaliser that calls Node-API: that of an External runs on the environment's own thread, also when it ends; Node
// runs finalisers first there, and drops references after.
void DeleteReference(Napi::Env env, napi_ref reference) { napi_delete_reference(env, reference); }

}  // namespace

Napi::Value WeakenBuffer(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsArrayBuffer()) {
    Refuse(env, "not an ArrayBuffer");
    return env.Undefined();
  }
  napi_ref reference = nullptr;
  if (napi_create_reference(env, info[0], 0, &reference) != napi_ok) {
    Napi::Error::New(env, "cannot refer to a buffer").ThrowAsJavaScriptException();
    return env.Undefined();
  }
  return MakeHandle<napi_ref__>(env, kWeak, reference, DeleteReference);
}

Napi::Value StrengthenBuffer(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  napi_ref const reference = DataOfHandle<napi_ref__>(env, kWeak, info[0]);
  if (reference == nullptr) return env.Undefined();
  napi_value buffer = nullptr;
  napi_get_reference_value(env, reference, &buffer);
  return buffer == nullptr ? env.Undefined() : Napi::Value(env, buffer);
}

}  // namespace safetensors_mmap
