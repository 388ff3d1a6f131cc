#include "large_pages_binding.h"

#include "arguments.h"
#include "large_pages.h"

namespace safetensors_mmap {

Napi::Value UseLargePages(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsTypedArray()) {
    Refuse(env, "not a typed array");
    return env.Undefined();
  }
  const Napi::TypedArray array = info[0].As<Napi::TypedArray>();
  void* data = nullptr;
  if (napi_get_typedarray_info(env, array, nullptr, nullptr, &data, nullptr, nullptr) == napi_ok) {
    AskForLargePages(data, array.ByteLength());
  }
  return env.Undefined();
}

}  // namespace safetensors_mmap
