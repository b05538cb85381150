"""PART: one output of an operator that makes several at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, Operator, OperatorError, RowAccess, Rows, Site, TensorType
from kibi.kernels.params.movement import PartParams


@dataclass(frozen=True, slots=True)
class Part(Operator):
    """Some of the bytes of a bundle: input u8 [bytes] → output of any type, as it lies in the bundle from `offset` on.

    A node has one output. An operator that makes several at once makes them as one tensor of bytes, a bundle, in which each
    begins at a multiple of 8; a part for each output that somebody reads takes it out. No model file holds it, and so it is
    not registered.
    """

    name: ClassVar[str] = "PART"
    inputs: ClassVar[tuple[str, ...]] = ("input",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_part_any",)
    types: ClassVar[tuple[DType, ...]] = (DType.U8,)

    offset: int = 0

    @staticmethod
    def offsets(types: Sequence[TensorType]) -> tuple[int, ...]:
        """Where tensors of these types lie in a bundle, one behind another; the last number is the bundle's bytes."""
        ends = [0]
        for kind in types:
            ends.append(-(-(ends[-1] + kind.size_bytes) // 8) * 8)
        return tuple(ends)

    def infer(self, site: Site) -> tuple[tuple[int, ...], DType]:
        """Whatever the model says of the output, where it lies inside the bundle."""
        output, end = site.output.type, site["input"].type.size_bytes
        if not 0 <= self.offset <= end - output.size_bytes:
            raise OperatorError(
                f"bytes {self.offset} to {self.offset + output.size_bytes} of {end} are asked for", operand="output"
            )
        return output.shape, output.dtype

    def steps(self, site: Site) -> int:
        """All at once."""
        del site
        return 1

    def accesses(self, site: Site) -> tuple[RowAccess, ...]:
        """The whole bundle."""
        return (RowAccess.every(site["input"].type.rows, 1),)

    def reference(self, site: Site) -> Callable[[Rows], Array]:
        """The bytes as elements."""
        kind, start = site.output.type, self.offset

        def row(rows: Rows) -> Array:
            data = np.concatenate([np.asarray(piece).reshape(-1) for piece in rows[0]]).tobytes()
            return np.frombuffer(data, kind.dtype.numpy, kind.elements, start)

        return row

    def kernel_call(self, site: Site) -> KernelCall:
        """A copy of bytes."""
        params = PartParams(offset=self.offset, bytes=site.output.type.size_bytes)
        return KernelCall("kibi_part_any", params, is_untyped=True)
