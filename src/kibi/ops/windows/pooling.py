"""The shared parts of the two poolings: geometry, rule, parameters."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import ColumnReach, KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.kernels.params import PARAMS
from kibi.ops import checks
from kibi.ops.attributes import Activation, ExplicitPadding, Padding
from kibi.ops.overlap import window_distance
from kibi.ops.sums.columns import SINGLE_COLUMNS, column_parts
from kibi.ops.sums.float_sums import activation_params
from kibi.ops.windows.window import Window, output_shape

_FOUR = 4
"""Channels that kernels of bytes take at once."""
_TWO = 2
"""Rows and columns of the usual window."""
_MOST_IN_FOURS = {"kibi_average_pool2d_s8": 256, "kibi_max_pool2d_s8": 1 << 31}
"""Kernels of bytes with a part for each kind of window, and how many elements a window may have for four channels at once."""
_KEPT_TAPS = 1 << 12
"""Columns of a window whose places are kept from row to row."""


@dataclass(frozen=True, slots=True)
class Pool2D(Operator):
    """A window over each channel: input [N, H, W, C] s8 → output [N, OH, OW, C] s8 of the same scale and zero point.

    Or both are s16, or f32. Elements outside the input do not count. Source of the rule on scales: TFLM
    `micro/kernels/pooling_common.cc`.
    """

    inputs: ClassVar[tuple[str, ...]] = ("input",)
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)

    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    padding: Padding | ExplicitPadding = Padding.VALID
    activation: Activation = Activation.NONE

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """Shape `[N, OH, OW, C]`, the input's type."""
        channels = checks.rank(view, "input", 4)[3]
        checks.positive("kernel", self.kernel)
        checks.positive("stride", self.stride)
        dtype = view["input"].type.dtype
        if not is_float(view):
            self._check_scales(view)
        return output_shape(view, self.kernel, self.stride, (1, 1), self.padding, channels), dtype

    def _check_scales(self, view: NodeView) -> None:
        source = checks.per_tensor(view, "input")
        target = checks.per_tensor(view, "output")
        if source.zero_point != target.zero_point or abs(source.scale - target.scale) > 1e-6:
            what = f"input ({source}) and output ({target}) must have the same scale and zero point"
            raise OperatorError(what, operand="output")
        self.activation.limits(view.output.type.dtype, target)

    def window(self, view: NodeView) -> Window:
        """The geometry."""
        return Window.of(view, self.kernel, self.stride, (1, 1), self.padding)

    def steps(self, view: NodeView) -> int:
        """One for each output row along the window's rows; of a single output row, one for each row that it reads."""
        window = self.window(view)
        return len(window.rows_inside) if self.accumulates(view) else window.steps

    def accumulates(self, view: NodeView) -> bool:
        """True if the output has one row, and an accumulator takes less than the rows that need not wait for the last."""
        window = self.window(view)
        waiting_bytes = (len(window.rows_inside) - 1) * view["input"].type.row_bytes
        return window.steps == 1 and self._accumulator_bytes(view) < waiting_bytes

    def columns(self, view: NodeView) -> ColumnReach | None:
        """Those under the window, unless rows are added up one by one."""
        return None if self.accumulates(view) else self.window(view).columns

    def on_columns(self, view: NodeView, front: int, back: int) -> Operator:
        """The same with padding of its own across."""
        return replace(self, padding=self.window(view).padded_across(front, back))

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """A window of input rows, with null pointers where it leaves the input; or the next row inside."""
        window = self.window(view)
        if self.accumulates(view):
            steps = len(window.rows_inside)
            start = window.rows_inside.start
            return (RowAccess(window.input_rows, steps, start=start, elements=window.elements),)
        return (window.access(None),)

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The kernel that is given all rows of a window, without scratch; or the one that accumulates."""
        window = self.window(view)
        dtype = view.output.type.dtype
        fields = {
            "input_width": window.input_width,
            "channels": window.channels,
            "output_width": window.output_width,
            "kernel_width": window.kernel_width,
            "stride": window.stride_width,
            "pad": window.pad_width,
            **self._clamp_params(view),
        }
        at_once, accumulating = self.kernels_of(view)
        if self.accumulates(view):
            params = PARAMS[accumulating](steps=self.steps(view), **fields)
            # The last call has read its row before it writes.
            scratch_bytes, alignment = self._accumulator_bytes(view), self.accumulator(view).size_bytes
            call = KernelCall(
                accumulating,
                params,
                scratch_bytes,
                takes_step=True,
                inplace_distance_bytes=(0,),
                scratch_alignment=alignment,
            )
            return _with_features(call, window)
        params = PARAMS[at_once](kernel_rows=window.kernel_rows, **fields)
        distance = dtype.size_bytes * window_distance(window)
        return _with_features(KernelCall(at_once, params, inplace_distance_bytes=(distance,)), window)

    def clamped(self, view: NodeView) -> Callable[[Array], Array]:
        """A function that cuts integers to the activation's range, and gives them the output's type."""
        dtype = view.output.type.dtype
        low, high = self.activation.limits(dtype, view.output.quantization)
        return lambda values: np.minimum(np.maximum(values, low), high).astype(dtype.numpy)

    def kernels_of(self, view: NodeView) -> tuple[str, str]:
        """The kernel that is given all rows of a window, and the one that accumulates."""
        place = 2 * self.types.index(view["input"].type.dtype)
        at_once, accumulating = self.kernels[place : place + 2]
        return at_once, accumulating

    def _clamp_params(self, view: NodeView) -> dict[str, float]:
        if is_float(view):
            return activation_params(self.activation)
        low, high = self.activation.limits(view.output.type.dtype, view.output.quantization)
        return {"activation_min": low, "activation_max": high}

    def accumulator(self, view: NodeView) -> DType:
        """The type of what accumulates."""
        return view["input"].type.dtype

    def _accumulator_bytes(self, view: NodeView) -> int:
        return view.output.type.elements * self.accumulator(view).size_bytes


def _with_features(call: KernelCall, window: Window) -> KernelCall:
    """The call with the parts of its kernel that it needs, of those for bytes that take four channels at once."""
    has_fours = window.channels >= _FOUR
    if call.kernel == "kibi_average_pool2d_s8_accumulate":
        return replace(call, features=column_parts(window.channels), least_features=frozenset({SINGLE_COLUMNS}))
    if call.kernel == "kibi_average_pool2d_s8_accumulate_small":
        parts = {"OF_FOURS": has_fours, "OF_SINGLES": window.channels % _FOUR != 0}
        return _with_parts(call, parts)
    if call.kernel not in _MOST_IN_FOURS:
        return call
    is_two_by_two = window.kernel_rows == window.kernel_width == _TWO
    is_small = window.kernel_rows * window.kernel_width <= _MOST_IN_FOURS[call.kernel]
    parts = {
        "OF_TWO_BY_TWO": has_fours and is_two_by_two,
        "OF_FOURS": has_fours and is_small and not (is_two_by_two and window.is_inside),
        "OF_SINGLES": window.channels % _FOUR != 0 or not is_small,
    }
    return _with_parts(call, parts)


def _with_parts(call: KernelCall, parts: Mapping[str, bool]) -> KernelCall:
    """The call with the parts of its kernel that are needed."""
    prefix = call.kernel.upper()
    needed = frozenset(f"{prefix}_{part}" for part, is_needed in parts.items() if is_needed)
    return replace(call, features=needed, least_features=frozenset({f"{prefix}_OF_SINGLES"}))


def is_float(view: NodeView) -> bool:
    """True if a node pools floats."""
    return view["input"].type.dtype is DType.F32


@dataclass(frozen=True)
class Spans:
    """The columns of the input that each window covers, so that work and memory grow with the row and not with its windows.

    Attributes:
        window: the geometry.
        lows, highs: `[x]`, the first column inside the input, and the one after the last; equal where none is inside.
    """

    window: Window
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]

    @staticmethod
    def of(window: Window) -> "Spans":
        """Returns the spans of a window that is not dilated."""
        starts = np.arange(window.output_width, dtype=np.int64) * window.stride_width - window.pad_width
        lows = np.clip(starts, 0, window.input_width)
        return Spans(window, lows, np.clip(starts + window.kernel_width, lows, window.input_width))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """`[x]`, the columns inside."""
        return self.highs - self.lows

    @cached_property
    def _edges(self) -> NDArray[np.int64]:
        """`[2 x]`, the ends of each window one after another."""
        return np.stack([self.lows, self.highs], axis=1).reshape(-1)

    @cached_property
    def _none_inside(self) -> NDArray[np.int64]:
        """The windows that cover no column."""
        return np.flatnonzero(self.counts == 0)

    @cached_property
    def _few_taps(self) -> tuple[tuple[slice, slice], ...] | None:
        """Returns all that `_taps` yields; None where that is too much to keep."""
        return tuple(self._taps()) if self.window.kernel_width <= _KEPT_TAPS else None

    def _taps(self) -> Iterator[tuple[slice, slice]]:
        """Yields for each column of the window, in order, the outputs whose windows have it inside, and its columns there."""
        window, stride = self.window, self.window.stride_width
        last = (window.output_width - 1) * stride - window.pad_width
        for k in range(max(0, -last), min(window.kernel_width, window.input_width + window.pad_width)):
            first = max(0, -((k - window.pad_width) // stride))
            end = min(window.output_width, -((k - window.pad_width - window.input_width) // stride))
            start = first * stride - window.pad_width + k
            if first < end:
                yield slice(first, end), slice(start, start + (end - first - 1) * stride + 1, stride)

    def rows(self, rows: Rows) -> Array:
        """The rows inside, `[rows, columns, C]`."""
        inside = [row for row in rows[0] if row is not None]
        shape = (len(inside), self.window.input_width, self.window.channels)
        return np.concatenate(inside, axis=None).reshape(shape)

    def sums(self, values: NDArray[np.int32]) -> NDArray[np.int32]:
        """`[x, C]` of one line `[columns, C]`, whose sums fit 32 bits."""
        before = np.zeros((len(values) + 1, values.shape[1]), np.int32)
        np.cumsum(values, axis=0, dtype=np.int32, out=before[1:])  # may wrap: the differences do not
        found: NDArray[np.int32] = before[self.highs] - before[self.lows]
        return found

    def extremes(self, extreme: np.ufunc, values: Array, neutral: float) -> Array:
        """`[x, C]` of one line `[columns, C]`: `np.maximum` or `np.minimum`; `neutral` where no column is inside."""
        closed = np.concatenate([values, np.full((1, values.shape[1]), neutral, values.dtype)])
        found: Array = extreme.reduceat(closed, self._edges, axis=0)[::2]
        if len(self._none_inside):
            found[self._none_inside] = neutral
        return found

    def add(self, totals: NDArray[np.float32], values: NDArray[np.float32]) -> None:
        """Rule N24: adds to totals `[x, C]` what each window covers of one line `[columns, C]`, one column after another."""
        for outputs, columns in self._taps() if self._few_taps is None else self._few_taps:
            totals[outputs] += values[columns]
