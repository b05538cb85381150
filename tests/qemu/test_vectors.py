"""Which instructions are of vectors: as binutils' disassembler says, on code that a compiler made."""

import re
import subprocess
from pathlib import Path

from kibi.qemu.vectors import is_vector
from kibi.targets import target
from kibi.toolchain import compile_objects
from tests.toolchain.tools import check_cross

_TEXT = """
#include <arm_mve.h>
float floats(const float *a, const float *b, int n);
float floats(const float *a, const float *b, int n)
{
    float32x4_t s = vdupq_n_f32(0.0f);
    for (int i = 0; i < n; i += 4) {
        s = vfmaq_f32(s, vld1q_f32(a + i), vld1q_f32(b + i));
        s = vaddq_f32(vmaxnmq_f32(s, vld1q_f32(b)), vmulq_n_f32(s, a[0]));
    }
    return vgetq_lane_f32(s, 0) + vgetq_lane_f32(s, 1) * 2.0f / vgetq_lane_f32(s, 2) - (float)(double)n * 0.3f;
}
void halves(int16_t *to, const int16_t *from, int n);
void halves(int16_t *to, const int16_t *from, int n)
{
    for (int i = 0; i < n; i += 8) {
        int16x8_t v = vqrdmulhq_s16(vldrhq_s16(from + i), vldrhq_s16(from + i));
        v = vqaddq_s16(vmaxq_s16(v, vdupq_n_s16(3)), v);
        v = vabsq_s16(veorq_s16(vrshrq_n_s16(vshlq_n_s16(v, 2), 1), vornq_s16(v, vdupq_n_s16((int16_t)n))));
        vst1q_s16(to + i, vhaddq_s16(v, v));
    }
}
int32_t bytes(const int8_t *from, uint32_t n);
int32_t bytes(const int8_t *from, uint32_t n)
{
    const int8x16x2_t v = vld2q_s8(from);
    const int8x16x4_t w = vld4q_s8(from);
    const mve_pred16_t p = vctp8q(n);
    return vaddvq_s8(vaddq_s8(v.val[0], w.val[3])) + vmladavaq_p_s8(3, v.val[1], vldrbq_z_s8(from, p), p);
}
void words(int32_t *to, const int32_t *from);
void words(int32_t *to, const int32_t *from)
{
    int32x4_t v = vldrwq_gather_shifted_offset_s32(from, vidupq_n_u32(0, 1));
    v = vcvtq_s32_f32(vcvtq_f32_s32(vmlaq_n_s32(v, v, from[0])));
    const mve_pred16_t p = vcmpgtq_n_s32(v, 3);
    v = vmvnq_s32(vmulq_s32(vpselq_s32(v, vdupq_n_s32(9), p), v));
    vstrwq_scatter_offset_s32(to, vdupq_n_u32(4), v);
    vst1q_s16((int16_t *)to, vqmovnbq_s32(vmovntq_s32(vdupq_n_s16(0), v), v));
    to[2] = (int32_t)vmlaldavq_s32(v, v);
    vstrwq_p_s32(to + 4, vcaddq_rot90_s32(vclsq_s32(vrev64q_s32(v)), v), p);
}
"""
_LINE = re.compile(r"\s+[0-9a-f]+:\s+([0-9a-f]{4}) ([0-9a-f]{4})\s+(\S+)\s*(.*)")
_LANE = re.compile(r"vmov\.\w+\s+(r\d+|\w+), q\d\[|vmov\.\w+\s+q\d\[\d+\], \w+$")


def test_vector_instructions_are_those_of_the_disassembler(tmp_path: Path) -> None:
    """Every instruction of 32 bits: of vectors is what names a register q, and VPST; moves of one lane are not."""
    check_cross()
    source = tmp_path / "vectors.c"
    source.write_text(_TEXT, encoding="utf-8")
    (made,) = compile_objects([source], target("cortex-m55"), level="2")
    command = ["arm-none-eabi-objdump", "-d", "-m", "armv8.1-m.main", str(made)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names: dict[bool, set[str]] = {True: set(), False: set()}
    for line in text.splitlines():
        if found := _LINE.match(line):
            name, operands = found[3], found[4].partition("@")[0]
            is_lane = _LANE.fullmatch(f"{name} {operands.strip()}") is not None
            wanted = name.startswith("v") and not is_lane and ("q" in operands or name.startswith("vps"))
            assert is_vector(int(found[1], 16), int(found[2], 16)) == wanted, line
            names[wanted].add(name.partition(".")[0])
    assert len(names[True]) > 30
    assert {"vdiv", "vctp"} <= names[False]
