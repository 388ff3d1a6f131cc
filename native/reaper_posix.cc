// Owns: the reaper's thread and queue with POSIX threads. Refuses: C++ threads, whose symbols are newer than the oldest
// systems, and static objects with destructors, which would run at exit while the thread works.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include "reaper.h"

// glibc 2.34 moved this into libc.so under a new version. The old name is there as well, on every system since.
#if defined(__GLIBC__) && defined(__x86_64__)
__asm__(".symver pthread_create, pthread_create@GLIBC_2.2.5");
#elif defined(__GLIBC__) && defined(__aarch64__)
__asm__(".symver pthread_create, pthread_create@GLIBC_2.17");
#endif

namespace safetensors_mmap {
namespace {

// All guarded by `mutex`, which is held for a few instructions, or while a thread is started.
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
Chore* first = nullptr;
Chore* last = nullptr;
bool running = false;
bool pinned = false;

// The end of a worker that alone had loaded this module unloads it, under a thread that runs its code. Linux is told
// never to by the linker (-z nodelete, in addon.gypi); elsewhere it is asked for here. False where it cannot be had.
bool PinModule() {
#if defined(__linux__)
  return true;
#else
  Dl_info module;
  if (dladdr(reinterpret_cast<const void*>(&PinModule), &module) == 0) return false;
  // Never closed: that is the point.
  return dlopen(module.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
#endif
}

}  // namespace

// Called with the mutex held.
bool Reaper::StartThread() {
  pinned = pinned || PinModule();
  if (!pinned) return false;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  // Nobody waits for it: not the end of a worker, nor that of the process.
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // Signals are for Node's own threads. The new thread begins with the mask of this one. sigprocmask is for the calling
  // thread on every system with threads in the kernel, and its symbol is older than pthread_sigmask's.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, Work, nullptr) == 0;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

// Called with the mutex held.
Chore* Reaper::Take() {
  Chore* chore = first;
  if (chore == nullptr) return nullptr;
  first = chore->next_;
  if (first == nullptr) last = nullptr;
  return chore;
}

void* Reaper::Work(void* /*unused*/) {
  for (;;) {
    pthread_mutex_lock(&mutex);
    Chore* chore = Take();
    // Said under the mutex: whoever comes later starts another thread.
    if (chore == nullptr) running = false;
    pthread_mutex_unlock(&mutex);
    if (chore == nullptr) return nullptr;
    chore->Run();
  }
}

bool Reaper::Help() {
  pthread_mutex_lock(&mutex);
  Chore* chore = Take();
  pthread_mutex_unlock(&mutex);
  if (chore == nullptr) return false;
  chore->Run();
  return true;
}

bool Reaper::HandOver(Chore* chore) {
  pthread_mutex_lock(&mutex);
  running = running || StartThread();
  const bool taken = running;
  if (taken) {
    chore->next_ = nullptr;
    (last == nullptr ? first : last->next_) = chore;
    last = chore;
  }
  pthread_mutex_unlock(&mutex);
  return taken;
}

}  // namespace safetensors_mmap
