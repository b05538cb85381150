/* The first function of a program for Linux. It does what requests on standard input ask for, until that ends: memory is mapped,
   read and written, and functions are called, each on a stack of its own that says how deep it was used. There is no C library.

   A request is eight words of 64 bits: what to do, and its arguments; a reply is two. See linux.py. */
#include <stddef.h>
#include <stdint.h>

enum { MAP = 1, READ = 2, WRITE = 3, CALL = 4 };
enum { REQUEST_WORDS = 8, ARGUMENTS = 4, PAINT = 0xC5 };
enum { NO_ACCESS = 0, READ_WRITE = 3, PRIVATE_ANONYMOUS = 0x22 }; /* PROT_…, MAP_… */

void kibi_start(void);
void kibi_serve(void);
uintptr_t kibi_call_on(uintptr_t stack, uintptr_t function, const uintptr_t *arguments);
void kibi_returned(void);

/* For each architecture: the numbers of system calls; a system call; the first instructions of the program; and
   `kibi_call_on(stack, function, arguments)`, which calls a function with four arguments on a stack that ends at an address. The
   function returns to `kibi_returned`. `kibi_call_on` is in one page, as counter.c wants the call before that to be. */
#if defined(__aarch64__)
enum { SYS_READ = 63, SYS_WRITE = 64, SYS_EXIT = 93, SYS_PROTECT = 226, SYS_MAP = 222 };

static intptr_t system_call(intptr_t number, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
    register intptr_t x8 __asm__("x8") = number;
    register uintptr_t x0 __asm__("x0") = a;
    register uintptr_t x1 __asm__("x1") = b;
    register uintptr_t x2 __asm__("x2") = c;
    register uintptr_t x3 __asm__("x3") = d;
    register intptr_t x4 __asm__("x4") = -1; /* no file */
    register uintptr_t x5 __asm__("x5") = 0;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return (intptr_t)x0;
}

__asm__(".text\n.globl kibi_start\n.type kibi_start, %function\nkibi_start:\n"
        "mov x29, xzr\n"
        "bl kibi_serve\n"
        "brk #1\n"
        ".size kibi_start, . - kibi_start\n"
        ".balign 128\n.globl kibi_call_on\n.type kibi_call_on, %function\nkibi_call_on:\n"
        "stp x29, x30, [sp, #-32]!\n"
        "str x19, [sp, #16]\n"
        "mov x19, sp\n"
        "mov sp, x0\n"
        "mov x9, x1\n"
        "mov x10, x2\n"
        "ldp x0, x1, [x10]\n"
        "ldp x2, x3, [x10, #16]\n"
        "blr x9\n"
        ".globl kibi_returned\nkibi_returned:\n"
        "mov sp, x19\n"
        "ldr x19, [sp, #16]\n"
        "ldp x29, x30, [sp], #32\n"
        "ret\n"
        ".size kibi_call_on, . - kibi_call_on\n");
#elif defined(__arm__)
enum { SYS_READ = 3, SYS_WRITE = 4, SYS_EXIT = 1, SYS_PROTECT = 125, SYS_MAP = 192 };

static intptr_t system_call(intptr_t number, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
    register intptr_t r7 __asm__("r7") = number;
    register uintptr_t r0 __asm__("r0") = a;
    register uintptr_t r1 __asm__("r1") = b;
    register uintptr_t r2 __asm__("r2") = c;
    register uintptr_t r3 __asm__("r3") = d;
    register intptr_t r4 __asm__("r4") = -1; /* no file */
    register uintptr_t r5 __asm__("r5") = 0;
    __asm__ volatile("svc #0" : "+r"(r0) : "r"(r7), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5) : "memory");
    return (intptr_t)r0;
}

__asm__(".text\n.arm\n.balign 4\n.globl kibi_start\n.type kibi_start, %function\nkibi_start:\n"
        "mov r11, #0\n"
        "bic sp, sp, #7\n"
        "bl kibi_serve\n"
        "udf #1\n"
        ".size kibi_start, . - kibi_start\n"
        ".balign 128\n.globl kibi_call_on\n.type kibi_call_on, %function\nkibi_call_on:\n"
        "push {r4, lr}\n"
        "mov r4, sp\n"
        "mov sp, r0\n"
        "mov r12, r1\n"
        "ldm r2, {r0, r1, r2, r3}\n"
        "blx r12\n"
        ".globl kibi_returned\nkibi_returned:\n"
        "mov sp, r4\n"
        "pop {r4, pc}\n"
        ".size kibi_call_on, . - kibi_call_on\n");
#elif defined(__x86_64__)
enum { SYS_READ = 0, SYS_WRITE = 1, SYS_EXIT = 60, SYS_PROTECT = 10, SYS_MAP = 9 };

