// Owns: reading JavaScript arguments, and the refusal of bad ones, always a TypeError. Refuses: conversion of anything
// but whole numbers in range.
#ifndef SAFETENSORS_MMAP_ARGUMENTS_H_
#define SAFETENSORS_MMAP_ARGUMENTS_H_

#include <napi.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace safetensors_mmap {

constexpr double kMaxSafeInteger = 9007199254740991.0;

// Most bytes of a buffer over memory of ours: some runtimes abort at 32 GiB.
constexpr double kBufferLimit = 32.0 * 1024 * 1024 * 1024 - 1;

// Throws a TypeError in JavaScript; returns false, for the caller to pass on.
inline bool Refuse(const Napi::Env& env, const std::string& what) {
  Napi::TypeError::New(env, what).ThrowAsJavaScriptException();
  return false;
}

// Reads argument `position` as an integer of [least, most]; refuses anything else.
inline bool ReadInteger(const Napi::CallbackInfo& info, std::size_t position, const char* name,
                        double least, double most, std::int64_t* result) {
  const Napi::Value value = info[position];
  double number = std::nan("");
  if (value.IsNumber()) number = value.As<Napi::Number>().DoubleValue();
  if (!(number >= least && number <= most) || number != std::floor(number)) {
    return Refuse(info.Env(), std::string(name) + " is not an integer in range");
  }
  *result = static_cast<std::int64_t>(number);
  return true;
}

// Reads the two arguments from `position` on as [at, at + count) of something so long.
inline bool ReadSpan(const Napi::CallbackInfo& info, std::size_t position, std::size_t length,
                     std::size_t* at, std::size_t* count) {
  std::int64_t begin = 0;
  std::int64_t size = 0;
  const double most = static_cast<double>(length);
  if (!ReadInteger(info, position, "at", 0, most, &begin) ||
      !ReadInteger(info, position + 1, "count", 0, most - static_cast<double>(begin), &size)) {
    return false;
  }
  *at = static_cast<std::size_t>(begin);
  *count = static_cast<std::size_t>(size);
  return true;
}

inline bool ReadFloat32Array(const Napi::CallbackInfo& info, std::size_t position,
                             Napi::Float32Array* floats) {
  const Napi::Value value = info[position];
  if (!value.IsTypedArray() ||
      value.As<Napi::TypedArray>().TypedArrayType() != napi_float32_array) {
    return Refuse(info.Env(), "target is not a Float32Array");
  }
  *floats = value.As<Napi::Float32Array>();
  return true;
}

inline bool ReadUint8Array(const Napi::CallbackInfo& info, std::size_t position, const char* name,
                           Napi::Uint8Array* bytes) {
  const Napi::Value value = info[position];
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
    return Refuse(info.Env(), std::string(name) + " is not a Uint8Array");
  }
  *bytes = value.As<Napi::Uint8Array>();
  return true;
}

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_ARGUMENTS_H_
