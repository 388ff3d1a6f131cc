// Owns: one private mapping of a whole file and the count of those alive.
// Refuses: reading a byte of it. Thread-safe: a Mapping does not change while it has shares, and the last may end on any
// thread. A large one outlives it for a while: the reaper unmaps it.
#ifndef SAFETENSORS_MMAP_MAPPING_H_
#define SAFETENSORS_MMAP_MAPPING_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "reaper.h"

namespace safetensors_mmap {

enum class Protection {
  // Pages may be written; a write stays in this process and never reaches the file.
  kCopyOnWrite,
  // A write to a page ends the process.
  kReadOnly,
};

class Mapping final : private Chore {
 public:
  // Linux allows a process 65,530 mappings in all (vm.max_map_count); when they are used up, every
  // allocation fails and the process ends. So that there is an error instead, Map stops at half.
  static constexpr std::int64_t kMost = 32768;

  struct Result {
    std::shared_ptr<Mapping> mapping;  // empty on failure
    int error = 0;                     // errno on failure (POSIX numbers on every platform)
  };

  // Maps the first `size` bytes (size > 0) of an open file. The descriptor is
  // borrowed and may be closed afterwards. When the system has no room for
  // copy-on-write pages the mapping is read-only: ask protection().
  static Result Map(int descriptor, std::size_t size, Protection wanted);

  // How many mappings exist in this process, over all threads; one counts until the system has unmapped it.
  static std::int64_t LiveCount();

  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  // Gives the pages back to the system; a later touch reads the file anew, and what was written to
  // copy-on-write pages is lost.
  void DropPages() const;
  // The same soon, elsewhere, for a large mapping. Once in its life at most.
  static void DropPagesLater(std::shared_ptr<Mapping> mapping);

  std::uint8_t* data() const { return data_; }
  std::size_t size() const { return size_; }
  Protection protection() const { return protection_; }

 private:
  Mapping(std::uint8_t* data, std::size_t size, Protection protection);

  // What the last share does: unmaps, or has it done.
  static void Retire(Mapping* mapping);
  void Run() override;

  std::uint8_t* const data_;
  const std::size_t size_;
  const Protection protection_;
  // Bytes that the reaper has unmapped, from the first on.
  std::size_t unmapped_ = 0;
  // Set while the reaper is to drop pages, which it does for a share of its own. Else it is to unmap.
  std::shared_ptr<Mapping> dropping_;
};

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_MAPPING_H_
