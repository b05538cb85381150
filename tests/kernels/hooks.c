/* What instrumented code calls and counts with, as hostile as the procedure call standard allows: each call leaves other values in
 * every register that a function may change. Compiled without instrumentation. */
#include <stdint.h>

#define HOOK(name, ...)                                                         \
    void name(__VA_ARGS__);                                                     \
    __attribute__((naked)) void name(__VA_ARGS__)                               \
    {                                                                           \
        __asm__ volatile(".syntax unified\n"                                    \
                         "ldr r0, =0xDEADBEEF\n"                                \
                         "mov r1, r0\n"                                         \
                         "mov r2, r0\n"                                         \
                         "mov r3, r0\n"                                         \
                         "mov r12, r0\n"                                        \
                         "bx lr\n"                                              \
                         ".ltorg\n");                                           \
    }

HOOK(__cyg_profile_func_enter, __attribute__((unused)) void *function, __attribute__((unused)) void *caller)
HOOK(__cyg_profile_func_exit, __attribute__((unused)) void *function, __attribute__((unused)) void *caller)
HOOK(__gcov_init, void)
HOOK(__gcov_exit, void)
HOOK(__gcov_merge_add, void)
HOOK(llvm_gcov_init, void)

uintptr_t __stack_chk_guard = 0x5AFE57ACu;
void __stack_chk_fail(void);
void __stack_chk_fail(void)
{
    __asm__ volatile("udf #1");
}

/* gcc's profiling call: lr was pushed before it, and must be again what it was. */
void __gnu_mcount_nc(void);
__attribute__((naked)) void __gnu_mcount_nc(void)
{
    __asm__ volatile(".syntax unified\n"
                     "mov r12, lr\n"
                     "push {r0}\n"
                     "ldr r0, [sp, #4]\n"
                     "mov lr, r0\n"
                     "pop {r0}\n"
                     "add sp, #4\n"
                     "bx r12\n");
}
