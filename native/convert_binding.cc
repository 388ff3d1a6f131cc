#include "convert_binding.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "arguments.h"
#include "convert.h"
#include "gather_binding.h"
#include "mapping_binding.h"

namespace safetensors_mmap {
namespace {

constexpr napi_type_tag kFloatsTag = {0x1d3f7b60a5c84e92ULL, 0xb26e0c9f4471d85aULL};

// Strided elements are gathered so many bytes at a time; what stays in a core's own cache.
constexpr std::size_t kScratchBytes = 32 * 1024;

// Memory for results that threads write to: JavaScript cannot reach it before it is exposed.
class Floats {
 public:
  static std::shared_ptr<Floats> Allocate(std::size_t count) {
    float* data = static_cast<float*>(std::malloc(count * sizeof(float)));
    if (data == nullptr) return nullptr;
    Floats* floats = new (std::nothrow) Floats(data, count);
    if (floats == nullptr) std::free(data);
    return std::shared_ptr<Floats>(floats);
  }
  ~Floats() { std::free(data_); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;

  float* data() const { return data_; }
  std::size_t count() const { return count_; }

  // Pieces under way; touched by the JavaScript thread alone.
  int writers = 0;
  bool exposed = false;

 private:
  Floats(float* data, std::size_t count) : data_(data), count_(count) {}
  float* const data_;
  const std::size_t count_;
};

struct FloatsShare {
  std::shared_ptr<Floats> floats;
};

// A region of a mapping as numbers of one kind.
struct Numbers {
  std::shared_ptr<Mapping> mapping;
  Region region;
  Number number = Number::kF32;
  std::size_t count() const { return region.bytes() * 8 / BitsOf(number); }

  // Converts elements [first, first + count) of the region. For packed numbers both are such that
  // the piece starts on a byte.
  void ConvertPiece(std::size_t first, std::size_t count, float* target, Stores stores) const {
    const std::size_t bits = BitsOf(number);
    const std::uint8_t* source = mapping->data() + region.offset;
    const GatherPlan& plan = region.plan;
    const bool contiguous =
        plan.rank == 0 && plan.row_stride == static_cast<std::int64_t>(plan.item_bytes);
    if (contiguous) {
      ConvertToFloat32(number, source + first * bits / 8, count, target, stores);
      return;
    }
    // An item is a whole number of elements, and a piece a whole number of items but at the region's end.
    const std::size_t item_elements = plan.item_bytes * 8 / bits;
    const std::size_t scratch_items = std::max<std::size_t>(kScratchBytes / plan.item_bytes, 1);
    alignas(64) std::uint8_t scratch[kScratchBytes];
    std::uint64_t item = first / item_elements;
    std::size_t skip = first % item_elements;
    while (count > 0) {
      const std::uint64_t items = std::min<std::uint64_t>(scratch_items, plan.item_count - item);
      Gather(plan, source, item, items, scratch);
      const std::size_t elements =
          std::min<std::size_t>(static_cast<std::size_t>(items) * item_elements - skip, count);
      ConvertToFloat32(number, scratch + skip * bits / 8, elements, target, stores);
      target += elements;
      count -= elements;
      item += items;
      skip = 0;
    }
  }
};

bool Refuse(const Napi::Env& env, const char* what) {
  Napi::TypeError::New(env, what).ThrowAsJavaScriptException();
  return false;
}

bool ReadNumber(const Napi::CallbackInfo& info, std::size_t position, Number* number) {
  if (!info[position].IsString()) return Refuse(info.Env(), "dtype is not a string");
  const std::string name = info[position].As<Napi::String>().Utf8Value();
  return NumberFromName(name.c_str(), number) ||
         Refuse(info.Env(), "a dtype that does not convert to float32");
}

// Bytes of the smallest group of elements that starts and ends on a byte.
std::size_t UnitBytes(Number number) {
  const std::size_t bits = BitsOf(number);
  return bits == 4 ? 1 : bits == 6 ? 3 : bits / 8;
}

bool ReadFloats(const Napi::CallbackInfo& info, std::size_t position, Napi::Float32Array* floats) {
  const Napi::Value value = info[position];
  if (!value.IsTypedArray() ||
      value.As<Napi::TypedArray>().TypedArrayType() != napi_float32_array) {
    return Refuse(info.Env(), "target is not a Float32Array");
  }
  *floats = value.As<Napi::Float32Array>();
  return true;
}

// Reads handle, offset, runBytes, counts, strides, dtype from `position` 0 on.
bool ReadNumbers(const Napi::CallbackInfo& info, Numbers* numbers) {
  numbers->mapping = MappingFrom(info.Env(), info[0]);
  return numbers->mapping != nullptr && ReadNumber(info, 5, &numbers->number) &&
         ReadRegion(info, 1, numbers->mapping->size(), UnitBytes(numbers->number),
                    &numbers->region);
}

FloatsShare* ShareFrom(const Napi::CallbackInfo& info, std::size_t position) {
  bool tagged = false;
  const Napi::Value value = info[position];
  if (value.IsExternal()) napi_check_object_type_tag(info.Env(), value, &kFloatsTag, &tagged);
  if (!tagged) {
    Refuse(info.Env(), "not a handle of floats");
    return nullptr;
  }
  FloatsShare* share = value.As<Napi::External<FloatsShare>>().Data();
  if (share->floats->exposed) {
    Refuse(info.Env(), "the floats were exposed");
    return nullptr;
  }
  return share;
}

// One piece on a thread of the pool. It holds shares of all that it touches, so whatever happens
// to the file, the result or the environment meanwhile, the memory is there.
class PieceWorker : public Napi::AsyncWorker {
 public:
  PieceWorker(const Napi::Env& env, Numbers numbers, std::shared_ptr<Floats> floats,
              std::size_t first, std::size_t at, std::size_t count)
      : AsyncWorker(env, "safetensors:convert"),
        numbers_(std::move(numbers)),
        floats_(std::move(floats)),
        first_(first),
        at_(at),
        count_(count) {
    napi_create_promise(env, &deferred_, &promise_);
    floats_->writers++;
  }
  ~PieceWorker() override { floats_->writers--; }
  // Good until the call that made this worker returns.
  napi_value promise() const { return promise_; }

