"""Kernels on an emulated core, called by themselves: each array in a block of its own, so that no byte around it is touched."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from kibi.codegen.library import FEATURE
from kibi.dtypes import Array
from kibi.ir import KernelCall, NodeView
from kibi.kernels import closure
from kibi.kernels.params import Params
from kibi.kernels.params.layout import packed
from kibi.qemu import emulated, why_not_emulated
from kibi.targets import Target
from kibi.targets import target as target_named
from kibi.toolchain import Image, build_image

WIDE_KERNELS = (
    "kibi_conv2d_f32", "kibi_conv2d_s16", "kibi_conv2d_s16_3x3x1", "kibi_conv2d_s16_blocks", "kibi_depthwise_conv2d_f32",
    "kibi_depthwise_conv2d_s16", "kibi_depthwise_conv2d_s16_blocks",
    "kibi_fully_connected_f32", "kibi_fully_connected_f32_accumulate", "kibi_fully_connected_s16",
    "kibi_fully_connected_s16_accumulate", "kibi_log_softmax_s8", "kibi_lstm_f32", "kibi_lstm_s16", "kibi_lstm_s8",
    "kibi_lstm_s8_blocks", "kibi_softmax_s8", "kibi_softmax_s8_s16", "kibi_svdf_f32", "kibi_svdf_s8", "kibi_svdf_s8_s16",
    "kibi_svdf_s8_blocks", "kibi_svdf_s8_s16_blocks",
)  # fmt: skip
"""Kernels of s16 and of floats, with states and of SOFTMAX: in one image, because building several takes longer."""


@dataclass(frozen=True, slots=True)
class Kernels:
    """Kernels of a target, linked."""

    image: Image
    target: Target


@cache
def linked(
    kernels: tuple[str, ...],
    target: str,
    compiler: str,
    level: str,
    features: frozenset[str] | None = None,
    *,
    sets: tuple[str, ...] = (),
) -> Kernels:
    """An image of these kernels with what they need; skips the test where nothing here runs the core.

    Args:
        kernels: their names.
        target: the core.
        compiler: `zig` or `gcc`.
        level: of optimization.
        features: the only parts that they have; None: all.
        sets: of kernels, the first choice first; empty: those of the target.
    """
    processor = target_named(target)
    reason = why_not_emulated(processor)
    if reason:
        pytest.skip(reason)
    texts = {name: text.text for name, text in closure(frozenset(kernels), sets or processor.kernel_sets).items()}
    if features is not None:
        parts = {part for text in texts.values() for part in FEATURE.findall(text)}
        head, guard = texts["kibi.h"].rsplit("#endif", 1)
        defined = "".join(f"#define {part} {int(part in features)}\n" for part in sorted(parts))
        texts["kibi.h"] = f"{head}{defined}#endif{guard}"
    with TemporaryDirectory() as folder:
        for name, text in texts.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        sources = [Path(folder) / name for name in texts if name.endswith(".c")]
        image = build_image(
            sources, processor, entries=kernels, compiler=compiler, level=level, includes=[Path(folder)]
        )
    return Kernels(image, processor)


class Bench:
    """A fresh core with arrays in its memory.

    Args:
        kernels: its program.
        rng: draws the addresses of arrays of bytes, which may lie anywhere.
    """

    def __init__(self, kernels: Kernels, rng: np.random.Generator) -> None:
        self._kernels, self._rng = kernels, rng
        self._core = emulated(kernels.image, kernels.target)

    def place(self, name: str, array: Array, *, writable: bool = False) -> int:
        """The address of a copy of the array."""
        alignment = array.dtype.itemsize
        if alignment == 1:
            self._core.allocate("before", int(self._rng.integers(1, 8)), alignment=1)
        address = self._core.allocate(name, array.nbytes, alignment=alignment, writable=writable)
        self._core.write(address, array.tobytes())
        return address

    def params(self, call: KernelCall) -> int:
        """The address of the call's struct, as a 32-bit core lays it out."""
        params = call.params_as(Params)
        pointers = {name: self.place(name, data) for name, data in params.constants.items()}
        return self.place("params", np.frombuffer(packed(params, pointers), np.uint32))

    def scratch(self, size_bytes: int) -> int:
        """The address of scratch, aligned as words and no more."""
        return self.place("scratch", np.full(-(-size_bytes // 4), 0x5A5A5A5A, np.int32), writable=True)

    def call(self, kernel: str, *operands: int) -> int:
        """Call a kernel; returns the instructions that it took.

        Raises:
            EmulationError: it touched something that is not its own, or an address it may not.
        """
        return self._core.call(kernel, *operands).instructions

    def rows(self, pointers: Sequence[int]) -> int:
        """The address of the pointers to rows."""
        return self.place("rows", np.array(pointers, np.uint32))

    def write_rows(self, address: int, pointers: Sequence[int]) -> None:
        """Other pointers in the same place."""
        self._core.write(address, struct.pack(f"<{len(pointers)}I", *pointers))

    def write(self, address: int, array: Array) -> None:
        """Elements to a place in a block."""
        self._core.write(address, array.tobytes())

    def read(self, address: int, size_bytes: int) -> Array:
        """Elements of s8."""
        return np.frombuffer(self._core.read(address, size_bytes), np.int8)


def run(
    kernels: Kernels,
    view: NodeView,
    inputs: Sequence[Array],
    rng: np.random.Generator,
    variant: KernelCall | None = None,
) -> Array:
    """The whole output of a node, step by step.

    Args:
        kernels: with the node's kernel.
        view: the node.
        inputs: its row inputs, whole.
        rng: draws addresses.
        variant: what stands for the general call.
    """
    call, bench, accesses = variant or view.op.kernel_call(view), Bench(kernels, rng), view.op.accesses(view)
    params, scratch = bench.params(call), bench.scratch(call.scratch_bytes)
    sources = [bench.place("input", array) for array in inputs]
    constants = [
        0 if access.fill is None else bench.place("fill", np.full(tensor.type.row_bytes, access.fill, np.int8))
        for tensor, access in zip(view.row_tensors, accesses, strict=True)
    ]
    made = view.output.type
    output = bench.place("output", np.zeros(made.elements, made.dtype.numpy), writable=True)
    rows = bench.rows([0] * sum(len(access.positions(0)) for access in accesses))
    for step in range(view.steps):
        pointers: list[int] = []
        for tensor, access, source, constant in zip(view.row_tensors, accesses, sources, constants, strict=True):
            part = tensor.type.row_bytes // access.parts
            pointers += [constant if at is None else source + at * part for at in access.positions(step)]
        bench.write_rows(rows, pointers)
        to = output if call.takes_step else output + view.made_rows(step)[0] * view.output.type.row_bytes
        bench.call(call.kernel, to, rows, params, scratch, *((step,) if call.takes_step else ()))
    return bench.read(output, made.size_bytes).view(made.dtype.numpy).reshape(made.shape)
