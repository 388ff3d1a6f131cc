#include "gather_binding.h"

#include <array>
#include <cstdlib>
#include <memory>

#include "arguments.h"
#include "mapping_binding.h"

namespace safetensors_mmap {
namespace {

using Dimensions = std::array<std::int64_t, GatherPlan::kMaxRank>;

// Reads an array of whole numbers of [least, 2^53 - 1].
bool ReadDimensions(const Napi::CallbackInfo& info, std::size_t position, double least,
                    Dimensions* numbers, std::size_t* count) {
  if (!info[position].IsArray()) return Refuse(info.Env(), "not an array");
  const Napi::Array array = info[position].As<Napi::Array>();
  *count = array.Length();
  if (*count > numbers->size()) return Refuse(info.Env(), "too many dimensions");
  for (std::size_t i = 0; i < *count; i++) {
    const Napi::Value value = array.Get(static_cast<std::uint32_t>(i));
    if (info.Env().IsExceptionPending()) return false;
    const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : std::nan("");
    if (!(number >= least && number <= kMaxSafeInteger) || number != std::floor(number)) {
      return Refuse(info.Env(), "not an array of integers in range");
    }
    (*numbers)[i] = static_cast<std::int64_t>(number);
  }
  return true;
}

}  // namespace

bool ReadRegion(const Napi::CallbackInfo& info, std::size_t position, std::size_t size,
                std::size_t unit_bytes, Region* region) {
  const Napi::Env env = info.Env();
  std::int64_t offset = 0;
  std::int64_t run_bytes = 0;
  Dimensions counts;
  Dimensions strides;
  std::size_t rank = 0;
  std::size_t stride_count = 0;
  if (!ReadInteger(info, position, "offset", 0, static_cast<double>(size), &offset) ||
      !ReadInteger(info, position + 1, "runBytes", 1, static_cast<double>(size), &run_bytes) ||
      !ReadDimensions(info, position + 2, 1, &counts, &rank) ||
      !ReadDimensions(info, position + 3, -kMaxSafeInteger, &strides, &stride_count)) {
    return false;
  }
  if (rank != stride_count) return Refuse(env, "as many strides as counts are needed");

  if (unit_bytes != 0) {
    if (rank == counts.size()) return Refuse(env, "too many dimensions");
    if (static_cast<std::size_t>(run_bytes) % unit_bytes != 0) {
      return Refuse(env, "a run is not a whole number of elements");
    }
    counts[rank] = run_bytes / static_cast<std::int64_t>(unit_bytes);
    strides[rank] = static_cast<std::int64_t>(unit_bytes);
    run_bytes = static_cast<std::int64_t>(unit_bytes);
    rank++;
  }

  // No run reaches further than `size`, which is below 2^53, so sums over all dimensions stay below 2^60.
  const std::int64_t most = static_cast<std::int64_t>(size);
  std::int64_t first = offset;
  std::int64_t last = offset + run_bytes;
  std::array<std::uint64_t, GatherPlan::kMaxRank> dims;
  for (std::size_t i = 0; i < rank; i++) {
    const std::int64_t steps = counts[i] - 1;
    if (strides[i] != 0 && steps > most / std::abs(strides[i])) {
      return Refuse(env, "the runs leave the mapping");
    }
    const std::int64_t reach = steps * strides[i];
    (reach < 0 ? first : last) += reach;
    dims[i] = static_cast<std::uint64_t>(counts[i]);
  }
  if (first < 0 || last > most) return Refuse(env, "the runs leave the mapping");
  if (!PlanGather(dims.data(), strides.data(), rank, static_cast<std::size_t>(run_bytes),
                  &region->plan)) {
    return Refuse(env, "the runs are more bytes than can be counted");
  }
  region->offset = static_cast<std::size_t>(offset);
  region->begin = static_cast<std::size_t>(first);
  region->end = static_cast<std::size_t>(last);
  return true;
}

Napi::Value GatherFromMapping(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::shared_ptr<Mapping> mapping = MappingFrom(env, info[0]);
  Region region;
  Napi::Uint8Array target;
  if (mapping == nullptr || !ReadRegion(info, 1, mapping->size(), 0, &region) ||
      !ReadUint8Array(info, 5, "target", &target)) {
    return env.Undefined();
  }
  if (target.ByteLength() < region.bytes()) {
    Refuse(env, "the target is too short");
    return env.Undefined();
  }
  const std::uint8_t* source = mapping->data();
  const std::uint8_t* written = target.Data();
  const bool overlap =
      written < source + region.end && source + region.begin < written + region.bytes();
  if (!overlap) {
    Gather(region.plan, source + region.offset, 0, region.plan.item_count, target.Data());
  }
  return Napi::Boolean::New(env, !overlap);
}

}  // namespace safetensors_mmap
