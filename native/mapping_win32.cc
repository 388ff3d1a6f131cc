// Owns: MapViewOfFile and UnmapViewOfFile, behind the same names as the POSIX file.
// Refuses: policy; what is asked for is mapped or an errno comes back.
#define WIN32_LEAN_AND_MEAN
#include <io.h>
#include <windows.h>

#include <atomic>
#include <cerrno>
#include <new>

#include "mapping.h"

// Descriptors belong to the C runtime inside node.exe, which need not be this
// module's, so the handle is asked of the host.
extern "C" __declspec(dllimport) void* uv_get_osfhandle(int fd);

namespace safetensors_mmap {
namespace {

std::atomic<std::int64_t> live_count{0};

int LastErrno() {
  switch (GetLastError()) {
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_COMMITMENT_LIMIT:
    case ERROR_NO_SYSTEM_RESOURCES:
      return ENOMEM;
    case ERROR_ACCESS_DENIED:
      return EACCES;
    case ERROR_INVALID_HANDLE:
      return EBADF;
    default:
      return EIO;
  }
}

void* MapPages(HANDLE file, std::size_t size, Protection protection, int* error) {
  const bool read_only = protection == Protection::kReadOnly;
  HANDLE section =
      CreateFileMappingW(file, nullptr, read_only ? PAGE_READONLY : PAGE_WRITECOPY, 0, 0, nullptr);
  if (section == nullptr) {
    *error = LastErrno();
    return nullptr;
  }
  void* pages = MapViewOfFile(section, read_only ? FILE_MAP_READ : FILE_MAP_COPY, 0, 0, size);
  if (pages == nullptr) *error = LastErrno();
  CloseHandle(section);  // the view keeps the section alive
  return pages;
}

}  // namespace

Mapping::Mapping(std::uint8_t* data, std::size_t size, Protection protection)
    : data_(data), size_(size), protection_(protection) {
  live_count.fetch_add(1, std::memory_order_relaxed);
}

Mapping::~Mapping() {
  UnmapViewOfFile(data_);
  live_count.fetch_sub(1, std::memory_order_relaxed);
}

void Mapping::Retire(Mapping* mapping) { delete mapping; }

void Mapping::DropPagesLater(std::shared_ptr<Mapping> mapping) { mapping->DropPages(); }

// Nothing is handed over here.
void Mapping::Run() {}

void Mapping::DropPages() const {
  // Unlocking what is not locked takes the pages out of the working set (VirtualUnlock, "Remarks"); written ones stay.
  VirtualUnlock(data_, size_);
}

Mapping::Result Mapping::Map(int descriptor, std::size_t size, Protection wanted) {
  if (LiveCount() >= kMost) return {nullptr, ENOMEM};
  HANDLE file = static_cast<HANDLE>(uv_get_osfhandle(descriptor));
  if (file == INVALID_HANDLE_VALUE) return {nullptr, EBADF};
  Protection granted = wanted;
  int error = 0;
  void* pages = MapPages(file, size, granted, &error);
  if (pages == nullptr && error == ENOMEM && wanted == Protection::kCopyOnWrite) {
    // FILE_MAP_COPY charges the commit limit for every page; read-only views do not.
    granted = Protection::kReadOnly;
    pages = MapPages(file, size, granted, &error);
  }
  if (pages == nullptr) return {nullptr, error};
  Mapping* mapping = new (std::nothrow) Mapping(static_cast<std::uint8_t*>(pages), size, granted);
  if (mapping == nullptr) {
    UnmapViewOfFile(pages);
    return {nullptr, ENOMEM};
  }
  return {std::shared_ptr<Mapping>(mapping, Retire), 0};
}

std::int64_t Mapping::LiveCount() { return live_count.load(std::memory_order_relaxed); }

}  // namespace safetensors_mmap