static intptr_t system_call(intptr_t number, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
    register uintptr_t r10 __asm__("r10") = d;
    register intptr_t r8 __asm__("r8") = -1; /* no file */
    register uintptr_t r9 __asm__("r9") = 0;
    intptr_t result = number;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

__asm__(".text\n.globl kibi_start\n.type kibi_start, @function\nkibi_start:\n"
        "xor %ebp, %ebp\n"
        "and $-16, %rsp\n"
        "call kibi_serve\n"
        "ud2\n"
        ".size kibi_start, . - kibi_start\n"
        ".balign 128\n.globl kibi_call_on\n.type kibi_call_on, @function\nkibi_call_on:\n"
        "push %rbp\n"
        "mov %rsp, %rbp\n"
        "mov %rdi, %rsp\n"
        "mov %rsi, %rax\n"
        "mov %rdx, %r10\n"
        "mov (%r10), %rdi\n"
        "mov 8(%r10), %rsi\n"
        "mov 16(%r10), %rdx\n"
        "mov 24(%r10), %rcx\n"
        "call *%rax\n"
        ".globl kibi_returned\nkibi_returned:\n"
        "mov %rbp, %rsp\n"
        "pop %rbp\n"
        "ret\n"
        ".size kibi_call_on, . - kibi_call_on\n");
#elif defined(__riscv) && __riscv_xlen == 64
enum { SYS_READ = 63, SYS_WRITE = 64, SYS_EXIT = 93, SYS_PROTECT = 226, SYS_MAP = 222 };

static intptr_t system_call(intptr_t number, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
    register intptr_t a7 __asm__("a7") = number;
    register uintptr_t a0 __asm__("a0") = a;
    register uintptr_t a1 __asm__("a1") = b;
    register uintptr_t a2 __asm__("a2") = c;
    register uintptr_t a3 __asm__("a3") = d;
    register intptr_t a4 __asm__("a4") = -1; /* no file */
    register uintptr_t a5 __asm__("a5") = 0;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5) : "memory");
    return (intptr_t)a0;
}

__asm__(".text\n.globl kibi_start\n.type kibi_start, %function\nkibi_start:\n"
        "call kibi_serve\n"
        "ebreak\n"
        ".size kibi_start, . - kibi_start\n"
        ".balign 128\n.globl kibi_call_on\n.type kibi_call_on, %function\nkibi_call_on:\n"
        "addi sp, sp, -16\n"
        "sd ra, 8(sp)\n"
        "sd s0, 0(sp)\n"
        "mv s0, sp\n"
        "mv sp, a0\n"
        "mv t0, a1\n"
        "mv t1, a2\n"
        "ld a0, 0(t1)\n"
        "ld a1, 8(t1)\n"
        "ld a2, 16(t1)\n"
        "ld a3, 24(t1)\n"
        "jalr t0\n"
        ".globl kibi_returned\nkibi_returned:\n"
        "mv sp, s0\n"
        "ld ra, 8(sp)\n"
        "ld s0, 0(sp)\n"
        "addi sp, sp, 16\n"
        "ret\n"
        ".size kibi_call_on, . - kibi_call_on\n");
#else
#error "The server has no system calls for this architecture."
#endif

static void end(uintptr_t status)
{
    for (;;) {
        (void)system_call(SYS_EXIT, status, 0, 0, 0);
    }
}

static void transfer(intptr_t number, uintptr_t file, uintptr_t place, uintptr_t size)
{
    while (size > 0u) {
        const intptr_t done = system_call(number, file, place, size, 0);
        if (done <= 0) {
            end(done == 0 ? 0u : 1u);
        }
        place += (uintptr_t)done;
        size -= (uintptr_t)done;
    }
}

/* Maps memory with `guard` bytes before and after it that cannot be accessed; all are whole pages. 0 if there is none. */
static uintptr_t map(uintptr_t size, uintptr_t guard)
{
    const intptr_t place = system_call(SYS_MAP, 0, size + 2u * guard, NO_ACCESS, PRIVATE_ANONYMOUS);
    if (place < 0 && place > -4096) {
        return 0u;
    }
    const uintptr_t first = (uintptr_t)place + guard;
    return system_call(SYS_PROTECT, first, size, READ_WRITE, 0) == 0 ? first : 0u;
}

/* Calls a function on a stack of whole words, and returns the bytes from the lowest one that was written to the end in `used`. */
static uintptr_t call(uintptr_t function, uintptr_t stack, uintptr_t size, const uintptr_t *arguments, uint64_t *used)
{
    volatile uintptr_t *const words = (volatile uintptr_t *)stack;
    volatile uint8_t *const bytes = (volatile uint8_t *)stack;
    const uintptr_t paint = UINTPTR_MAX / 255u * PAINT;
    uintptr_t at = 0;
    for (uintptr_t i = 0; i < size / sizeof paint; ++i) {
        words[i] = paint;
    }
    const uintptr_t value = kibi_call_on(stack + size, function, arguments);
    while (at < size && words[at / sizeof paint] == paint) {
        at += sizeof paint;
    }
    while (at < size && bytes[at] == PAINT) {
        ++at;
    }
    *used = size - at;
    return value;
}

void kibi_serve(void)
{
    for (;;) {
        uint64_t request[REQUEST_WORDS];
        uint64_t reply[2] = {0, 0};
        transfer(SYS_READ, 0, (uintptr_t)request, sizeof request);
        const uintptr_t first = (uintptr_t)request[1];
        const uintptr_t second = (uintptr_t)request[2];
        if (request[0] == MAP) {
            reply[0] = map(first, second);
        } else if (request[0] == CALL) {
            uintptr_t arguments[ARGUMENTS];
            for (unsigned i = 0; i < ARGUMENTS; ++i) {
                arguments[i] = (uintptr_t)request[4 + i];
            }
            reply[0] = call(first, second, (uintptr_t)request[3], arguments, &reply[1]);
        } else if (request[0] == WRITE) {
            transfer(SYS_READ, 0, first, second);
        }
        transfer(SYS_WRITE, 1, (uintptr_t)reply, sizeof reply);
        if (request[0] == READ) {
            transfer(SYS_WRITE, 1, first, second);
        }
    }
}
