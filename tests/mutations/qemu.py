"""Bugs of the second emulator."""

from tests.mutations.mutation import Mutation

_OPERATORS = ("tests/qemu/test_core.py", "-k", "operators_and_stack")
_GUARD = ("tests/qemu/test_core.py", "-k", "counts_guards and cortex-m4")
QEMU = (
    Mutation(
        "qemu.operators-never-end",
        "qemu/plugin.h",
        "state->calls < state->label_calls",
        "state->calls > state->label_calls",
        "What follows an operator counts for it.",
        _OPERATORS,
    ),
    Mutation(
        "qemu.inner-operators-begin",
        "qemu/plugin.h",
        "label != 0u && state->label == 0u",
        "label != 0u",
        "An operator that another one calls takes its instructions.",
        _OPERATORS,
    ),
    Mutation(
        "qemu.writes-are-reads",
        "qemu/plugin.h",
        "qemu_plugin_mem_is_store(info) ? 1u : 0u",
        "qemu_plugin_mem_is_store(info) ? 0u : 0u",
        "Code may write what it may only read.",
        _GUARD,
    ),
    Mutation(
        "qemu.accesses-may-reach-past-the-end",
        "qemu/plugin.h",
        "size <= range->end - address",
        "size != 0u",
        "A word may begin at the last byte of a block.",
        _GUARD,
    ),
    Mutation(
        "qemu.modified-immediates-are-plain",
        "qemu/effects.py",
        "return (value >> turns | value << (32 - turns)) & 0xFFFF_FFFF",
        "return field",
        "Frames of some hundred bytes have another size.",
        _OPERATORS,
    ),
    Mutation(
        "qemu.risc-v-frames-have-no-sixty-four",
        "qemu/effects.py",
        "bits[2] << 6",
        "bits[2] << 5",
        "A compressed ADDI16SP moves the stack pointer by too little.",
        _OPERATORS,
    ),
    Mutation(
        "qemu.faults-have-no-place",
        "qemu/harness.py",
        "fault.place or 0",
        "0",
        "The function that faulted is not named.",
        _GUARD,
    ),
    Mutation(
        "qemu.duplicates-are-no-vectors",
        "qemu/vectors.py",
        "in _VECTOR_COPROCESSORS or is_duplicate",
        "in _VECTOR_COPROCESSORS",
        "VDUP is not counted.",
        ("tests/qemu/test_core.py", "-k", "vector_instructions"),
    ),
)
"""Of counting, and of the guard."""
