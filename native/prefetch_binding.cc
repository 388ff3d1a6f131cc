#include "prefetch_binding.h"

#include <memory>
#include <utility>
#include <vector>

#include "mapping_binding.h"
#include "pool_work.h"
#include "prefetch.h"
#include "range_arguments.h"

namespace safetensors_mmap {
namespace {

// A mapping and ranges of it.
struct Pages {
  std::shared_ptr<Mapping> mapping;
  std::vector<ByteRange> ranges;
};

bool ReadPages(const Napi::CallbackInfo& info, Pages* pages) {
  pages->mapping = MappingFrom(info.Env(), info[0]);
  return pages->mapping != nullptr &&
         ReadRanges(info, 1, static_cast<double>(pages->mapping->size()), &pages->ranges);
}

}  // namespace

Napi::Value BringInPages(const Napi::CallbackInfo& info) {
  Pages pages;
  if (!ReadPages(info, &pages)) return info.Env().Undefined();
  return StartWork(info.Env(), "safetensors:prefetch",
                   [pages = std::move(pages)] { return BringIn(*pages.mapping, pages.ranges); });
}

Napi::Value AskForLargeFolios(const Napi::CallbackInfo& info) {
  Pages pages;
  if (!ReadPages(info, &pages)) return info.Env().Undefined();
  return StartWork(info.Env(), "safetensors:prefetch", [pages = std::move(pages)] {
    AskForLargePages(*pages.mapping, pages.ranges);
    return 0;
  });
}

}  // namespace safetensors_mmap
