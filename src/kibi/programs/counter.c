/* A plugin of QEMU: counts the instructions of each call of the server, and those of each operator.

   It reads the file of its argument `table` once, words of 64 bits: the address of `kibi_returned`, before which is the instruction
   that calls, and the numbers of two pipes. Before each call it reads from the first pipe the most instructions that the call may
   take, the number of pairs that follow, and these: the address of an operator's function, and its label's number, from 1. No pairs:
   as before. After each call it writes to the second pipe how many instructions ran, or UINT64_MAX where the limit was reached, and
   those of each of the labels from 0 to the highest one.

   QEMU translates code in blocks that end where a branch may be. A block that begins runs to its end. QEMU may tell of a last
   instruction that is not in the block, because it crosses into another page: so the last one is counted when it runs. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* What QEMU offers to plugins: the few functions that are used here. */
typedef struct qemu_plugin_tb block_of_qemu;
typedef struct qemu_plugin_insn instruction_of_qemu;
extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*on_block)(uint64_t id, block_of_qemu *block));
extern void qemu_plugin_register_vcpu_tb_exec_cb(block_of_qemu *block, void (*on_run)(unsigned core, void *data), int flags,
                                                 void *data);
extern void qemu_plugin_register_vcpu_insn_exec_cb(instruction_of_qemu *instruction, void (*on_run)(unsigned core, void *data),
                                                   int flags, void *data);
extern size_t qemu_plugin_tb_n_insns(const block_of_qemu *block);
extern uint64_t qemu_plugin_tb_vaddr(const block_of_qemu *block);
extern instruction_of_qemu *qemu_plugin_tb_get_insn(const block_of_qemu *block, size_t index);
extern uint64_t qemu_plugin_insn_vaddr(const instruction_of_qemu *instruction);
extern size_t qemu_plugin_insn_size(const instruction_of_qemu *instruction);

enum { MOST_LABELS = 4096 };

typedef struct counted_block {
    uint64_t first;
    uint64_t after;
    uint64_t instructions; /* before the last one */
    uint32_t label;        /* of the operator whose function begins here; 0: none does */
    struct counted_block *next;
} counted_block;

extern int qemu_plugin_version;
int qemu_plugin_version = KIBI_PLUGIN_VERSION;
extern int qemu_plugin_install(uint64_t id, const void *info, int count, char **arguments);

static counted_block *all_blocks;
static uint64_t end, requests, replies;
static uint64_t counts[1 + MOST_LABELS]; /* all instructions, then those of each label */
static uint64_t limit;
static uint64_t return_address; /* of the operator that runs */
static uint64_t last_end;       /* the address after the block that ran last */
static uint32_t label;
static uint32_t highest_label;
static int is_counting;
static uint64_t (*pairs)[2];
static uint64_t pair_count;

static void receive(int file, void *place, size_t size)
{
    char *to = place;
    while (size > 0u) {
        const ssize_t done = read(file, to, size);
        if (done <= 0) {
            _exit(1);
        }
        to += done;
        size -= (size_t)done;
    }
}

static void report(void)
{
    const char *from = (const char *)counts;
    size_t left = (2u + highest_label) * sizeof counts[0];
    while (left > 0u) {
        const ssize_t done = write((int)replies, from, left);
        if (done <= 0) {
            _exit(1);
        }
        from += done;
        left -= (size_t)done;
    }
}

static uint32_t label_at(uint64_t address)
{
    for (uint64_t i = 0; i < pair_count; ++i) {
        if (pairs[i][0] == address) {
            return (uint32_t)pairs[i][1];
        }
    }
    return 0u;
}

static void begin_call(void)
{
    uint64_t head[2];
    receive((int)requests, head, sizeof head);
    limit = head[0];
    if (head[1] > 0u) {
        pair_count = head[1];
        free(pairs);
        pairs = malloc((size_t)pair_count * sizeof *pairs);
        if (pairs == NULL) {
            _exit(1);
        }
        receive((int)requests, pairs, (size_t)pair_count * sizeof *pairs);
        highest_label = 0;
        for (uint64_t i = 0; i < pair_count; ++i) {
            if (pairs[i][1] >= MOST_LABELS) {
                _exit(1);
            }
            highest_label = pairs[i][1] > highest_label ? (uint32_t)pairs[i][1] : highest_label;
        }
        for (counted_block *each = all_blocks; each != NULL; each = each->next) {
            each->label = label_at(each->first);
        }
    }
    for (uint32_t i = 0; i < 2u + highest_label; ++i) {
        counts[i] = 0;
    }
    label = 0;
    is_counting = 1;
}

static void on_run(unsigned core, void *data)
{
    const counted_block *const block = data;
    (void)core;
    if (is_counting && block->first == end) {
        is_counting = 0;
        report();
    }
    if (is_counting) {
        if (label != 0u && block->first == return_address) {
            label = 0;
        }
        if (label == 0u && block->label != 0u) {
            label = block->label;
            return_address = last_end;
        }
        counts[0] += block->instructions;
        counts[1u + label] += block->instructions;
        if (counts[0] > limit) {
            counts[0] = UINT64_MAX;
            report();
            _exit(1);
        }
    }
    if (block->after == end) {
        begin_call();
    }
    last_end = block->after;
}

static void on_last(unsigned core, void *data)
{
    (void)core;
    (void)data;
    if (is_counting) {
        ++counts[0];
        ++counts[1u + label];
    }
}

static void on_block(uint64_t id, block_of_qemu *block)
{
    const size_t count = qemu_plugin_tb_n_insns(block);
    instruction_of_qemu *const last = qemu_plugin_tb_get_insn(block, count - 1u);
    counted_block *const made = malloc(sizeof *made);
    (void)id;
    if (made == NULL) {
        _exit(1);
    }
    made->first = qemu_plugin_tb_vaddr(block);
    made->after = qemu_plugin_insn_vaddr(last) + qemu_plugin_insn_size(last);
    made->instructions = count - 1u;
    made->label = label_at(made->first);
    made->next = all_blocks;
    all_blocks = made;
    qemu_plugin_register_vcpu_tb_exec_cb(block, on_run, 0, made);
    if (made->after != end) { /* which is not counted, but begins to count */
        qemu_plugin_register_vcpu_insn_exec_cb(last, on_last, 0, NULL);
    }
}

int qemu_plugin_install(uint64_t id, const void *info, int count, char **arguments)
{
    uint64_t table[3];
    (void)info;
    if (count != 1) {
        return 1;
    }
    const char *path = arguments[0];
    while (*path != '=' && *path != '\0') {
        ++path;
    }
    const int file = *path == '=' ? open(path + 1, O_RDONLY) : -1;
    if (file < 0) {
        return 1;
    }
    receive(file, table, sizeof table);
    (void)close(file);
    end = table[0];
    requests = table[1];
    replies = table[2];
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
    return 0;
}
