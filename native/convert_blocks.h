// Owns: the loop of the vector kernels: align the target, convert whole vectors, leave the ends to the scalar kernel.
// Refuses: instructions of its own. Each kernel includes it inside its target region; everything here is internal to it.
//
// A Decoder has kNumber, kLanes (elements of a vector), kBytes (of kLanes elements in the source),
// Decode(source) that reads exactly kBytes at any address, Store and Stream of what it returns, and Fence.
#ifndef SAFETENSORS_MMAP_CONVERT_BLOCKS_H_
#define SAFETENSORS_MMAP_CONVERT_BLOCKS_H_

#include "convert_kernel.h"

namespace safetensors_mmap {
namespace {

template <class Decoder, bool kStreaming>
inline void Put(float* target, decltype(Decoder::Decode(nullptr)) vector) {
  if (kStreaming) {
    Decoder::Stream(target, vector);
  } else {
    Decoder::Store(target, vector);
  }
}

// Returns how many elements were converted: all but a last part of a vector.
template <class Decoder, bool kStreaming>
std::size_t ConvertVectors(const std::uint8_t* source, std::size_t count, float* target) {
  constexpr std::size_t lanes = Decoder::kLanes;
  std::size_t done = 0;
  // Four at a time: the decoders' latencies overlap, and a whole line is filled by one round.
  for (; count - done >= 4 * lanes; done += 4 * lanes) {
    const auto a = Decoder::Decode(source);
    const auto b = Decoder::Decode(source + Decoder::kBytes);
    const auto c = Decoder::Decode(source + 2 * Decoder::kBytes);
    const auto d = Decoder::Decode(source + 3 * Decoder::kBytes);
    Put<Decoder, kStreaming>(target + done, a);
    Put<Decoder, kStreaming>(target + done + lanes, b);
    Put<Decoder, kStreaming>(target + done + 2 * lanes, c);
    Put<Decoder, kStreaming>(target + done + 3 * lanes, d);
    source += 4 * Decoder::kBytes;
  }
  for (; count - done >= lanes; done += lanes) {
    Put<Decoder, kStreaming>(target + done, Decoder::Decode(source));
    source += Decoder::kBytes;
  }
  return done;
}

template <class Decoder>
void ConvertBlocks(const std::uint8_t* source, std::size_t count, float* target, Stores stores) {
  constexpr std::size_t lanes = Decoder::kLanes;
  constexpr std::size_t vector_bytes = lanes * sizeof(float);
  const Convert scalar = kScalarKernel.find(Decoder::kNumber);

  // Elements before the first aligned vector. They must end on a byte of the source; a packed
  // tensor whose target is at odds with that is stored unaligned, which only costs time.
  const std::size_t past = reinterpret_cast<std::uintptr_t>(target) % vector_bytes;
  std::size_t head = past == 0 ? 0 : (vector_bytes - past) / sizeof(float);
  if (head > count) head = count;
  const bool alignable = past % sizeof(float) == 0 && head * Decoder::kBytes % lanes == 0;
  if (!alignable) head = 0;
  if (head > 0) {
    scalar(source, head, target, stores);
    source += head * Decoder::kBytes / lanes;
    target += head;
    count -= head;
  }

  std::size_t done;
  if (stores == Stores::kStreaming && alignable) {
    done = ConvertVectors<Decoder, true>(source, count, target);
    Decoder::Fence();
  } else {
    done = ConvertVectors<Decoder, false>(source, count, target);
  }
  if (done < count) {
    scalar(source + done / lanes * Decoder::kBytes, count - done, target + done, stores);
  }
}

// The loop over the decoder of `number`; the scalar kernel's where there is none.
template <class... Decoders>
Convert FindDecoder(Number number) {
  Convert found = kScalarKernel.find(number);
  ((Decoders::kNumber == number ? void(found = ConvertBlocks<Decoders>) : void()), ...);
  return found;
}

}  // namespace
}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_CONVERT_BLOCKS_H_
