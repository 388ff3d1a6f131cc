// Owns: reading numbers out of JavaScript arguments. Refuses: conversion of anything but whole numbers in range.
#ifndef SAFETENSORS_MMAP_ARGUMENTS_H_
#define SAFETENSORS_MMAP_ARGUMENTS_H_

#include <napi.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace safetensors_mmap {

constexpr double kMaxSafeInteger = 9007199254740991.0;

// Reads argument `position` as an integer of [least, most]; throws a TypeError
// in JavaScript and returns false when it is anything else.
inline bool ReadInteger(const Napi::CallbackInfo& info, std::size_t position, const char* name,
                        double least, double most, std::int64_t* result) {
  const Napi::Value value = info[position];
  double number = std::nan("");
  if (value.IsNumber()) number = value.As<Napi::Number>().DoubleValue();
  if (!(number >= least && number <= most) || number != std::floor(number)) {
    Napi::TypeError::New(info.Env(), std::string(name) + " is not an integer in range")
        .ThrowAsJavaScriptException();
    return false;
  }
  *result = static_cast<std::int64_t>(number);
  return true;
}

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_ARGUMENTS_H_
