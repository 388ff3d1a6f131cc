// Owns: one thread for the whole process that does chores handed to it and ends with the last of them.
// Refuses: to know what they are. Thread-safe; there is no state of an environment here, and none is ever destroyed.
#ifndef SAFETENSORS_MMAP_REAPER_H_
#define SAFETENSORS_MMAP_REAPER_H_

namespace safetensors_mmap {

// Work that must not hold up whoever finds it due. It is its own place in the queue, so that handing it over needs no
// memory; it may be handed over again once it has run.
class Chore {
 public:
  // Called on the reaper's thread, or on one that helps. The chore may delete itself.
  virtual void Run() = 0;

 protected:
  Chore() = default;
  ~Chore() = default;

 private:
  friend class Reaper;
  Chore* next_ = nullptr;
};

class Reaper {
 public:
  // Takes a chore over, in order. False where no thread can be had: the chore is the caller's still.
  static bool HandOver(Chore* chore);
  // Runs the chore that has waited longest, on this thread; false when none waits.
  static bool Help();

 private:
  // The reaper's thread, until nothing waits.
  static void* Work(void* unused);
  static Chore* Take();
  static bool StartThread();
};

}  // namespace safetensors_mmap

#endif  // SAFETENSORS_MMAP_REAPER_H_
