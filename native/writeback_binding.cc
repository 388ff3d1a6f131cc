#include "writeback_binding.h"

#include <climits>

#include "arguments.h"
#include "pool_work.h"

#if defined(__linux__)
#include <fcntl.h>
#endif

namespace safetensors_mmap {

Napi::Value StartWriteback(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::int64_t descriptor = 0;
  std::int64_t begin = 0;
  std::int64_t length = 0;
  if (!ReadInteger(info, 0, "descriptor", 0, INT_MAX, &descriptor) ||
      !ReadInteger(info, 1, "begin", 0, kMaxSafeInteger, &begin) ||
      !ReadInteger(info, 2, "length", 0, kMaxSafeInteger - static_cast<double>(begin), &length)) {
    return env.Undefined();
  }
  return StartWork(env, "safetensors:writeback", [=] {
#if defined(__linux__)
    // Only begins: it waits for room in the disk's queue, but for no data and no journal. An error of the disk comes again
    // with the flush at the end; of a device or a pipe, which have nothing to write back, it means nothing.
    sync_file_range(static_cast<int>(descriptor), begin, length, SYNC_FILE_RANGE_WRITE);
#endif
    return 0;
  });
}

}  // namespace safetensors_mmap
