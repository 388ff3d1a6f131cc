#include "prefetch_binding.h"

#include <memory>
#include <utility>
#include <vector>

#include "mapping_binding.h"
#include "prefetch.h"
#include "range_arguments.h"

namespace safetensors_mmap {
namespace {

enum class Task { kBringIn, kAskForLargePages };

// Holds a share, so that the memory is there whatever happens to the file meanwhile.
class PrefetchWorker : public Napi::AsyncWorker {
 public:
  PrefetchWorker(const Napi::Env& env, napi_deferred deferred, Task task,
                 std::shared_ptr<Mapping> mapping, std::vector<ByteRange> ranges)
      : AsyncWorker(env, "safetensors:prefetch"),
        deferred_(deferred),
        task_(task),
        mapping_(std::move(mapping)),
        ranges_(std::move(ranges)) {}

 protected:
  void Execute() override {
    if (task_ == Task::kBringIn) {
      error_ = BringIn(*mapping_, ranges_);
    } else {
      AskForLargePages(*mapping_, ranges_);
    }
  }
  // Not by way of Napi::Promise::Deferred: a worker that is being terminated cannot resolve, and nobody waits there.
  void OnOK() override {
    napi_value error = nullptr;
    if (napi_create_int32(Env(), error_, &error) != napi_ok) return;
    napi_resolve_deferred(Env(), deferred_, error);
  }

 private:
  const napi_deferred deferred_;
  const Task task_;
  const std::shared_ptr<Mapping> mapping_;
  const std::vector<ByteRange> ranges_;
  int error_ = 0;
};

Napi::Value Queue(const Napi::CallbackInfo& info, Task task) {
  const Napi::Env env = info.Env();
  std::shared_ptr<Mapping> mapping = MappingFrom(env, info[0]);
  std::vector<ByteRange> ranges;
  if (mapping == nullptr || !ReadRanges(info, 1, static_cast<double>(mapping->size()), &ranges))
    return env.Undefined();
  napi_deferred deferred = nullptr;
  napi_value promise = nullptr;
  if (napi_create_promise(env, &deferred, &promise) != napi_ok) return env.Undefined();
  PrefetchWorker* worker =
      new PrefetchWorker(env, deferred, task, std::move(mapping), std::move(ranges));
  worker->Queue();  // deletes itself
  return Napi::Value(env, promise);
}

}  // namespace

Napi::Value BringInPages(const Napi::CallbackInfo& info) { return Queue(info, Task::kBringIn); }

Napi::Value AskForLargeFolios(const Napi::CallbackInfo& info) {
  return Queue(info, Task::kAskForLargePages);
}

}  // namespace safetensors_mmap
