#include "residency_binding.h"

#include <climits>
#include <memory>
#include <vector>

#include "mapping_binding.h"
#include "range_arguments.h"
#include "residency.h"

namespace safetensors_mmap {
namespace {

// A mapping and ranges of it, or a descriptor and ranges of whatever it is of.
struct Arguments {
  std::shared_ptr<Mapping> mapping;
  int descriptor = -1;
  std::vector<ByteRange> ranges;
};

bool ReadMapped(const Napi::CallbackInfo& info, Arguments* arguments) {
  arguments->mapping = MappingFrom(info.Env(), info[0]);
  return arguments->mapping != nullptr &&
         ReadRanges(info, 1, static_cast<double>(arguments->mapping->size()), &arguments->ranges);
}

bool ReadOpen(const Napi::CallbackInfo& info, Arguments* arguments) {
  std::int64_t descriptor = 0;
  if (!ReadInteger(info, 0, "descriptor", 0, INT_MAX, &descriptor)) return false;
  arguments->descriptor = static_cast<int>(descriptor);
  return ReadRanges(info, 1, kMaxSafeInteger, &arguments->ranges);
}

}  // namespace

Napi::Value GetResidentBytes(const Napi::CallbackInfo& info) {
  Arguments arguments;
  if (!ReadMapped(info, &arguments)) return info.Env().Undefined();
  const std::int64_t bytes = ResidentBytes(*arguments.mapping, arguments.ranges);
  return Napi::Number::New(info.Env(), static_cast<double>(bytes));
}

Napi::Value GetCachedBytes(const Napi::CallbackInfo& info) {
  Arguments arguments;
  if (!ReadOpen(info, &arguments)) return info.Env().Undefined();
  const std::int64_t bytes = CachedBytes(arguments.descriptor, arguments.ranges);
  return Napi::Number::New(info.Env(), static_cast<double>(bytes));
}

Napi::Value EvictMapped(const Napi::CallbackInfo& info) {
  Arguments arguments;
  if (ReadMapped(info, &arguments)) EvictPages(*arguments.mapping, arguments.ranges);
  return info.Env().Undefined();
}

Napi::Value GetIsUnwritten(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::shared_ptr<Mapping> mapping = MappingFrom(env, info[0]);
  if (mapping == nullptr) return env.Undefined();
  std::size_t at = 0;
  std::size_t count = 0;
  if (!ReadSpan(info, 1, mapping->size(), &at, &count)) return env.Undefined();
  return Napi::Boolean::New(env, IsUnwritten(*mapping, at, at + count));
}

Napi::Value DropCachedPages(const Napi::CallbackInfo& info) {
  Arguments arguments;
  if (ReadOpen(info, &arguments)) DropCached(arguments.descriptor, arguments.ranges);
  return info.Env().Undefined();
}

}  // namespace safetensors_mmap
