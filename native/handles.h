// Owns: handles, opaque values that JavaScript keeps for native code, each kind told from the others by its tag.
// Refuses: to trust a value by its type alone; any addon can make an External.
#ifndef SAFETENSORS_MMAP_HANDLES_H_
#define SAFETENSORS_MMAP_HANDLES_H_

#include <napi.h>

#include <string>

#include "arguments.h"

namespace safetensors_mmap {

// What one kind of handle is; `what` names it in messages.
struct HandleKind {
  napi_type_tag tag;
  const char* what;
};

// A handle that owns `data`: `end` is called with it once, when the handle is collected or, when there is none to collect,
// before this returns. Throws in JavaScript and returns undefined when the runtime refuses.
template <class T>
Napi::Value MakeHandle(const Napi::Env& env, const HandleKind& kind, T* data,
                       void (*end)(Napi::Env, T*)) {
  const Napi::External<T> handle = Napi::External<T>::New(env, data, end);
  if (handle.IsEmpty()) {
    end(env, data);
    return env.Undefined();
  }
  if (napi_type_tag_object(env, handle, &kind.tag) != napi_ok) {
    Napi::Error::New(env, std::string("cannot tag ") + kind.what).ThrowAsJavaScriptException();
    return env.Undefined();
  }
  return handle;
}

// What a handle of this kind owns; throws a TypeError in JavaScript and returns null for anything else.
template <class T>
T* DataOfHandle(const Napi::Env& env, const HandleKind& kind, const Napi::Value& value) {
  bool is_one = false;
  if (value.IsExternal()) napi_check_object_type_tag(env, value, &kind.tag, &is_one);
  if (is_one) return value.As<Napi::External<T>>().Data();
  Refuse(env, std::string("not ") + kind.what);
  return nullptr;
}

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_HANDLES_H_
