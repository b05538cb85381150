"""The guard foresees every access: checked against unicorn's own report of each, on all cores and compilers."""

import pytest

from tests.emulator.conftest import EMULATED, Program
from tests.support.amount import share

_EXPECTED = 1056628109

# What compilers make of C: multiple, dual, indexed and unaligned accesses, tables, wide arithmetic, whole structures.
_MIXED = """
typedef struct { int8_t a; int16_t b; int32_t c; int64_t d; int32_t e[5]; } thing;
static thing things[8];
static volatile int32_t spill[4];
const int16_t table[16] = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16};

__attribute__((noinline)) thing copy(thing t, int32_t by) { t.c += by; t.d *= by; t.e[by & 3] -= t.b; return t; }

__attribute__((noinline)) int32_t choose(int32_t n)
{
    switch (n & 15) {
    case 0: return spill[0] + 3; case 1: spill[1]++; return 7; case 2: return spill[2] * 5; case 3: return n * n;
    case 4: spill[3] = n; return n ^ 77; case 5: return n / 3; case 6: spill[0] = n; return n % 7;
    case 7: return 1 << (n & 7);
    case 8: return spill[1] - n; case 9: return table[n & 7]; case 10: return n | 64; default: return -n;
    }
}

int32_t f(uint8_t *bytes, int32_t n, int32_t g, int32_t h, int32_t i)
{
    int32_t sum = g + h + i;
    uint8_t local[40];
    memcpy(local, bytes, sizeof(local));
    memset(bytes + 1, n, 17);
    memmove(bytes + 3, bytes, 11);
    for (int32_t k = 0; k < n; k++) {
        things[k & 7] = copy(things[(k + 1) & 7], k);
        things[k & 7].a = (int8_t)(local[k % 40] + table[k & 15]);
        things[k & 7].d += (int64_t)sum * k;
        sum += choose(k) + things[k & 3].e[k % 5] + (int32_t)(things[k & 7].d >> 3) + things[k & 7].a;
        int32_t word;
        memcpy(&word, bytes + (k & 7), sizeof(word));
        sum ^= word;
    }
    return sum;
}
"""


@pytest.mark.parametrize("level", share(["1", "2", "s"], 2))
@pytest.mark.parametrize("compiler", ["zig", "gcc"])
@pytest.mark.parametrize("name", EMULATED)
def test_compiled_code_accesses_nothing_unforeseen(program: Program, name: str, compiler: str, level: str) -> None:
    """What compilers emit is decoded right, and all cores compute the same."""
    core = program(_MIXED, name, compiler=compiler, level=level, audit=True)
    block = core.allocate("bytes", 64, fill=3)
    call = core.call("f", block, 100, 5, 6, 7, operators={"choose": "C", "copy": "D"})
    assert call.value == _EXPECTED
    assert sum(call.by_operator.values()) == call.instructions


