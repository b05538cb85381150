/* The emulator's eyes: called before each instruction that the emulated core executes. It counts, attributes what is counted to
   operators, watches the stack pointer, and stops the core before an access that nobody allowed.

   Unicorn can call a hook for each memory access too, but that takes 60 nanoseconds per access. So a table made ahead of time
   says for each instruction which addresses it will access; reading the registers that it needs takes five. The layout of the
   structures is mirrored in hook.py. What the core waits for its flash is in waits.c. */
#include "waits.h"

#include <stdint.h>

enum { /* what an instruction does */
    LOADS = 1,
    STORES = 2,
    ENTERS = 4,       /* the first instruction of an operator's function */
    RETURNS = 8,      /* where the operator being counted returns to */
    MOVES_STACK = 16, /* may lower the stack pointer */
    CONDITIONAL = 32, /* under Arm's IT instruction; unicorn does not call us where its condition fails, and we count it later */
    REFUSED = 64,     /* undefined, or nothing that a kernel may use */
    PREDICTED = 128,  /* a branch of a core that predicts the last one that it took backward */
    RARE = ENTERS | RETURNS | REFUSED
};

typedef struct {
    uint8_t flags;
    uint8_t base;  /* unicorn's number of the register that the address starts from, or 0 */
    uint8_t index; /* the same for the register that is added, or 0 */
    uint8_t shift; /* of the index */
    int32_t offset;
    uint8_t size;        /* bytes accessed, in one piece */
    uint8_t range;       /* where the last access of this instruction lay: most often the next one does, too */
    uint8_t align;       /* what the address must be a multiple of */
    uint8_t width;       /* bytes of the instruction itself */
    uint8_t cost_next;   /* cycles when the instruction before it in memory was executed before it */
    uint8_t cost_jumped; /* cycles when a branch led here */
    uint16_t label;      /* of the operator whose function starts here */
    uint8_t cost_odd;    /* cycles more when the address of its access is odd */
    uint8_t cost_even;   /* cycles more when it is even, but no multiple of 4 */
} kibi_instruction;

typedef struct {
    uint32_t first; /* an address that may be read … */
    uint32_t end;   /* … and the first one after it that may not */
    uint32_t writable;
} kibi_range;

enum { RUNNING, AT_LIMIT, BAD_READ, BAD_WRITE, MISALIGNED, BAD_INSTRUCTION, OUTSIDE_CODE, UNFORESEEN };

typedef struct {
    uint64_t instructions;
    uint64_t limit; /* set to 0 from outside, it stops the core at the next instruction */
    uint64_t cycles;
    uint64_t label_start;  /* `instructions` when the present label began */
    uint64_t *by_label;    /* instructions of each label … */
    kibi_instruction *code;
    const kibi_range *ranges;
    int (*read_register)(void *engine, int number, void *value);
    int (*stop)(void *engine);
    kibi_waits *waits;
    uint64_t waited; /* cycles of the core that are not in `cycles`, because it waited for the flash */
    uint32_t code_first;
    uint32_t code_count; /* entries of `code`, one per two bytes */
    uint32_t range_count;
    uint32_t next; /* where execution goes on without a branch */
    uint32_t label;
    uint32_t return_address;
    uint32_t return_stack;
    uint32_t lowest_stack;
    uint32_t pending; /* MOVES_STACK and PREDICTED of the instruction before */
    uint32_t verdict;
    uint32_t fault_pc;
    uint32_t fault_address;
    uint32_t fault_size;
    uint32_t foreseen_address; /* for the audit: what the present instruction was found to access */
    uint32_t foreseen_size;
    uint32_t foreseen_store;
    uint32_t stack_register;  /* unicorn's numbers */
    uint32_t return_register; /* ... of what holds the address that a function returns to */
    uint32_t predicted;       /* the address after the branch that is predicted to be taken, or 0 */
} kibi_state;

void kibi_on_instruction(void *engine, uint64_t address, uint32_t size, void *user);
void kibi_on_waiting_instruction(void *engine, uint64_t address, uint32_t size, void *user);
void kibi_on_access(void *engine, int type, uint64_t address, int size, int64_t value, void *user);

