/* Counts what QEMU executes: instructions by operator, those of vectors, the stack pointer, and accesses that nobody allowed.

   QEMU loads this as a plugin and calls it for each piece of code that it translates, and for the events that are asked for there.
   The memory of `kibi_state`, and of what it names by offsets, is shared with the Python side, which reads and writes it while the
   core is halted; plugin.py mirrors the structures. A plugin of QEMU 7 cannot read registers: the table of places says, for each
   instruction that moves the stack pointer, how the stack pointer follows from the instruction or from the address that it accesses. */
#define _DEFAULT_SOURCE
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The part of QEMU's interface that is used; newer versions of QEMU have it, too, under another number. */
#ifndef KIBI_PLUGIN_VERSION
#define KIBI_PLUGIN_VERSION 1
#endif
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint64_t plugin_id;
typedef uint32_t access_info;
typedef void (*on_translation)(plugin_id id, struct qemu_plugin_tb *block);
typedef void (*on_execution)(unsigned int cpu, void *given);
typedef void (*on_access)(unsigned int cpu, access_info info, uint64_t address, void *given);
enum { NO_REGISTERS = 0, READS_AND_WRITES = 3 };

extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, on_translation call);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction, on_execution call, int flags, void *given);
extern void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *instruction, on_access call, int flags, int kinds, void *given);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
extern unsigned int qemu_plugin_mem_size_shift(access_info info);
extern bool qemu_plugin_mem_is_store(access_info info);

#define EXPORTED __attribute__((visibility("default")))
extern int qemu_plugin_version;
int qemu_plugin_install(plugin_id id, const void *info, int count, char **arguments);
EXPORTED int qemu_plugin_version = KIBI_PLUGIN_VERSION;

enum { /* what an instruction does */
    CALLS = 1,     /* branches, and the next instruction is where the function returns to */
    RETURNED = 2,  /* the instruction after such a one */
    ENTERS = 4,    /* the first one of a function */
    MOVES = 8,     /* adds `amount` to the stack pointer */
    PUSHES = 16,   /* the stack pointer is then the lowest address that it accesses */
    POPS = 32,     /* ... the first address after those that it accesses */
    LEAVES = 64,   /* ... `amount` above the address that it accesses */
    BASED = 128,   /* ... and before it, `amount` below the address that it accesses */
    LOSES = 256,   /* writes anything into the stack pointer */
    VECTOR = 512,  /* of Arm's vectors: its accesses are aligned as elements */
    ALIGNED = 1024 /* its accesses are aligned as their size */
};
enum { RUNNING, BAD_READ, BAD_WRITE, MISALIGNED, OUTSIDE_CODE, LOST_STACK, TOO_DEEP };
enum { MOST_CALLS = 64 };

typedef struct {
    uint16_t flags;
    uint16_t label; /* of the operator whose function starts here, or 0 */
    int32_t amount;
} kibi_place;

typedef struct {
    uint32_t first;
    uint32_t end;
    uint32_t writable;
} kibi_range;

typedef struct {
    uint64_t instructions;
    uint64_t vectors;
    uint64_t label_start;
    uint32_t labels_at; /* this and the next two are offsets in the shared memory */
    uint32_t ranges_at;
    uint32_t places_at;
    uint32_t range_count;
    uint32_t first_place; /* the address of the first place; there is one for each two bytes */
    uint32_t place_count;
    uint32_t harness; /* where code that is not the program's begins, which is not counted */
    uint32_t harness_end;
    uint32_t label;
    uint32_t label_calls; /* `calls` when the present label began */
    uint32_t calls;       /* that have not returned */
    uint32_t stack;
    uint32_t lowest_stack;
    uint32_t is_lost; /* the stack pointer is not known */
    uint32_t verdict;
    uint32_t fault_pc;
    uint32_t fault_address;
    uint32_t fault_size;
    uint32_t last_range;
    uint32_t returns[MOST_CALLS];
    uint32_t stacks[MOST_CALLS];
} kibi_state;

static kibi_state *state;
static uint64_t *labels;
static const kibi_range *ranges;
static const kibi_place *places;
static int life;

static void note(uint32_t verdict, uint32_t pc, uint32_t address, uint32_t size)
{
    if (state->verdict == RUNNING) {
        state->verdict = verdict;
        state->fault_pc = pc;
        state->fault_address = address;
        state->fault_size = size;
    }
}