# Every addressing form, around r4 = the middle of a block of 512 bytes and r5 = 8.
_FORMS = (
    "ldr r0, [r4]", "ldr r0, [r4, #124]", "ldrh r0, [r4, #62]", "ldrb r0, [r4, #31]", "str r0, [r4, #4]",
    "strh r0, [r4, #6]", "strb r0, [r4, #7]", "ldr r0, [r4, r5]", "ldrh r0, [r4, r5]", "ldrb r0, [r4, r5]",
    "ldrsh r0, [r4, r5]", "ldrsb r0, [r4, r5]", "str r0, [r4, r5]", "strh r0, [r4, r5]", "strb r0, [r4, r5]",
    "ldr r0, 1f", "ldr r0, [sp, #4]", "str r0, [sp, #4]", "ldmia r4, {r0, r4}", "ldmia r4!, {r0, r1}",
    "stmia r4!, {r0, r1, r2}", "push {r0-r3, lr}", "pop {r0-r3}",
)  # fmt: skip
_WIDE_FORMS = (
    "ldr.w r0, [r4, #4095-3900]", "ldr.w r8, [r4, r5, lsl #3]", "str.w r8, [r4, r5, lsl #2]", "ldr r0, [r4, #-200]",
    "ldr r0, [r4, #16]!", "ldr r0, [r4], #-16", "str r0, [r4, #-16]!", "str r0, [r4], #255", "ldrb.w r9, [r4, #200]",
    "ldrsb.w r9, [r4, #200]", "ldrsh r9, [r4, #-20]", "ldrh.w r9, [r4, r5, lsl #1]", "strb r9, [r4, #-9]",
    "strh.w r9, [r4], #2", "ldrd r0, r1, [r4, #8]", "ldrd r0, r1, [r4, #-8]!", "ldrd r0, r1, [r4], #16",
    "strd r0, r1, [r4, #-80]", "strd r0, r1, [r4], #-8", "ldmdb r4, {r0-r3, r8}", "ldmdb r4!, {r0-r3}",
    "stmdb r4!, {r0-r3, r9}", "stmia.w r4!, {r8, r9, r10}", "ldmia.w r4, {r0, r9}", "ldr.w r0, 1f", "ldrd r0, r1, 1f",
    "ldrex r0, [r4, #8]", "ldrexb r0, [r4]", "ldrexh r0, [r4]", "ldrex r0, [r4]\\n strex r1, r0, [r4]",
    "ldrexb r0, [r4]\\n strexb r1, r0, [r4]", "ldrexh r0, [r4]\\n strexh r1, r0, [r4]", "ldrt r0, [r4, #4]",
    "pld [r4, #40]", "push.w {r0-r8}", "pop.w {r0-r3, r8}", "ldr.w r0, [sp], #4", "str r0, [sp, #-4]!", "clrex",
    "dmb", "dsb", "isb", "movs r1, #1\\n tbb [pc, r1]\\n 2: .byte 1, 1\\n",
    "movs r1, #0\\n tbh [pc, r1, lsl #1]\\n 2: .short 1\\n",
)  # fmt: skip
_FLOAT_FORMS = (
    "vldr s0, [r4, #8]", "vldr d0, [r4, #-8]", "vstr s3, [r4, #40]", "vstr d3, [r4]", "vldmia r4!, {s0-s7}",
    "vldmdb r4!, {d0-d3}", "vstmia r4, {d0-d1}", "vstmdb r4!, {s0-s2}", "vpush {d8-d11}", "vpop {d8-d11}",
    "vldr s0, 1f", "vmov r0, s0", "vmov s0, r0", "vmov r0, r1, d0", "vmov d0, r0, r1", "vadd.f32 s0, s1, s2",
    "vmrs r0, fpscr", "vmsr fpscr, r0", "vsqrt.f32 s0, s1", "vcvt.s32.f32 s0, s1",
)  # fmt: skip


def _forms(forms: tuple[str, ...]) -> str:
    """One function per form; the caller keeps no registers, so each saves the two that lead back alone."""
    return "".join(
        f"__attribute__((naked)) void f{number}(void *block) {{ __asm__ volatile("
        '"mov r7, sp\\n mov r6, lr\\n mov r4, r0\\n movs r5, #8\\n sub sp, #64\\n movs r0, #0\\n"'
        f'"{form}\\n mov sp, r7\\n bx r6\\n .align 2\\n 1: .word 1, 2, 3\\n"); }}\n'
        for number, form in enumerate(forms)
    )


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        ("cortex-m0plus", _FORMS),
        ("cortex-m3", _FORMS + _WIDE_FORMS),
        ("cortex-m4", _FORMS + _WIDE_FORMS + _FLOAT_FORMS),
        ("cortex-m33", _FORMS + _WIDE_FORMS + _FLOAT_FORMS),
    ],
)
def test_each_addressing_form_is_foreseen(program: Program, name: str, forms: tuple[str, ...]) -> None:
    """Each form of load and store accesses what the guard computed from its encoding, no more and elsewhere nothing."""
    entries = tuple(f"f{number}" for number in range(len(forms)))
    core = program(_forms(forms), name, entries=entries, audit=True)
    block = core.allocate("block", 512)
    for entry in entries:
        core.call(entry, block + 256)