/* Two functions are made of one text: a core that waits for nothing pays for no question. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

static uint32_t read_register(kibi_state *s, void *engine, int number)
{
    uint32_t value = 0u;
    (void)s->read_register(engine, number, &value);
    return value;
}

static void stop(kibi_state *s, void *engine, uint32_t verdict, uint32_t pc, uint32_t address, uint32_t size)
{
    if (s->verdict == RUNNING) {
        s->verdict = verdict;
        s->fault_pc = pc;
        s->fault_address = address;
        s->fault_size = size;
    }
    (void)s->stop(engine);
}

static void set_label(kibi_state *s, uint32_t label)
{
    s->by_label[s->label] += s->instructions - s->label_start;
    kibi_give_to_label(s->waits, s->label, s->cycles);
    s->label_start = s->instructions;
    s->label = label;
}

/* The entry of the code table for an address, or null. */
static kibi_instruction *instruction_at(kibi_state *s, uint32_t address)
{
    const uint32_t index = (address - s->code_first) >> 1;
    return index < s->code_count ? &s->code[index] : (kibi_instruction *)0;
}

/* An operator's function begins: what follows is its own until the same stack frame continues after the call. */
static void enter(kibi_state *s, void *engine, uint32_t label)
{
    kibi_instruction *back;
    s->return_address = read_register(s, engine, (int)s->return_register) & ~(uint32_t)1;
    s->return_stack = read_register(s, engine, (int)s->stack_register);
    back = instruction_at(s, s->return_address);
    if (back != 0) {
        back->flags |= RETURNS;
    }
    set_label(s, label);
}

static void leave_if_returned(kibi_state *s, void *engine, uint32_t address, kibi_instruction *instruction)
{
    if (s->label != 0u && address == s->return_address && read_register(s, engine, (int)s->stack_register) >= s->return_stack) {
        instruction->flags &= (uint8_t)~(unsigned)RETURNS;
        set_label(s, 0u);
    }
}

/* Handles an instruction that does not follow the last one, and returns its cycles. Either a branch led to it, which costs a
   refilled pipeline; or the instructions in between were skipped, because their condition failed. A skipped instruction was
   fetched and decoded: it counts as one instruction, and takes one cycle. */
static uint32_t cost_of_arrival(kibi_state *s, const kibi_instruction *instruction, uint32_t address)
{
    uint32_t at = s->next, skipped = 0u;
    while (at < address && skipped < 4u) { /* an IT instruction governs at most four */
        const kibi_instruction *between = instruction_at(s, at);
        if (between == 0 || (between->flags & CONDITIONAL) == 0u) {
            break;
        }
        at += between->width;
        skipped++;
    }
    if (at != address) {
        return instruction->cost_jumped;
    }
    s->instructions += skipped;
    return instruction->cost_next + skipped;
}

/* Settles what the instruction before this one left open: the stack pointer, and its branch. Returns the present cycles. */
static uint32_t settle(kibi_state *s, void *engine, uint32_t address, uint32_t cost)
{
    if ((s->pending & MOVES_STACK) != 0u) {
        const uint32_t stack = read_register(s, engine, (int)s->stack_register);
        s->lowest_stack = stack < s->lowest_stack ? stack : s->lowest_stack;
    }
    if ((s->pending & PREDICTED) != 0u) {
        if (s->predicted == s->next) {
            cost = address == s->next ? cost + 1u : cost - 1u; /* wrong: refilled; right: not refilled */
            s->predicted = address == s->next ? 0u : s->predicted;
        } else if (address < s->next) {
            s->predicted = s->next;
        }
    }
    s->pending = 0u;
    return cost;
}

static int allows(const kibi_range *range, uint32_t address, uint32_t size, uint32_t is_store)
{
    return address >= range->first && address < range->end && size <= range->end - address &&
           (range->writable | (is_store ^ 1u)) != 0u;
}

/* Ranges are sorted and do not touch: only the last one that starts at or before the address can allow the access. */
static int find_range(kibi_state *s, kibi_instruction *instruction, uint32_t address, uint32_t is_store)
{
    uint32_t low = 0u, high = s->range_count;
    while (high - low > 1u) {
        const uint32_t middle = (low + high) / 2u;
        if (s->ranges[middle].first <= address) {
            low = middle;
        } else {
            high = middle;
        }
    }
    instruction->range = (uint8_t)low;
    return allows(&s->ranges[low], address, instruction->size, is_store);
}