static void *packed(uint32_t value)
{
    return (void *)(uintptr_t)value;
}

static uint32_t unpacked(const void *given)
{
    return (uint32_t)(uintptr_t)given;
}

static const kibi_place *place_of(uint32_t address)
{
    return &places[(address - state->first_place) >> 1];
}

static void set_stack(uint32_t stack)
{
    state->stack = stack;
    state->is_lost = 0u;
    if (stack < state->lowest_stack) {
        state->lowest_stack = stack;
    }
}

static void set_label(uint32_t label)
{
    labels[state->label] += state->instructions - state->label_start;
    state->label_start = state->instructions;
    state->label = label;
    state->label_calls = state->calls;
}

/* The place where the last call returns to: it has returned, because no function of Kibi's calls itself. A call that was skipped,
   because its condition failed, comes here at once. */
static void on_return(unsigned int cpu, void *given)
{
    (void)cpu;
    if (state->calls != 0u && state->returns[state->calls - 1u] == unpacked(given)) {
        state->calls--;
        set_stack(state->stacks[state->calls]);
        if (state->label != 0u && state->calls < state->label_calls) {
            set_label(0u);
        }
    }
}

static void on_entry(unsigned int cpu, void *given)
{
    const uint32_t label = place_of(unpacked(given))->label;
    (void)cpu;
    if (label != 0u && state->label == 0u) {
        set_label(label);
    }
}

/* A call: what is given is the address after it. */
static void on_call(unsigned int cpu, void *given)
{
    (void)cpu;
    if (state->calls == MOST_CALLS) {
        note(TOO_DEEP, unpacked(given), 0u, 0u);
        return;
    }
    state->returns[state->calls] = unpacked(given);
    state->stacks[state->calls] = state->stack;
    state->calls++;
}

static void on_move(unsigned int cpu, void *given)
{
    const int32_t amount = place_of(unpacked(given))->amount;
    (void)cpu;
    if (state->is_lost == 0u) {
        set_stack(state->stack + (uint32_t)amount);
    } else if (amount < 0) {
        note(LOST_STACK, unpacked(given), 0u, 0u);
    }
}

static void on_loss(unsigned int cpu, void *given)
{
    (void)cpu;
    (void)given;
    state->is_lost = 1u;
}

/* Instructions and vectors up to the next one that has an event. */
static void on_count(unsigned int cpu, void *given)
{
    const uint32_t both = unpacked(given);
    (void)cpu;
    state->instructions += both & 0xFFFFu;
    state->vectors += both >> 16;
}

static void on_outside(unsigned int cpu, void *given)
{
    (void)cpu;
    note(OUTSIDE_CODE, unpacked(given), unpacked(given), 0u);
}

static int is_allowed(uint32_t index, uint32_t address, uint32_t size, uint32_t is_store)
{
    const kibi_range *range = &ranges[index];
    return address >= range->first && address < range->end && size <= range->end - address && (range->writable | (is_store ^ 1u)) != 0u;
}

static void check_range(uint32_t pc, uint32_t address, uint32_t size, uint32_t is_store)
{
    uint32_t low = 0u, high = state->range_count;
    if (is_allowed(state->last_range, address, size, is_store)) {
        return;
    }
    while (high - low > 1u) { /* ranges are sorted: only the last one that starts at or before the address can allow it */
        const uint32_t middle = (low + high) / 2u;
        if (ranges[middle].first <= address) {
            low = middle;
        } else {
            high = middle;
        }
    }
    state->last_range = low;
    if (!is_allowed(low, address, size, is_store)) {
        note(is_store != 0u ? BAD_WRITE : BAD_READ, pc, address, size);
    }
}

/* An access of one instruction; one that moves several words comes here with each of them, the lowest first. */
static void on_memory(unsigned int cpu, access_info info, uint64_t wide_address, void *given)
{
    const uint32_t pc = unpacked(given), address = (uint32_t)wide_address, size = 1u << (qemu_plugin_mem_size_shift(info) & 7u);
    const kibi_place *place = place_of(pc);
    (void)cpu;
    if ((place->flags & (VECTOR | ALIGNED)) != 0u && (address & (size - 1u)) != 0u) {
        note(MISALIGNED, pc, address, size);
    }
    check_range(pc, address, size, qemu_plugin_mem_is_store(info) ? 1u : 0u);
    if ((place->flags & PUSHES) != 0u) {
        if (address < state->stack || state->is_lost != 0u) {
            set_stack(address);
        }
    } else if ((place->flags & POPS) != 0u) {
        set_stack(address + size);
    } else if ((place->flags & LEAVES) != 0u) {
        set_stack(address + (uint32_t)place->amount);
    } else if ((place->flags & BASED) != 0u && state->is_lost != 0u) {
        set_stack(address - (uint32_t)place->amount);
    }
}

