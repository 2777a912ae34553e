/* The functions that unwind the stack, for a library that is loaded by a program for musl.
 *
 * LuaJIT raises errors by the unwinder of its process, which asks about our frames by functions of the same unwinder. So each function
 * here jumps to that of the process. A program that has none (Lua 5.1 without libgcc, for example) gets LLVM's, which is linked in
 * under other names: `torch_Unwind_Resume` and so on. The build gives FUNCTIONS, a list of the names: F(Resume) F(GetIP) ... */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

#if defined(__x86_64__)
#define JUMP(slot) "jmpq *" slot "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(slot) "adrp x16, " slot "\nldr x16, [x16, :lo12:" slot "]\nbr x16\n"
#else
#error "there is no jump for this processor"
#endif

#define F(name)                                                                                                                            \
  extern void torch_Unwind_##name(void) __attribute__((visibility("hidden")));                                                             \
  __attribute__((visibility("hidden"))) void *torch_slot_##name = (void *)torch_Unwind_##name;                                             \
  __asm__(".text\n.globl _Unwind_" #name "\n.hidden _Unwind_" #name "\n.type _Unwind_" #name ", %function\n"                                \
          "_Unwind_" #name ":\n" JUMP("torch_slot_" #name));
FUNCTIONS
#undef F

__attribute__((constructor)) static void find(void) {
  void *found[] = {
#define F(name) NULL,
      FUNCTIONS
#undef F
  };
  void **slots[] = {
#define F(name) &torch_slot_##name,
      FUNCTIONS
#undef F
  };
  static const char *const names[] = {
#define F(name) "_Unwind_" #name,
      FUNCTIONS
#undef F
  };
  /* A host may have loaded its Lua for itself only. Then the unwinder is not among the symbols that everybody sees. */
  void *library = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD);
  for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
    found[i] = library != NULL ? dlsym(library, names[i]) : dlsym(RTLD_DEFAULT, names[i]);
    if (found[i] == NULL) /* two unwinders do not understand each other, so it is all of one or all of the other */
      return;
  }
  for (size_t i = 0; i < sizeof found / sizeof *found; i++)
    *slots[i] = found[i];
}
