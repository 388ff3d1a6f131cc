// Owns a piece of work on a thread of Node's pool, and the promise of its result. Refuses errors: the result is a number.
#ifndef SAFETENSORS_MMAP_POOL_WORK_H_
#define SAFETENSORS_MMAP_POOL_WORK_H_

#include <napi.h>

#include <utility>

namespace safetensors_mmap {

// `Task` is called once, on another thread, and gives an int. It is destroyed on the JavaScript thread, whatever happens
// meanwhile: what it touches it has to hold shares of.
template <typename Task>
class PoolWork final : public Napi::AsyncWorker {
 public:
  PoolWork(const Napi::Env& env, const char* name, napi_deferred deferred, Task task)
      : AsyncWorker(env, name), deferred_(deferred), task_(std::move(task)) {}

 protected:
  void Execute() override { result_ = task_(); }
  // Not by way of Napi::Promise::Deferred: in a worker that is being terminated nothing can be resolved any more, which
  // that would answer by ending the process. There, nobody waits for the result either.
  void OnOK() override {
    napi_value result = nullptr;
    if (napi_create_int32(Env(), result_, &result) != napi_ok) return;
    napi_resolve_deferred(Env(), deferred_, result);
  }

 private:
  const napi_deferred deferred_;
  Task task_;
  int result_ = 0;
};

// Starts the work; the promise of its result.
template <typename Task>
Napi::Value StartWork(const Napi::Env& env, const char* name, Task task) {
  napi_deferred deferred = nullptr;
  napi_value promise = nullptr;
  if (napi_create_promise(env, &deferred, &promise) != napi_ok) return env.Undefined();
  (new PoolWork<Task>(env, name, deferred, std::move(task)))->Queue();  // deletes itself
  return Napi::Value(env, promise);
}

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_POOL_WORK_H_
