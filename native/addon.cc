// Owns: the table of exported functions. Refuses: everything else.
#include <napi.h>

#include "convert_binding.h"
#include "floats_binding.h"
#include "gather_binding.h"
#include "large_pages_binding.h"
#include "mapping_binding.h"
#include "prefetch_binding.h"
#include "residency_binding.h"
#include "weak_binding.h"
#include "writeback_binding.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SAFETENSORS_MMAP_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SAFETENSORS_MMAP_SANITIZED 1
#endif
#ifndef SAFETENSORS_MMAP_SANITIZED
#define SAFETENSORS_MMAP_SANITIZED 0
#endif

namespace safetensors_mmap {

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports["map"] = Napi::Function::New<MapFile>(env, "map");
  exports["segment"] = Napi::Function::New<CreateSegment>(env, "segment");
  exports["isReadOnly"] = Napi::Function::New<IsReadOnly>(env, "isReadOnly");
  exports["bringIn"] = Napi::Function::New<BringInPages>(env, "bringIn");
  exports["askForLargePages"] = Napi::Function::New<AskForLargeFolios>(env, "askForLargePages");
  exports["residentBytes"] = Napi::Function::New<GetResidentBytes>(env, "residentBytes");
  exports["cachedBytes"] = Napi::Function::New<GetCachedBytes>(env, "cachedBytes");
  exports["evict"] = Napi::Function::New<EvictMapped>(env, "evict");
  exports["isUnwritten"] = Napi::Function::New<GetIsUnwritten>(env, "isUnwritten");
  exports["dropCached"] = Napi::Function::New<DropCachedPages>(env, "dropCached");
  exports["release"] = Napi::Function::New<ReleaseMapping>(env, "release");
  exports["gather"] = Napi::Function::New<GatherFromMapping>(env, "gather");
  exports["convert"] = Napi::Function::New<Convert>(env, "convert");
  exports["convertMapped"] = Napi::Function::New<ConvertMapped>(env, "convertMapped");
  exports["overlaps"] = Napi::Function::New<Overlaps>(env, "overlaps");
  exports["allocateFloats"] = Napi::Function::New<AllocateFloats>(env, "allocateFloats");
  exports["convertInto"] = Napi::Function::New<ConvertInto>(env, "convertInto");
  exports["copyFloats"] = Napi::Function::New<CopyFloats>(env, "copyFloats");
  exports["exposeFloats"] = Napi::Function::New<ExposeFloats>(env, "exposeFloats");
  exports["releaseFloats"] = Napi::Function::New<ReleaseFloats>(env, "releaseFloats");
  exports["liveFloats"] = Napi::Function::New<LiveFloats>(env, "liveFloats");
  exports["useLargePages"] = Napi::Function::New<UseLargePages>(env, "useLargePages");
  exports["kernel"] = Napi::Function::New<GetKernel>(env, "kernel");
  exports["setKernel"] = Napi::Function::New<ForceKernel>(env, "setKernel");
  exports["kernels"] = Napi::Function::New<ListKernels>(env, "kernels");
  exports["startWriteback"] = Napi::Function::New<StartWriteback>(env, "startWriteback");
  exports["detach"] = Napi::Function::New<DetachBuffer>(env, "detach");
  exports["liveMappings"] = Napi::Function::New<LiveMappings>(env, "liveMappings");
  exports["allowsExternalBuffers"] =
      Napi::Function::New<AllowsExternalBuffers>(env, "allowsExternalBuffers");
  exports["weaken"] = Napi::Function::New<WeakenBuffer>(env, "weaken");
  exports["strengthen"] = Napi::Function::New<StrengthenBuffer>(env, "strengthen");
  exports["sanitized"] = Napi::Boolean::New(env, SAFETENSORS_MMAP_SANITIZED != 0);
  return exports;
}

}  // namespace safetensors_mmap

static Napi::Object InitModule(Napi::Env env, Napi::Object exports) {
  return safetensors_mmap::Init(env, exports);
}

NODE_API_MODULE(safetensors_mmap, InitModule)
