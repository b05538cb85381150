"""SQUEEZE."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops.movement.reshape import Reshape
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Squeeze(Reshape):
    """The same elements without axes of size 1: input of any type → output of that type.

    `dims` are the axes that go, from the end where negative; none means all of size 1.

    Source: TFLM `micro/kernels/squeeze.cc`.
    """

    name: ClassVar[str] = "SQUEEZE"
    inputs: ClassVar[tuple[str, ...]] = ("input",)

    dims: tuple[int, ...] = ()

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape without those axes."""
        source = view["input"].type
        rank = len(source.shape)
        gone = {axis + rank if axis < 0 else axis for axis in self.dims}
        if any(not 0 <= axis < rank or source.shape[axis] != 1 for axis in gone):
            what = f"axes {list(self.dims)} of shape {list(source.shape)} are not all of size 1"
            raise OperatorError(what, "Export the model again; the file is damaged", "input")
        if not self.dims:
            gone = {axis for axis, size in enumerate(source.shape) if size == 1}
        return tuple(size for axis, size in enumerate(source.shape) if axis not in gone), source.dtype


register(Squeeze)
