#include "weak_binding.h"

#include "arguments.h"

namespace safetensors_mmap {
namespace {

constexpr napi_type_tag kWeakTag = {0x7be1940c52fd4a83ULL, 0xc1f08e3b6a2d9547ULL};

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
  const auto handle = Napi::External<napi_ref__>::New(env, reference, DeleteReference);
  if (handle.IsEmpty()) {
    napi_delete_reference(env, reference);
    return env.Undefined();
  }
  if (napi_type_tag_object(env, handle, &kWeakTag) != napi_ok) {
    Napi::Error::New(env, "cannot tag a weak handle").ThrowAsJavaScriptException();
    return env.Undefined();
  }
  return handle;
}

Napi::Value StrengthenBuffer(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  bool tagged = false;
  if (info[0].IsExternal()) napi_check_object_type_tag(env, info[0], &kWeakTag, &tagged);
  if (!tagged) {
    Refuse(env, "not a weak handle");
    return env.Undefined();
  }
  napi_value buffer = nullptr;
  napi_get_reference_value(env, info[0].As<Napi::External<napi_ref__>>().Data(), &buffer);
  return buffer == nullptr ? env.Undefined() : Napi::Value(env, buffer);
}

}  // namespace safetensors_mmap
