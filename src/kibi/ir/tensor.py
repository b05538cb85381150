"""Tensors and their types; how a tensor falls into rows."""

from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from kibi.dtypes import Array, DType
from kibi.ir.codebook import Codebook


@dataclass(frozen=True, slots=True)
class Quantization:
    """Affine quantization: real = scale * (stored - zero point).

    Attributes:
        scales: one positive float32 value, or one for each channel.
        zero_points: one integer for each scale.
        axis: the channel axis if there are several scales, else 0.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int = 0

    @property
    def scale(self) -> float:
        """The scale of the tensor, or of its first channel, as TFLM's legacy parameters give it."""
        return self.scales[0]

    @property
    def zero_point(self) -> int:
        """The zero point of the tensor, or of its first channel."""
        return self.zero_points[0]

    @property
    def is_per_channel(self) -> bool:
        """True if channels have scales of their own."""
        return len(self.scales) > 1

    def __str__(self) -> str:
        if self.is_per_channel:
            return f"per channel of axis {self.axis}, scales {min(self.scales):.4g}…{max(self.scales):.4g}"
        return f"scale {self.scale:.6g}, zero point {self.zero_point}"


@dataclass(frozen=True)
class TensorType:
    """Shape, element type and quantization.

    Rows: a tensor falls into rows along its first spatial axis longer than one. Spatial axes are all but the first (batch) and
    the last (channels). A batch of `N` has the rows of its parts one after another. A tensor without such an axis, and
    without a batch, is one row.
    """

    shape: tuple[int, ...]
    dtype: DType
    quantization: Quantization | None = None

    @cached_property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @cached_property
    def size_bytes(self) -> int:
        """Bytes of all elements."""
        return self.elements * self.dtype.size_bytes

    @cached_property
    def row_axis(self) -> int | None:
        """The axis that counts the rows; None if the tensor is one row.

        Where all spatial axes are 1 the parts of a batch are the rows, along axis 0.
        """
        shape = self.shape
        spatial = next((axis for axis in range(1, len(shape) - 1) if shape[axis] > 1), None)
        return 0 if spatial is None and len(shape) > 2 and shape[0] > 1 else spatial

    @cached_property
    def rows(self) -> int:
        """Number of rows, of all batches together."""
        axis = self.row_axis
        return 1 if axis is None else prod(self.shape[: axis + 1])

    @cached_property
    def rows_per_batch(self) -> int:
        """Number of rows of one batch."""
        axis = self.row_axis
        return 1 if axis is None else prod(self.shape[1 : axis + 1])

    @cached_property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of one row: the axes after the row axis."""
        axis = self.row_axis
        return self.shape if axis is None else self.shape[axis + 1 :]

    @cached_property
    def row_elements(self) -> int:
        """Elements of one row."""
        return prod(self.row_shape)

    @cached_property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return self.row_elements * self.dtype.size_bytes

    def __str__(self) -> str:
        return f"{list(self.shape)} {self.dtype.word}"


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """One tensor of a graph. Two are equal if all their fields are, elements bit for bit.

    Attributes:
        index: its index in the graph and in the model file; tensors that are in no file come last.
        name: its name in the model file, or a substitute.
        type: shape, element type, quantization.
        data: the elements of a constant, read-only, of the type's shape; None for what is computed.
        is_external: true if its bytes are in a caller-owned buffer: it takes none of the arena.
        is_variable: true if it keeps its value from one inference to the next: it is state, and takes none of the arena.
        codebook: the indices and tables of a constant that the model file stores in that form, or None.
        initial: the elements of a variable before the first inference, of the type's shape; None: each is the zero point, or 0.
        is_int4: true if the elements of a constant have four bits each in the model file, and may have them in flash; here they
            have eight.
        updates: the index of a variable, or of an earlier update of one, whose next value this tensor is. It is stored in the
            variable's own bytes, so steps that read the earlier value come first.
    """

    index: int
    name: str
    type: TensorType
    data: Array | None = field(default=None, repr=False)
    is_external: bool = False
    is_variable: bool = False
    initial: Array | None = field(default=None, repr=False)
    is_int4: bool = False
    updates: int | None = None
    codebook: Codebook | None = field(default=None, repr=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tensor):
            return NotImplemented
        if self is other:
            return True
        if self._facts != other._facts:
            return False
        arrays = zip(self._arrays, other._arrays, strict=True)
        return all(same_elements(one, another) for one, another in arrays)

    def __hash__(self) -> int:
        return hash(self._facts)

    @property
    def _facts(self) -> tuple[object, ...]:
        """All fields that are no arrays, for comparison and hashing."""
        bits = self.codebook_in_use.bits if self.codebook_in_use is not None else None
        flags = (self.is_external, self.is_variable, self.is_int4)
        return (self.index, self.name, self.type, *flags, self.updates, bits)

    @property
    def _arrays(self) -> tuple[Array | None, ...]:
        used = self.codebook_in_use
        return (self.data, self.initial, *((used.indices, used.tables) if used is not None else (None, None)))

    @property
    def is_constant(self) -> bool:
        """True if the model file holds its elements."""
        return self.data is not None

    @property
    def codebook_in_use(self) -> Codebook | None:
        """The look-up if it still gives the elements; None if a pass has replaced them."""
        return self.codebook if self.codebook is not None and self.codebook.elements is self.data else None

    @property
    def is_compressed(self) -> bool:
        """True if kernels may read its elements in the smaller form that the model file has."""
        return self.is_int4 or self.codebook_in_use is not None

    @property
    def is_planned(self) -> bool:
        """True if a plan must find a place for its rows."""
        return not (self.is_constant or self.is_external or self.is_state)

    @property
    def is_state(self) -> bool:
        """True if it is a variable or the next version of one: it is stored in a variable's bytes."""
        return self.is_variable or self.updates is not None

    @property
    def initial_bytes(self) -> bytes:
        """The bytes of a variable before the first inference. Source: TFLM `micro_interpreter_graph.cc`."""
        if self.initial is not None:
            return self.initial.tobytes()
        has_zero_point = self.type.dtype is DType.S8 and self.type.quantization is not None
        return bytes([self.quantization.zero_point & 0xFF if has_zero_point else 0]) * self.type.size_bytes

    @property
    def quantization(self) -> Quantization:
        """Its quantization; only for tensors that are known to have one.

        Raises:
            ValueError: it has none.
        """
        if self.type.quantization is None:
            raise ValueError(f"tensor {self.name!r} is not quantized")
        return self.type.quantization


def same_elements(one: Array | None, other: Array | None) -> bool:
    """True if two arrays have the same type, shape and bits, or both are None."""
    if one is other or one is None or other is None:
        return one is other
    return (one.dtype, one.shape) == (other.dtype, other.shape) and one.tobytes() == other.tobytes()