/* Asks for the events of an instruction, and returns its flags. Events come in the order in which they are asked for. */
static uint32_t watch(struct qemu_plugin_insn *instruction, uint32_t address)
{
    const uint32_t flags = place_of(address)->flags;
    void *given = packed(address);
    if ((flags & RETURNED) != 0u) {
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_return, NO_REGISTERS, given);
    }
    if ((flags & ENTERS) != 0u) {
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_entry, NO_REGISTERS, given);
    }
    if ((flags & CALLS) != 0u) {
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_call, NO_REGISTERS, packed(address + (uint32_t)place_of(address)->amount));
    }
    if ((flags & MOVES) != 0u) {
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_move, NO_REGISTERS, given);
    }
    if ((flags & LOSES) != 0u) {
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_loss, NO_REGISTERS, given);
    }
    qemu_plugin_register_vcpu_mem_cb(instruction, on_memory, NO_REGISTERS, READS_AND_WRITES, given);
    return flags;
}

static void on_block(plugin_id id, struct qemu_plugin_tb *block)
{
    const size_t count = qemu_plugin_tb_n_insns(block);
    struct qemu_plugin_insn *first = NULL;
    uint32_t counted = 0u;
    size_t index;
    (void)id;
    for (index = 0u; index < count; index++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, index);
        const uint32_t address = (uint32_t)qemu_plugin_insn_vaddr(instruction);
        uint32_t flags;
        if (address >= state->harness && address < state->harness_end) {
            continue;
        }
        if ((address - state->first_place) >> 1 >= state->place_count) {
            qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_outside, NO_REGISTERS, packed(address));
            continue;
        }
        flags = place_of(address)->flags;
        if (first != NULL && (flags & (RETURNED | ENTERS)) != 0u) { /* what comes before belongs to another operator */
            qemu_plugin_register_vcpu_insn_exec_cb(first, on_count, NO_REGISTERS, packed(counted));
            first = NULL;
            counted = 0u;
        }
        (void)watch(instruction, address);
        first = first == NULL ? instruction : first;
        counted += 1u + ((flags & VECTOR) != 0u ? 1u << 16 : 0u);
    }
    if (first != NULL) {
        qemu_plugin_register_vcpu_insn_exec_cb(first, on_count, NO_REGISTERS, packed(counted));
    }
}

/* Ends QEMU when the process that started it has ended, however it ended: the other side of the pipe is closed then. */
static void *wait_for_end(void *unused)
{
    char byte;
    (void)unused;
    while (read(life, &byte, 1u) > 0) {
    }
    _exit(0);
}

static int number_after(const char *argument, const char *name, int otherwise)
{
    const size_t length = strlen(name);
    return strncmp(argument, name, length) == 0 ? (int)strtol(argument + length, NULL, 10) : otherwise;
}

EXPORTED int qemu_plugin_install(plugin_id id, const void *info, int count, char **arguments)
{
    int file = -1, number;
    off_t bytes;
    pthread_t thread;
    char *shared;
    (void)info;
    life = -1;
    for (number = 0; number < count; number++) {
        file = number_after(arguments[number], "state=", file);
        life = number_after(arguments[number], "life=", life);
    }
    bytes = lseek(file, 0, SEEK_END);
    if (bytes < (off_t)sizeof(kibi_state) || life < 0) {
        return 1;
    }
    shared = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED || pthread_create(&thread, NULL, wait_for_end, NULL) != 0) {
        return 1;
    }
    state = (kibi_state *)(void *)shared;
    labels = (uint64_t *)(void *)(shared + state->labels_at);
    ranges = (const kibi_range *)(const void *)(shared + state->ranges_at);
    places = (const kibi_place *)(const void *)(shared + state->places_at);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
    return 0;
}
