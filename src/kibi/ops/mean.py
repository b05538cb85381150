"""MEAN."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import Accumulation, KernelCall, Operator, OperatorError, Param, RowAccess, Rows, Site
from kibi.ops import checks
from kibi.ops.registry import register
from kibi.quant import Multiplier, requantize, wrap_s32


@dataclass(frozen=True, slots=True)
class Mean(Operator):
    """Mean over axes: input s8 of rank 1 to 4, axes s32 constant → output s8 without those axes, or with ones for them.

    Or input and output are f32. Source: TFLM `kernels/internal/reference/reduce.h`, `QuantizedMeanOrSum`; of floats `Mean`.
    """

    name: ClassVar[str] = "MEAN"
    inputs: ClassVar[tuple[str, ...]] = ("input", "axes")
    kernels: ClassVar[tuple[str, ...]] = ("kibi_mean_s8", "kibi_mean_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.F32)

    keep_dims: bool = False

    def infer(self, site: Site) -> tuple[tuple[int, ...], DType]:
        """The input's shape with the axes dropped or set to 1, the input's type."""
        shape = checks.rank(site, "input", 1, 2, 3, 4)
        checks.dtype(site, "axes", DType.S32)
        dtype = site["input"].type.dtype
        raw = site.constant("axes").reshape(-1)
        if any(not -len(shape) <= int(axis) < len(shape) for axis in raw):
            raise OperatorError(f"axes {raw.tolist()} leave a tensor of rank {len(shape)}", operand="axes")
        axes = _axes(site)
        if dtype is DType.S8:
            checks.per_tensor(site, "input")
            checks.per_tensor(site, "output")
            _multiplier(site)
        if self.keep_dims:
            return tuple(1 if axis in axes else size for axis, size in enumerate(shape)), dtype
        return tuple(size for axis, size in enumerate(shape) if axis not in axes), dtype

    def steps(self, site: Site) -> int:
        """One for each row of the input."""
        return site["input"].type.rows

    def accumulates(self, site: Site) -> bool:
        """Where the input has several rows: the sums of all output elements grow together."""
        return site["input"].type.rows > 1

    def accesses(self, site: Site) -> tuple[RowAccess, ...]:
        """Row after row."""
        return (RowAccess.same(site["input"].type.rows),)

    def reference(self, site: Site) -> Callable[[Rows], Array]:
        """The mean of an input of one row."""
        whole = self.accumulation(site)

        def row(rows: Rows) -> Array:
            sums = whole.start.copy()
            whole.add(sums, rows, 0)
            return whole.finish(sums)

        return row

    def accumulation(self, site: Site) -> Accumulation:
        """Rule N11: the sum without its zero points, scaled once by a multiplier that includes the division; N24 of floats."""
        if site["input"].type.dtype is DType.F32:
            return _float_accumulation(site)
        elements, places = site.output.type.elements, _places(site)
        factor, count = _multiplier(site)
        zero_point = site.output.quantization.zero_point

        def add(sums: Array, rows: Rows, step: int) -> None:
            np.add.at(sums, places[step], np.asarray(rows[0][0]).astype(np.int32))

        def finish(sums: Array) -> Array:
            means = wrap_s32(requantize(sums.astype(np.int64), factor.value, factor.shift) + zero_point)
            return np.clip(means, -128, 127).astype(np.int8)

        start = np.full(elements, -count * site["input"].quantization.zero_point, np.int32)
        return Accumulation(start, add, finish)

    def kernel_call(self, site: Site) -> KernelCall:
        """One kernel, called for each row; the scratch holds a 32-bit sum for each output element."""
        shape, axes = site["input"].type.shape, _axes(site)
        strides = _output_strides(shape, axes)
        source = site["input"].type
        front = 0 if source.row_axis is None else source.row_axis + 1
        loops = (*_two_loops(shape[:front], strides[:front]), *_two_loops(shape[front:], strides[front:]))
        elements = site.output.type.elements
        params = (
            *(Param(f"size{level}", size) for level, (size, _) in enumerate(loops) if level),
            *(Param(f"step{level}", step) for level, (_, step) in enumerate(loops)),
            Param("steps", source.rows),
            Param("output_elements", elements),
            *_scaling(site),
        )
        # The last call has read its row before it writes.
        return KernelCall(f"kibi_mean_{source.dtype}", params, 4 * elements, takes_step=True, overlap_bytes=(0,))


def _axes(site: Site) -> frozenset[int]:
    rank = len(site["input"].type.shape)
    return frozenset(int(axis) % rank for axis in site.constant("axes").reshape(-1))


def _output_strides(shape: tuple[int, ...], axes: frozenset[int]) -> tuple[int, ...]:
    """For each input axis, how far the output index moves; 0 along reduced axes."""
    kept = [1 if axis in axes else size for axis, size in enumerate(shape)]
    return tuple(0 if axis in axes else prod(kept[axis + 1 :]) for axis in range(len(shape)))


def _two_loops(sizes: tuple[int, ...], steps: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Axes as two nested loops of (size, step); of all axes in front of or behind the row axis, at most two exceed 1."""
    loops = [(size, step) for size, step in zip(sizes, steps, strict=True) if size > 1]
    return (*[(1, 0)] * (2 - len(loops)), *loops)


def _places(site: Site) -> NDArray[np.int64]:
    """For each element of each input row `[rows, elements]`, the output element that it belongs to."""
    source = site["input"].type
    kept = tuple(1 if axis in _axes(site) else size for axis, size in enumerate(source.shape))
    numbers = np.arange(site.output.type.elements, dtype=np.int64).reshape(kept)
    return np.broadcast_to(numbers, source.shape).reshape(source.rows, -1)


def _float_accumulation(site: Site) -> Accumulation:
    """Rule N24: sums in the order of the input, divided by the count."""
    places, count = _places(site), np.float32(_count(site))

    def add(sums: Array, rows: Rows, step: int) -> None:
        with np.errstate(all="ignore"):
            np.add.at(sums, places[step], np.asarray(rows[0][0], np.float32).reshape(-1))  # one after another

    return Accumulation(
        np.zeros(site.output.type.elements, np.float32), add, lambda sums: sums.astype(np.float32) / count
    )


def _scaling(site: Site) -> tuple[Param, ...]:
    """The struct fields for what is done with sums."""
    if site["input"].type.dtype is DType.F32:
        return (Param("count", float(np.float32(_count(site)))),)
    factor, count = _multiplier(site)
    return (
        Param("zero_points", count * site["input"].quantization.zero_point),
        Param("output_zero_point", site.output.quantization.zero_point),
        Param("multiplier", factor.value),
        Param("shift", factor.shift),
    )


def _count(site: Site) -> int:
    """Elements of each mean."""
    shape = site["input"].type.shape
    return prod(shape[axis] for axis in _axes(site))


def _multiplier(site: Site) -> tuple[Multiplier, int]:
    """The factor with 1 / count in it, and the count."""
    count = _count(site)
    factor = checks.factor(site["input"].quantization.scale / site.output.quantization.scale)
    shift = min(count.bit_length() - 1, 32, 31 + factor.shift)
    return Multiplier((factor.value << shift) // count, factor.shift - shift), count


register(Mean)
