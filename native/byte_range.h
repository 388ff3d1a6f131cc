// Owns the word for a part of a file: bytes [begin, end), begin < end. Refuses to know what lies there.
#ifndef SAFETENSORS_MMAP_BYTE_RANGE_H_
#define SAFETENSORS_MMAP_BYTE_RANGE_H_

#include <cstddef>

namespace safetensors_mmap {

struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_BYTE_RANGE_H_
