"""Two-dimensional windows as seen by rows: convolutions and poolings share this geometry."""

from dataclasses import dataclass, replace

from kibi.ir import ColumnReach, NodeView, OperatorError, RowAccess
from kibi.ops.attributes import ExplicitPadding, Padding


@dataclass(frozen=True, slots=True)
class Window:
    """The place of a window on its input, with `y` along the rows of the input and `x` across.

    Rows are along the height, or, where input and output are one high, along the width: then the kernel's axes are swapped
    (`is_swapped`), and a `[O, KH, KW, C]` filter must be transposed to `[O, KW, KH, C]`.

    Attributes:
        batches: parts of the batch.
        input_rows, input_width, channels: of one batch of the input, but for columns that are left out.
        output_rows, output_width: of one batch of the output.
        kernel_rows, kernel_width, stride_rows, stride_width, dilation_rows, dilation_width: of the window.
        pad_rows, pad_width: padding before the first row, and of the first element of a row.
        is_swapped: true if rows are along the width.
        left_out: columns of the input before the first one that kernels get; None: they get all of them.
    """

    batches: int
    input_rows: int
    input_width: int
    channels: int
    output_rows: int
    output_width: int
    kernel_rows: int
    kernel_width: int
    stride_rows: int
    stride_width: int
    dilation_rows: int
    dilation_width: int
    pad_rows: int
    pad_width: int
    is_swapped: bool
    left_out: int | None = None

    @staticmethod
    def of(
        view: NodeView,
        kernel: tuple[int, int],
        stride: tuple[int, int],
        dilation: tuple[int, int],
        padding: Padding | ExplicitPadding,
    ) -> "Window":
        """The geometry of a node with operands `input` and `output` of shape `[N, H, W, C]`.

        Where the padding leaves columns of the input out, the window is on those that are left.
        """
        batches, height, width, channels = view["input"].type.shape
        _, out_height, out_width, _ = view.output.type.shape
        sizes, outs = (height, width), (out_height, out_width)
        along = zip(sizes, kernel, stride, dilation, outs, strict=True)
        pads = tuple(padding.along(axis).before(*arguments) for axis, arguments in enumerate(along))
        swapped = height == 1 and out_height == 1 and width > 1
        y, x = (1, 0) if swapped else (0, 1)
        front, back = padding.width if isinstance(padding, ExplicitPadding) and not swapped else (0, 0)
        is_cut = min(front, back) < 0
        left_out = max(0, -front)
        input_width = sizes[x] - left_out - max(0, -back) if is_cut else sizes[x]
        return Window(
            batches, sizes[y], input_width, channels, outs[y], outs[x], kernel[y], kernel[x], stride[y], stride[x],
            dilation[y], dilation[x], pads[y], max(0, front) if is_cut else pads[x], swapped,
            left_out if is_cut else None,
        )  # fmt: skip

    @property
    def steps(self) -> int:
        """Row steps: one for each output row of each batch."""
        return self.batches * self.output_rows

    @property
    def rows_inside(self) -> range:
        """The rows of one batch of the input that output row 0 reads, where the window is not dilated."""
        return range(max(0, -self.pad_rows), min(self.input_rows, self.kernel_rows - self.pad_rows))

    @property
    def is_inside(self) -> bool:
        """True if no window reaches over the edge of the input, where the window is not dilated."""
        return (
            self.pad_rows == self.pad_width == 0
            and (self.output_rows - 1) * self.stride_rows + self.kernel_rows <= self.input_rows
            and (self.output_width - 1) * self.stride_width + self.kernel_width <= self.input_width
        )

    @property
    def is_one_vector(self) -> bool:
        """True if there is one window, on neighbouring rows from end to end."""
        is_whole = self.is_inside and self.left_out is None and self.dilation_rows == self.dilation_width == 1
        return is_whole and self.steps == self.output_width == 1 and self.kernel_width == self.input_width

    def as_pixel(self) -> "Window":
        """The window that `is_one_vector` as one pixel, whose channels are all elements of its rows."""
        channels = self.kernel_rows * self.kernel_width * self.channels
        return replace(
            self, input_rows=1, input_width=1, channels=channels, kernel_rows=1, kernel_width=1, is_swapped=False
        )

    def first_inside(self, x: int) -> int:
        """The first column of the input that is under the window of output column `x`."""
        start = x * self.stride_width - self.pad_width
        outside = max(0, -(start // self.dilation_width))
        return start + outside * self.dilation_width

    def access(self, fill: int | None) -> RowAccess:
        """The input rows that an output row reads; `fill` as in `RowAccess`."""
        return RowAccess(
            rows=self.input_rows,
            output_rows=self.output_rows,
            count=self.kernel_rows,
            stride=self.stride_rows,
            start=-self.pad_rows,
            dilation=self.dilation_rows,
            fill=fill,
            elements=self.elements,
        )

    @property
    def columns(self) -> ColumnReach | None:
        """The columns of the input that an output column reads; None where rows are along the width."""
        if self.is_swapped or self.left_out is not None:
            return None
        return ColumnReach(self.kernel_width, self.stride_width, self.dilation_width, self.pad_width)

    def padded_across(self, front: int, back: int) -> ExplicitPadding:
        """Returns the padding with the same rows, and with these columns before and after the input."""
        reach = (self.output_rows - 1) * self.stride_rows + (self.kernel_rows - 1) * self.dilation_rows + 1
        return ExplicitPadding((self.pad_rows, max(0, reach - self.pad_rows - self.input_rows)), (front, back))

    @property
    def elements(self) -> tuple[int, int] | None:
        """The elements of a row of the input that kernels get, as of `RowAccess`."""
        if self.left_out is None:
            return None
        return self.left_out * self.channels, (self.left_out + self.input_width) * self.channels


def output_shape(
    view: NodeView,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    padding: Padding | ExplicitPadding,
    channels: int,
) -> tuple[int, int, int, int]:
    """The output's shape `[N, OH, OW, channels]`.

    Raises:
        OperatorError: the window does not fit into the input, or is outside; or rows would be across those of the input.
    """
    batches, height, width, _ = view["input"].type.shape
    sizes = zip((height, width), kernel, stride, dilation, strict=True)
    out_height, out_width = (padding.along(axis).output_size(*arguments) for axis, arguments in enumerate(sizes))
    if out_height < 1 or out_width < 1:
        what = f"a window of {list(kernel)} with dilation {list(dilation)} does not fit into {height} x {width}"
        raise OperatorError(what, operand="input")
    for axis, (size, reach, step, gap) in enumerate(zip((height, width), kernel, stride, dilation, strict=True)):
        output = (out_height, out_width)[axis]
        front = padding.along(axis).before(size, reach, step, gap, output)
        if front > (reach - 1) * gap or (output - 1) * step - front >= size:
            what = f"{padding} puts a whole window of {list(kernel)} outside the input of {height} x {width}"
            raise OperatorError(what, "Pad by less than the window", "input")
    if height == 1 < min(width, out_height):
        what = f"{padding} makes {out_height} rows of a single one, which falls into rows along its width"
        raise OperatorError(what, "Pad with an operator of its own", "input")
    return batches, out_height, out_width, channels
