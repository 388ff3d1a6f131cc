// Owns reading lists of ranges from JavaScript. Refuses any that is empty or leaves what it is a range of.
#ifndef SAFETENSORS_MMAP_RANGE_ARGUMENTS_H_
#define SAFETENSORS_MMAP_RANGE_ARGUMENTS_H_

#include <napi.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "arguments.h"
#include "byte_range.h"

namespace safetensors_mmap {

// Reads argument `position`, an array [begin, end, begin, end …], as ranges of something of `size` bytes.
inline bool ReadRanges(const Napi::CallbackInfo& info, std::size_t position, double size,
                       std::vector<ByteRange>* ranges) {
  const Napi::Value value = info[position];
  if (!value.IsArray()) return Refuse(info.Env(), "ranges is not an array");
  const Napi::Array array = value.As<Napi::Array>();
  const std::uint32_t length = array.Length();
  double begin = 0;
  for (std::uint32_t i = 0; i < length; i++) {
    const Napi::Value item = array.Get(i);
    const bool is_begin = i % 2 == 0;
    const double number = item.IsNumber() ? item.As<Napi::Number>().DoubleValue() : std::nan("");
    const double least = is_begin ? 0 : begin + 1;
    if (!(number >= least && number <= size) || number != std::floor(number)) {
      return Refuse(info.Env(), "not a range of the file");
    }
    if (is_begin) {
      begin = number;
    } else {
      ranges->push_back({static_cast<std::size_t>(begin), static_cast<std::size_t>(number)});
    }
  }
  return length % 2 == 0 || Refuse(info.Env(), "a range without an end");
}

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_RANGE_ARGUMENTS_H_
