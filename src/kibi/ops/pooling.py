"""What the two poolings share: geometry, rule, parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, Operator, OperatorError, Param, RowAccess, Rows, Site
from kibi.ops import checks
from kibi.ops.attributes import Activation, ExplicitPadding, Padding
from kibi.ops.float_sums import clamp_params
from kibi.ops.overlap import window_distance
from kibi.ops.window import Window, output_shape


@dataclass(frozen=True, slots=True)
class Pool2D(Operator):
    """A window over each channel: input [N, H, W, C] s8 → output [N, OH, OW, C] s8 of the same scale and zero point.

    Or both are f32. Elements outside the input do not count. Source of the rule on scales: TFLM
    `micro/kernels/pooling_common.cc`.
    """

    inputs: ClassVar[tuple[str, ...]] = ("input",)
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.F32)
    accumulator: ClassVar[DType]
    """The type of what accumulates, of s8; f32 accumulates in f32."""

    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    padding: Padding | ExplicitPadding = Padding.VALID
    activation: Activation = Activation.NONE

    def infer(self, site: Site) -> tuple[tuple[int, ...], DType]:
        """Shape `[N, OH, OW, C]`, the input's type."""
        channels = checks.rank(site, "input", 4)[3]
        checks.positive("kernel", self.kernel)
        checks.positive("stride", self.stride)
        dtype = site["input"].type.dtype
        if dtype is DType.S8:
            self._check_scales(site)
        return output_shape(site, self.kernel, self.stride, (1, 1), self.padding, channels), dtype

    def _check_scales(self, site: Site) -> None:
        source = checks.per_tensor(site, "input")
        target = checks.per_tensor(site, "output")
        if source.zero_point != target.zero_point or abs(source.scale - target.scale) > 1e-6:
            what = f"input ({source}) and output ({target}) must have the same scale and zero point"
            raise OperatorError(what, operand="output")
        self.activation.limits(DType.S8, target)

    def window(self, site: Site) -> Window:
        """The geometry."""
        return Window.of(site, self.kernel, self.stride, (1, 1), self.padding)

    def steps(self, site: Site) -> int:
        """One for each output row along the window's rows; of a single output row, one for each row that it reads."""
        window = self.window(site)
        return len(window.rows_inside) if self.accumulates(site) else window.steps

    def accumulates(self, site: Site) -> bool:
        """Where the output has one row, and an accumulator takes less than the rows that need not wait for the last."""
        window = self.window(site)
        waiting_bytes = (len(window.rows_inside) - 1) * site["input"].type.row_bytes
        return window.steps == 1 and self._accumulator_bytes(site) < waiting_bytes

    def accesses(self, site: Site) -> tuple[RowAccess, ...]:
        """A window of input rows, with null pointers where it leaves the input; or the next row inside."""
        window = self.window(site)
        if self.accumulates(site):
            steps = len(window.rows_inside)
            return (RowAccess(window.input_rows, steps, start=window.rows_inside.start),)
        return (window.access(None),)

    def kernel_call(self, site: Site) -> KernelCall:
        """The kernel that is given all rows of a window, without scratch; or the one that accumulates."""
        window = self.window(site)
        dtype = site.output.type.dtype
        accumulates = self.accumulates(site)
        rows = Param("steps", self.steps(site)) if accumulates else Param("kernel_rows", window.kernel_rows)
        params = (
            Param("input_width", window.input_width),
            Param("channels", window.channels),
            Param("output_width", window.output_width),
            rows,
            Param("kernel_width", window.kernel_width),
            Param("stride", window.stride_width),
            Param("pad", window.pad_width),
            *self._clamp_params(site),
        )
        at_once, accumulating = self.kernels_of(dtype)
        if accumulates:
            # The last call has read its row before it writes.
            scratch_bytes = self._accumulator_bytes(site)
            return KernelCall(accumulating, params, scratch_bytes, takes_step=True, overlap_bytes=(0,))
        return KernelCall(at_once, params, overlap_bytes=(dtype.size_bytes * window_distance(window),))

    def kernels_of(self, dtype: DType) -> tuple[str, str]:
        """The kernel that is given all rows of a window, and the one that accumulates."""
        at_once, accumulating = self.kernels[:2] if dtype is DType.S8 else self.kernels[2:]
        return at_once, accumulating

    def _clamp_params(self, site: Site) -> tuple[Param, ...]:
        if is_float(site):
            return clamp_params(self.activation)
        low, high = self.activation.limits(DType.S8, site.output.quantization)
        return Param("activation_min", low), Param("activation_max", high)

    def _accumulator_bytes(self, site: Site) -> int:
        accumulator = DType.F32 if is_float(site) else self.accumulator
        return site.output.type.elements * accumulator.size_bytes


def is_float(site: Site) -> bool:
    """Whether a node pools floats."""
    return site["input"].type.dtype is DType.F32


def inside_columns(window: Window) -> NDArray[np.bool_]:
    """Which columns of each window lie inside the input: `[x, kernel column]`."""
    columns = _columns(window)
    inside: NDArray[np.bool_] = (columns >= 0) & (columns < window.input_width)
    return inside


def _columns(window: Window) -> NDArray[np.int64]:
    """The column that each element of each window's row reads: `[x, kernel column]`."""
    xs = np.arange(window.output_width)[:, None] * window.stride_width - window.pad_width
    columns: NDArray[np.int64] = xs + np.arange(window.kernel_width)[None, :]
    return columns


def windows_of_row(window: Window) -> Callable[[Rows], tuple[NDArray[np.int32], NDArray[np.bool_]]]:
    """A function from input rows to (values `[x, kernel row * column, C]` in s32, mask `[x, kernel row * column]`)."""
    gather = _gatherer(window)

    def of_integers(rows: Rows) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        values, mask = gather(rows)
        return values.astype(np.int32), mask

    return of_integers


def float_windows_of_row(window: Window) -> Callable[[Rows], tuple[NDArray[np.float32], NDArray[np.bool_]]]:
    """A function from input rows to (values `[kernel row * column, x, C]` in f32, mask `[kernel row * column, x, 1]`)."""
    gather = _gatherer(window)

    def of_floats(rows: Rows) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        values, mask = gather(rows)
        return values.astype(np.float32).transpose(1, 0, 2), mask.T[:, :, None]

    return of_floats


def _gatherer(window: Window) -> Callable[[Rows], tuple[Array, NDArray[np.bool_]]]:
    inside = inside_columns(window)
    picked = np.where(inside, _columns(window), 0)
    shape = (window.input_width, window.channels)

    def gather(rows: Rows) -> tuple[Array, NDArray[np.bool_]]:
        present = [row for row in rows[0] if row is not None]
        stacked = np.stack([row.reshape(shape) for row in present])
        values = stacked[:, picked].transpose(1, 0, 2, 3).reshape(window.output_width, -1, window.channels)
        mask = np.repeat(inside[:, None, :], len(present), axis=1).reshape(window.output_width, -1)
        return values, mask

    return gather
