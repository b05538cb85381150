"""A recorded program of operators that have kernels or steps of their own by hand gives Python's bits on emulated cores."""

from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi import ops
from kibi.dtypes import DType
from kibi.eager import record
from kibi.eager.context import Context
from kibi.eager.normalization import batch_norm
from kibi.eager.operators import bind
from kibi.eager.pools import min_pool2d
from kibi.eager.tensors import BufferTensor, RamTensor, RomTensor
from kibi.emulator import Core
from kibi.ir import Quantization, TensorType
from kibi.targets import target
from kibi.toolchain import build_image

_RUN = """
#include "kibi_eager.h"
#include "reduced.h"
kibi_status run(uint8_t *ram, uint8_t *metadata, const int8_t *image, float *floats, int8_t *bytes);
kibi_status run(uint8_t *ram, uint8_t *metadata, const int8_t *image, float *floats, int8_t *bytes)
{
    kibi_block blocks[2][8];
    const kibi_arena_memory memory = {ram, 2048, blocks[0], 8, 8};
    const kibi_arena_memory other = {metadata, 2048, blocks[1], 8, 8};
    kibi_arena arenas[2];
    const kibi_context context = {&arenas[1], &arenas[0], NULL};
    kibi_status status = kibi_handle_arena_init(&arenas[0], &memory, NULL);
    if (status == KIBI_OK) {
        status = kibi_handle_arena_init(&arenas[1], &other, NULL);
    }
    return status == KIBI_OK ? reduced(&context, image, bytes, floats) : status;
}
"""
_S8 = Quantization((0.05,), (-3,))


def _axes(*axes: int) -> RomTensor:
    return RomTensor(TensorType((len(axes),), DType.S32), np.array(axes, np.int32), name="axes")


def _program(image: np.ndarray, floats: np.ndarray, small: np.ndarray) -> None:
    """Pictures reduced, multiplied and normalized: `image` `[6, 6, 4]` int8, `floats` `[3]` and `small` `[3, 3]`, written."""
    source = BufferTensor(TensorType((1, 6, 6, 4), DType.S8, _S8), image, name="image")
    least = RamTensor(TensorType((1, 3, 3, 4), DType.S8, _S8), name="least")
    min_pool2d(least, source, kernel=(2, 2), stride=(2, 2))
    mean = RamTensor(TensorType((3, 4), DType.S8, Quantization((0.03,), (5,))), name="mean")
    bind(ops.Mean(), input=least, axes=_axes(0, 1), output=mean).eval()
    root = RamTensor(TensorType((3, 4), DType.S8, Quantization((0.02,), (-128,))), name="root")
    bind(ops.Rsqrt(), input=mean, output=root).eval()
    weights = RomTensor(
        TensorType((4, 3), DType.S8, Quantization((0.1,), (1,))), np.arange(-6, 6, dtype=np.int8).reshape(4, 3)
    )
    product = RamTensor(TensorType((3, 3), DType.S8, Quantization((0.04,), (2,))), name="product")
    bind(ops.BatchMatmul(), input1=root, input2=weights, output=product).eval()
    bind(ops.Reshape(), input=product, output=BufferTensor(product.type, small, name="small")).eval()
    real, each = RamTensor(TensorType((3, 3), DType.F32), name="real"), TensorType((3,), DType.F32)
    bind(ops.Dequantize(), input=product, output=real).eval()
    bind(ops.Sin(), input=real, output=real).eval()
    numbers = (
        RomTensor(each, np.array(three, np.float32)) for three in ((0.1, 0.2, 0.3), (1, 2, 3), (3, 2, 1), (0, 1, 7))
    )
    batch_norm(real, real, *numbers, epsilon=0.01)
    bind(ops.Sum(), input=real, axes=_axes(0), output=BufferTensor(each, floats, name="floats")).eval()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "compiler"), [("cortex-m4", "zig"), pytest.param("cortex-m0plus", "zig", marks=pytest.mark.slow)]
)
def test_recorded_program_gives_pythons_bits(name: str, compiler: str, tmp_path: Path) -> None:
    """Reductions, roots, products, sines and batch normalization, with floats in hardware and in software."""
    image = np.random.default_rng(1).integers(0, 128, 144).astype(np.int8)
    floats, small = np.zeros(3, np.float32), np.zeros(9, np.int8)
    with Context(ram=2048), record("reduced") as program:
        _program(image, floats, small)
    kibi.compile_eager(tmp_path, program=program)
    (tmp_path / "run.c").write_text(_RUN, encoding="utf-8")
    sources = [path for path in sorted(tmp_path.rglob("*.c")) if path.name != "example_main.c"]
    core_target = target(name)
    core = Core(build_image(sources, core_target, entries=["run"], compiler=compiler, includes=[tmp_path]), core_target)
    ram, metadata, made, bytes_made = (
        core.allocate(each, size, alignment=8)
        for each, size in (("ram", 2048), ("metadata", 2048), ("floats", 12), ("small", 9))
    )
    given = core.allocate("image", 144, writable=False)
    core.write(given, image.tobytes())
    assert core.call("run", ram, metadata, given, made, bytes_made).value == 0
    assert core.read(bytes_made, 9) == small.tobytes()
    assert core.read(made, 12) == floats.tobytes()
    assert len(set(small.tolist())) > 3
    assert np.isfinite(floats).all()
