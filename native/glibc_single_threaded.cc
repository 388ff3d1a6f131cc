// Owns: a private copy of glibc's "one thread only" flag. Refuses: everything else; Linux only.
//
// libstdc++ asks __libc_single_threaded before each shared_ptr count, and the name is bound to
// glibc 2.32: one inlined test would shut the prebuild out of older systems. A hidden definition
// answers inside the addon. It says false for ever, which means atomic counts, and that is right
// in Node: finalisers and workers share mappings between threads.
#if defined(__GLIBC__) || defined(__linux__)
extern "C" {
extern char __libc_single_threaded __attribute__((visibility("hidden")));
char __libc_single_threaded = 0;
}
#endif
