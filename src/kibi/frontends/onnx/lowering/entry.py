"""What the registry says of an operator."""

from collections.abc import Callable
from dataclasses import dataclass

from kibi.frontends.onnx.emitter import Emitter
from kibi.frontends.onnx.graph import Node

Convert = Callable[[Emitter, Node], None]


@dataclass(frozen=True, slots=True)
class Lowering:
    """The conversion of one of ONNX's operators.

    Attributes:
        convert: emits the operations and says which tensors the outputs are.
        becomes: the operators of a `.tflite` file that it may become; empty if it becomes none.
        integers: true if quantized inputs and outputs are computed with integers.
        limits: what is not converted, as a sentence; empty if nothing is known to be refused.
    """

    convert: Convert
    becomes: tuple[str, ...]
    integers: bool = False
    limits: str = ""