 protected:
  void Execute() override {
    numbers_.ConvertPiece(first_, count_, floats_->data() + at_, Stores::kCached);
  }
  // Not by way of Napi::Promise::Deferred: in a worker that is being terminated nothing can be resolved any more, which
  // that would answer by ending the process. There, nobody waits for the result either.
  void OnOK() override { napi_resolve_deferred(Env(), deferred_, Env().Undefined()); }
  void OnError(const Napi::Error& error) override {
    napi_reject_deferred(Env(), deferred_, error.Value());
  }

 private:
  napi_deferred deferred_ = nullptr;
  napi_value promise_ = nullptr;
  const Numbers numbers_;
  const std::shared_ptr<Floats> floats_;
  const std::size_t first_;
  const std::size_t at_;
  const std::size_t count_;
};

// Reads three positions and checks [at, at + count) against a length.
bool ReadSpan(const Napi::CallbackInfo& info, std::size_t at_position, std::size_t length,
              std::size_t* at, std::size_t* count) {
  std::int64_t begin = 0;
  std::int64_t size = 0;
  const double most = static_cast<double>(length);
  if (!ReadInteger(info, at_position, "at", 0, most, &begin) ||
      !ReadInteger(info, at_position + 1, "count", 0, most - static_cast<double>(begin), &size)) {
    return false;
  }
  *at = static_cast<std::size_t>(begin);
  *count = static_cast<std::size_t>(size);
  return true;
}

bool Overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const std::uint8_t* first = static_cast<const std::uint8_t*>(a);
  const std::uint8_t* second = static_cast<const std::uint8_t*>(b);
  return first < second + b_bytes && second < first + a_bytes;
}

}  // namespace

Napi::Value Convert(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Number number = Number::kF32;
  Napi::Float32Array target;
  if (!ReadNumber(info, 0, &number) || !ReadFloats(info, 2, &target)) return env.Undefined();
  if (!info[1].IsTypedArray() ||
      info[1].As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
    Refuse(env, "source is not a Uint8Array");
    return env.Undefined();
  }
  Napi::Uint8Array source = info[1].As<Napi::Uint8Array>();
  const std::size_t count = target.ElementLength();
  const std::size_t bytes = (count * BitsOf(number) + 7) / 8;
  if (source.ByteLength() != bytes) {
    Refuse(env, "source and target differ in length");
    return env.Undefined();
  }
  const bool overlap = Overlap(source.Data(), bytes, target.Data(), count * sizeof(float));
  if (!overlap && count > 0) {
    ConvertToFloat32(number, source.Data(), count, target.Data(), StoresFor(count * sizeof(float)));
  }
  return Napi::Boolean::New(env, !overlap);
}

Napi::Value ConvertMapped(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Numbers numbers;
  Napi::Float32Array target;
  if (!ReadNumbers(info, &numbers) || !ReadFloats(info, 6, &target)) return env.Undefined();
  const std::size_t count = numbers.count();
  if (target.ElementLength() != count) {
    Refuse(env, "source and target differ in length");
    return env.Undefined();
  }
  const Region& region = numbers.region;
  const bool overlap = Overlap(numbers.mapping->data() + region.begin, region.end - region.begin,
                               target.Data(), count * sizeof(float));
  if (!overlap) {
    numbers.ConvertPiece(0, count, target.Data(), StoresFor(count * sizeof(float)));
  }
  return Napi::Boolean::New(env, !overlap);
}

Napi::Value Overlaps(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::shared_ptr<Mapping> mapping = MappingFrom(env, info[0]);
  if (mapping == nullptr) return env.Undefined();
  std::int64_t begin = 0;
  std::int64_t end = 0;
  Napi::Float32Array floats;
  const double size = static_cast<double>(mapping->size());
  if (!ReadInteger(info, 1, "begin", 0, size, &begin) ||
      !ReadInteger(info, 2, "end", static_cast<double>(begin), size, &end) ||
      !ReadFloats(info, 3, &floats)) {
    return env.Undefined();
  }
  return Napi::Boolean::New(
      env, Overlap(mapping->data() + begin, static_cast<std::size_t>(end - begin), floats.Data(),
                   floats.ElementLength() * sizeof(float)));
}

Napi::Value AllocateFloats(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::int64_t count = 0;
  if (!ReadInteger(info, 0, "count", 1, kMaxSafeInteger / sizeof(float), &count)) {
    return env.Undefined();
  }
  std::shared_ptr<Floats> floats = Floats::Allocate(static_cast<std::size_t>(count));
  if (floats == nullptr) return env.Null();
  FloatsShare* share = new FloatsShare{std::move(floats)};
  Napi::External<FloatsShare> handle = Napi::External<FloatsShare>::New(
      env, share, [](Napi::Env, FloatsShare* owned) { delete owned; });
  if (handle.IsEmpty()) {
    delete share;
    return env.Undefined();
  }
  if (napi_type_tag_object(env, handle, &kFloatsTag) != napi_ok) {
    Refuse(env, "cannot tag a handle of floats");
    return env.Undefined();
  }
  return handle;
}

Napi::Value ConvertInto(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Numbers numbers;
  if (!ReadNumbers(info, &numbers)) return env.Undefined();
  FloatsShare* share = ShareFrom(info, 7);
  if (share == nullptr) return env.Undefined();
  std::size_t at = 0;
  std::size_t count = 0;
  std::int64_t first = 0;
  if (!ReadSpan(info, 8, share->floats->count(), &at, &count) ||
      !ReadInteger(info, 6, "first", 0,
                   static_cast<double>(numbers.count()) - static_cast<double>(count), &first)) {
    return env.Undefined();
  }
  if (static_cast<std::size_t>(first) * BitsOf(numbers.number) % 8 != 0) {
    Refuse(env, "the piece starts inside a byte");
    return env.Undefined();
  }
  PieceWorker* worker = new PieceWorker(env, std::move(numbers), share->floats,
                                        static_cast<std::size_t>(first), at, count);
  const napi_value promise = worker->promise();
  worker->Queue();  // deletes itself
  return Napi::Value(env, promise);
}

Napi::Value CopyFloats(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  FloatsShare* share = ShareFrom(info, 0);
  Napi::Float32Array target;
  std::size_t at = 0;
  std::size_t count = 0;
  std::int64_t target_at = 0;
  if (share == nullptr || !ReadSpan(info, 1, share->floats->count(), &at, &count) ||
      !ReadFloats(info, 3, &target) ||
      !ReadInteger(info, 4, "targetAt", 0, kMaxSafeInteger, &target_at)) {
    return env.Undefined();
  }
  const std::size_t length = target.ElementLength();
  const std::size_t begin = static_cast<std::size_t>(target_at);
  const bool fits = begin <= length && count <= length - begin;
  if (fits && count > 0) {
    std::copy_n(share->floats->data() + at, count, target.Data() + begin);
  }
  return Napi::Boolean::New(env, fits);
}

Napi::Value ExposeFloats(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  FloatsShare* share = ShareFrom(info, 0);
  if (share == nullptr) return env.Undefined();
  if (share->floats->writers > 0) {
    Refuse(env, "the floats are still being written");
    return env.Undefined();
  }
  FloatsShare* owned = new FloatsShare{share->floats};
  napi_value buffer = nullptr;
  const napi_status status = napi_create_external_arraybuffer(
      env, owned->floats->data(), owned->floats->count() * sizeof(float),
      [](napi_env, void*, void* hint) { delete static_cast<FloatsShare*>(hint); }, owned, &buffer);
  if (status == napi_ok) {
    share->floats->exposed = true;
    return Napi::Value(env, buffer);
  }
  // As in CreateSegment: after other failures the runtime has run the finaliser, or will.
  if (status == napi_no_external_buffers_allowed) delete owned;
  if (env.IsExceptionPending()) env.GetAndClearPendingException();
  return env.Null();
}

Napi::Value GetKernel(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), KernelName());
}

Napi::Value ForceKernel(const Napi::CallbackInfo& info) {
  if (info[0].IsNull()) return Napi::Boolean::New(info.Env(), SetKernel(nullptr));
  if (!info[0].IsString()) {
    Refuse(info.Env(), "a kernel's name is a string or null");
    return info.Env().Undefined();
  }
  return Napi::Boolean::New(info.Env(), SetKernel(info[0].As<Napi::String>().Utf8Value().c_str()));
}

Napi::Value ListKernels(const Napi::CallbackInfo& info) {
  Napi::Array names = Napi::Array::New(info.Env());
  for (std::size_t i = 0; AvailableKernel(i) != nullptr; i++) {
    names.Set(static_cast<std::uint32_t>(i), AvailableKernel(i));
  }
  return names;
}

}  // namespace safetensors_mmap
