"""Elementwise operators on two inputs with broadcasting: how rows meet rows."""

from dataclasses import dataclass
from math import gcd, prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import Operator, OperatorError, Param, RowAccess, Rows, Site, TensorType
from kibi.ops import checks
from kibi.ops.attributes import Activation


@dataclass(frozen=True, slots=True)
class Pairing:
    """How one input meets one output row, seen as `[width, channels]`.

    Attributes:
        access: the pieces of the input that an output row reads: one, or one for each of the output's columns.
        width, channels: of what those pieces hold; each is the output's, or 1 where the input broadcasts.
    """

    access: RowAccess
    width: int
    channels: int

    @staticmethod
    def of(source: TensorType, output: TensorType) -> "Pairing":
        """The pairing of an input with the output that it broadcasts to."""
        shape = (1,) * (len(output.shape) - len(source.shape)) + source.shape
        axis = output.row_axis
        behind = 0 if axis is None else axis + 1
        width, channels = _plane(shape[behind:])
        block = width * channels
        rows = shape[axis] if axis else 1
        unit = gcd(source.row_elements, block)
        count = block // unit
        batches = 1 if axis is None else shape[0]
        access = RowAccess(
            rows=rows * count,
            output_rows=output.rows_per_batch,
            count=count,
            stride=count if rows > 1 else 0,
            parts=source.row_elements // unit,
            is_shared=batches == 1,
        )
        return Pairing(access, width, channels)

    def is_whole(self, plane: tuple[int, int]) -> bool:
        """Whether a row of it is one piece, and has an element for each of the output's row."""
        return self.access.count == 1 and (self.width, self.channels) == plane

    def is_flat(self, plane: tuple[int, int]) -> bool:
        """Whether one pointer and one stride reach all elements of a row."""
        return self.access.count == 1 and (self.width, self.channels) in (plane, (1, 1))


def _plane(shape: tuple[int, ...]) -> tuple[int, int]:
    """The axes behind the row axis as `(width, channels)`; of more than two, only the first and the last exceed 1."""
    width, channels = (1, 1, *shape)[-2:] if len(shape) < 2 else (shape[0], prod(shape[1:]))
    return width, channels


@dataclass(frozen=True, slots=True)
class Elementwise2(Operator):
    """Two inputs s8 of shapes that broadcast (ranks up to 4) → output s8."""

    inputs: ClassVar[tuple[str, ...]] = ("input1", "input2")
    row_inputs: ClassVar[tuple[str, ...]] = ("input1", "input2")
    types: ClassVar[tuple[DType, ...]] = (DType.S8,)

    activation: Activation = Activation.NONE

    def infer(self, site: Site) -> tuple[tuple[int, ...], DType]:
        """The broadcast shape, type s8."""
        checks.dtype(site, "input2", DType.S8)
        for operand in ("input1", "input2", "output"):
            checks.per_tensor(site, operand)
        self.activation.limits(DType.S8, site.output.quantization)
        shapes = [site[name].type.shape for name in self.inputs]
        text = f"inputs of shapes {list(shapes[0])} and {list(shapes[1])}"
        if max(map(len, shapes)) > 4:
            raise OperatorError(f"{text}: ranks up to 4 are supported")
        try:
            return tuple(int(size) for size in np.broadcast_shapes(*shapes)), DType.S8
        except ValueError:
            raise OperatorError(f"{text} do not broadcast") from None

    def accesses(self, site: Site) -> tuple[RowAccess, ...]:
        """For each input the pieces that meet an output row."""
        return tuple(pairing.access for pairing in self._pairings(site))

    def _pairings(self, site: Site) -> tuple[Pairing, ...]:
        return tuple(Pairing.of(site[name].type, site.output.type) for name in self.inputs)

    def broadcast_params(self, site: Site) -> tuple[Param, ...]:
        """The struct fields that say how the inputs' pieces meet an output row, and the clamp."""
        plane = _output_plane(site)
        pairings = self._pairings(site)
        is_flat = all(pairing.is_flat(plane) for pairing in pairings)
        low, high = self.activation.limits(DType.S8, site.output.quantization)
        fields = [
            Param("pieces", 1 if is_flat else plane[0]),
            Param("elements", prod(plane) if is_flat else plane[1]),
            Param("rows1", pairings[0].access.count),
        ]
        for number, pairing in enumerate(pairings, start=1):
            has_rows = pairing.access.count > 1
            fields += [
                Param(f"row_step{number}", int(has_rows)),
                Param(f"piece_step{number}", 0 if has_rows or pairing.width == 1 else pairing.channels),
                Param(f"step{number}", int(pairing.channels > 1 or (is_flat and pairing.width > 1))),
            ]
        return (*fields, Param("activation_min", low), Param("activation_max", high))

    def overlaps(self, site: Site) -> tuple[int | None, ...]:
        """For each input the distance of `KernelCall.overlap_bytes`: 0 where its rows meet the output's element by element."""
        plane = _output_plane(site)
        pairings = self._pairings(site)
        return tuple(0 if each.is_whole(plane) and each.access.parts == 1 else None for each in pairings)

    def planes(self, site: Site, rows: Rows) -> tuple[NDArray[np.int64], ...]:
        """The inputs' pieces as s64 arrays `[width, channels]` of the output row, broadcast."""
        plane = _output_plane(site)
        arrays = []
        for pairing, pieces in zip(self._pairings(site), rows, strict=True):
            data = np.concatenate([np.asarray(piece).reshape(-1) for piece in pieces]).astype(np.int64)
            arrays.append(np.broadcast_to(data.reshape(pairing.width, pairing.channels), plane))
        return tuple(arrays)


def _output_plane(site: Site) -> tuple[int, int]:
    output = site.output.type
    axis = output.row_axis
    return _plane(output.shape if axis is None else output.shape[axis + 1 :])
