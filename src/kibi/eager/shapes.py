"""Shapes as a device stores them: at most four dimensions."""

from collections.abc import Sequence
from math import prod
from operator import index

from kibi.errors import InputError

STORED_DIMENSIONS = 4
"""The number of dimensions that a descriptor has room for."""
_HIGHEST_DIMENSION = 0xFFFFFFFF


class TensorShape:
    """Up to four dimensions, the last of which varies fastest. After uTensor's `TensorShape` (`src/uTensor/core/types.hpp`).

    Args:
        dimensions: each at least 1 and below 2**32, so that each fits a descriptor's 32 bits. No dimensions: a scalar.

    Raises:
        InputError: there are more than four, or one is out of range.
    """

    __slots__ = ("_dimensions", "_strides")

    def __init__(self, *dimensions: int) -> None:
        if len(dimensions) > STORED_DIMENSIONS:
            raise InputError(
                f"the shape {list(dimensions)} has {len(dimensions)} dimensions; a descriptor stores "
                f"{STORED_DIMENSIONS}. Join the leading ones: TensorShape.folded does."
            )
        try:
            dimensions = tuple(map(index, dimensions))
        except TypeError:
            raise InputError(f"{list(dimensions)} is no shape. Give whole numbers.") from None
        if not all(1 <= each <= _HIGHEST_DIMENSION for each in dimensions):
            raise InputError(f"the shape {list(dimensions)} has a dimension that is not between 1 and 2**32 - 1.")
        self._dimensions = dimensions
        self._strides = tuple(prod(self._dimensions[axis + 1 :]) for axis in range(len(dimensions)))

    @classmethod
    def folded(cls, dimensions: Sequence[int]) -> "TensorShape":
        """The shape with its leading dimensions joined until four are left; elements keep their order.

        Raises:
            InputError: a dimension is out of range.
        """
        surplus = max(0, len(dimensions) - STORED_DIMENSIONS)
        return cls(*((prod(dimensions[: surplus + 1]), *dimensions[surplus + 1 :]) if surplus else dimensions))

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The dimensions."""
        return self._dimensions

    @property
    def rank(self) -> int:
        """The number of dimensions: 0 to 4."""
        return len(self._dimensions)

    @property
    def elements(self) -> int:
        """The number of elements: the product of the dimensions, 1 for a scalar."""
        return prod(self._dimensions)

    def linear_index(self, *indices: int) -> int:
        """The number of an element among all, in row-major order.

        Args:
            indices: one for each dimension, each at least 0 and below it. Those left out at the end are 0, as on the device;
                but a single one, of a shape with several dimensions, is a linear index already.

        Returns:
            The index, at least 0 and below `elements`.

        Raises:
            InputError: one is out of range, or there are more than dimensions.
        """
        try:
            indices = tuple(map(index, indices))
        except TypeError:
            raise InputError(
                f"{list(indices)} are no indices. Give whole numbers; a tensor's rows are read by row(y)."
            ) from None
        if len(indices) == 1 and self.rank != 1:
            if 0 <= indices[0] < self.elements:
                return indices[0]
            raise InputError(f"the linear index {indices[0]} is not below the {self.elements} elements of {self}.")
        if len(indices) > self.rank:
            raise InputError(f"{len(indices)} indices {list(indices)} are too many for the shape {self}.")
        for axis, (given, dimension) in enumerate(zip(indices, self._dimensions, strict=False)):
            if not 0 <= given < dimension:
                raise InputError(
                    f"index {given} of axis {axis} is out of range: the shape is {self}, so it is 0 to {dimension - 1}."
                )
        return sum(given * stride for given, stride in zip(indices, self._strides, strict=False))

    def __len__(self) -> int:
        return len(self._dimensions)

    def __getitem__(self, axis: int) -> int:
        return self._dimensions[axis]

    def __eq__(self, other: object) -> bool:
        return self._dimensions == other._dimensions if isinstance(other, TensorShape) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._dimensions)

    def __str__(self) -> str:
        return str(list(self._dimensions))

    def __repr__(self) -> str:
        return f"TensorShape({', '.join(map(str, self._dimensions))})"