ALWAYS_INLINE void check_access(kibi_state *s, void *engine, uint32_t pc, kibi_instruction *instruction, uint32_t has_waits)
{
    const uint32_t is_store = (instruction->flags & STORES) != 0u;
    uint32_t address = (uint32_t)instruction->offset;
    if (instruction->base != 0u) {
        address += read_register(s, engine, instruction->base);
    }
    if (instruction->index != 0u) {
        address += read_register(s, engine, instruction->index) << instruction->shift;
    }
    if ((address & (instruction->align - 1u)) != 0u) {
        stop(s, engine, MISALIGNED, pc, address, instruction->size);
    } else if (!allows(&s->ranges[instruction->range], address, instruction->size, is_store) &&
               !find_range(s, instruction, address, is_store)) {
        stop(s, engine, is_store ? BAD_WRITE : BAD_READ, pc, address, instruction->size);
    }
    if ((address & 3u) != 0u) {
        s->cycles += (address & 1u) != 0u ? instruction->cost_odd : instruction->cost_even;
    }
    s->foreseen_address = address;
    s->foreseen_size = instruction->size;
    s->foreseen_store = is_store;
    if (has_waits != 0u && is_store == 0u) { /* the address of a literal has no register in it */
        const uint32_t cause = instruction->base == 0u && instruction->index == 0u ? KIBI_LITERAL : KIBI_DATA;
        s->waited += kibi_wait_load(s->waits, address, instruction->size, cause, s->cycles + s->waited + 1u);
    }
}

ALWAYS_INLINE void on_instruction(kibi_state *s, void *engine, uint64_t wide_address, uint32_t size, uint32_t has_waits)
{
    const uint32_t address = (uint32_t)wide_address;
    kibi_instruction *instruction = instruction_at(s, address);
    uint32_t cost;
    if (instruction == 0 || s->instructions >= s->limit) {
        stop(s, engine, instruction == 0 ? OUTSIDE_CODE : AT_LIMIT, address, address, size);
        return;
    }
    cost = address == s->next ? instruction->cost_next : cost_of_arrival(s, instruction, address);
    if (s->pending != 0u) {
        cost = settle(s, engine, address, cost);
    }
    s->next = address + size;
    s->foreseen_size = 0u;
    if ((instruction->flags & RARE) != 0u) {
        if ((instruction->flags & REFUSED) != 0u) {
            stop(s, engine, BAD_INSTRUCTION, address, address, size);
            return;
        }
        if ((instruction->flags & RETURNS) != 0u) {
            leave_if_returned(s, engine, address, instruction);
        }
        if ((instruction->flags & ENTERS) != 0u && s->label == 0u) {
            enter(s, engine, instruction->label);
        }
    }
    s->instructions++;
    if (has_waits != 0u) {
        s->waited += kibi_wait_fetch(s->waits, address, size, s->cycles + s->waited);
    }
    if ((instruction->flags & (LOADS | STORES)) != 0u) {
        check_access(s, engine, address, instruction, has_waits);
    }
    s->cycles += cost;
    s->pending = instruction->flags & (MOVES_STACK | PREDICTED);
}

void kibi_on_instruction(void *engine, uint64_t wide_address, uint32_t size, void *user)
{
    on_instruction(user, engine, wide_address, size, 0u);
}

void kibi_on_waiting_instruction(void *engine, uint64_t wide_address, uint32_t size, void *user)
{
    on_instruction(user, engine, wide_address, size, 1u);
}

/* The audit, for tests: unicorn's own report of an access must be within what the table foresaw. A read where a store was
   foreseen is right: the emulated exclusive store compares before it writes. */
void kibi_on_access(void *engine, int type, uint64_t wide_address, int size, int64_t value, void *user)
{
    enum { UNICORN_MEM_WRITE = 17 };
    kibi_state *s = user;
    const uint32_t address = (uint32_t)wide_address;
    const uint32_t is_store = type == UNICORN_MEM_WRITE;
    (void)value;
    if (address < s->foreseen_address || address - s->foreseen_address + (uint32_t)size > s->foreseen_size ||
        is_store > s->foreseen_store) {
        stop(s, engine, UNFORESEEN, s->next, address, (uint32_t)size);
    }
}
