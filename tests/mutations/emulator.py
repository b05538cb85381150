"""Bugs in what a core waits for its flash: cycles that are forgotten, charged twice, or given to another cause."""

from tests.mutations.mutation import Mutation

_MODEL = ("tests/emulator/test_waits.py", "-k", "plain_one")
_RISCV = "tests/emulator/test_riscv.py"
_CAUSES = ("tests/emulator/test_waits.py", "-k", "by_cause")

EMULATOR: tuple[Mutation, ...] = (
    Mutation(
        "emulator.flash-does-two-reads-at-once",
        "emulator/waits.c",
        "w->port_free = (now > w->port_free ? now : w->port_free) + w->read_cycles;",
        "w->port_free = now + w->read_cycles;",
        "A load does not wait for the prefetch that runs.",
        _MODEL,
    ),
    Mutation(
        "emulator.line-that-is-replaced-keeps-its-reads",
        "emulator/waits.c",
        "line.valid = way < cache->ways ? set[way].valid : 0u;",
        "line.valid = set[way < cache->ways ? way : cache->ways - 1u].valid;",
        "Reads of a line that is no longer there are taken for reads of the new one.",
        _MODEL,
    ),
    Mutation(
        "emulator.line-that-is-used-stays-old",
        "emulator/waits.c",
        "if (way < cache->ways && cache->in_turn != 0u) {",
        "if (way < cache->ways) {",
        "The line that came first makes room, even if it was used last.",
        _MODEL,
    ),
    Mutation(
        "emulator.late-prefetch-is-forgotten",
        "emulator/waits.c",
        "if (stall != 0u) {",
        "if (0) {",
        "A loop that is fetched too late is fetched too late in each turn.",
        ("tests/emulator/test_waits.py", "-k", "came_late"),
    ),
    Mutation(
        "emulator.words-of-a-load-are-one",
        "emulator/waits.c",
        "words = start > address ? (start - address) / 4u : 0u;",
        "words = 0u;",
        "A multiple load waits for the flash while it is busy with its own words.",
        _MODEL,
    ),
    Mutation(
        "emulator.literals-are-data",
        "emulator/hook.c",
        "instruction->index == 0u ? KIBI_LITERAL : KIBI_DATA",
        "instruction->index == 0u ? KIBI_DATA : KIBI_DATA",
        "No cycle is ever waited for a literal.",
        _CAUSES,
    ),
    Mutation(
        "emulator.wait-states-below-their-clock",
        "targets/memory.py",
        "return bisect_left(self.clock_limits_hz, clock_hz)",
        "return bisect_left(self.clock_limits_hz, clock_hz + 1)",
        "At the highest clock of a number of wait states there is one more.",
        ("tests/emulator/test_waits.py", "-k", "depend_on_the_clock"),
    ),
    Mutation(
        "emulator.code-in-ram-waits",
        "emulator/core.py",
        "min(code_end, end) if code_in_ram else FLASH_ADDRESS",
        "FLASH_ADDRESS if code_in_ram else FLASH_ADDRESS",
        "Code that was copied to RAM waits for the flash.",
        ("tests/emulator/test_waits.py", "-k", "code_in_ram"),
    ),
    Mutation(
        "emulator.risc-v-offsets-have-no-sign",
        "emulator/riscv/decode.py",
        "upper = _signed(word >> 20, 12)",
        "upper = word >> 20",
        "A load below its base is taken for one far above it.",
        (_RISCV, "-k", "wide_instructions"),
    ),
    Mutation(
        "emulator.risc-v-frames-are-not-seen",
        "emulator/riscv/decode.py",
        "base == STACK and upper >= 0",
        "base == STACK",
        "No addition to the stack pointer lowers it.",
        (_RISCV, "-k", "lower_the_stack"),
    ),
    Mutation(
        "emulator.risc-v-words-are-at-any-address",
        "emulator/riscv/decode.py",
        "else max(step.align, step.size)",
        "else step.align",
        "Misaligned words pass the guard.",
        (_RISCV, "-k", "misaligned"),
    ),
    Mutation(
        "emulator.risc-v-cores-have-all-extensions",
        "emulator/riscv/decode.py",
        'form.extension == "i" or form.extension in extensions',
        "True",
        "Atomics and floats run on cores that do not have them.",
        (_RISCV, "-k", "extension"),
    ),
    Mutation(
        "emulator.risc-v-stack-is-aligned-to-8",
        "emulator/riscv/architecture.py",
        "stack_alignment=16",
        "stack_alignment=8",
        "A function is called with a stack pointer that its procedure call standard does not allow.",
        (_RISCV, "-k", "beyond_eight"),
    ),
)
