"""ASSIGN_VARIABLE and READ_VARIABLE."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.ops.movement.reshape import Reshape
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class AssignVariable(Reshape):
    """The next version of a variable: input of any type → output of that type, in the bytes of the variable.

    Elements are copied as they are, whatever the scales are.

    Source: TFLM `micro/kernels/assign_variable.cc`, `micro/micro_resource_variable.cc`.
    """

    name: ClassVar[str] = "ASSIGN_VARIABLE"
    inputs: ClassVar[tuple[str, ...]] = ("input",)


register(AssignVariable)


@dataclass(frozen=True, slots=True)
class ReadVariable(Reshape):
    """Reads a variable at this place of the model: input, the variable, of any type → output of that type.

    A model has it as a node only where somebody needs the value when the variable holds another one already; else who reads
    its output reads the variable itself.

    Source: TFLM `micro/kernels/read_variable.cc`, `micro/micro_resource_variable.cc`.
    """

    name: ClassVar[str] = "READ_VARIABLE"
    inputs: ClassVar[tuple[str, ...]] = ("input",)


register(ReadVariable)
