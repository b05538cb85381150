"""A model that adds up its inputs."""

from collections.abc import Sequence

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.support.variable_models import handle


def counting_bytes(shape: Sequence[int]) -> bytes:
    """A file whose output is the sum of all inputs so far, in s8 with scale 1: a variable is read, and assigned the sum."""
    builder = ModelBuilder()
    x = builder.input(shape, DType.S8, 1.0, 0, name="x")
    place = handle(builder, "sum")
    before, after = (builder.tensor(shape, DType.S8, 1.0, 0, name=name) for name in ("before", "after"))
    builder.operator("READ_VARIABLE", [place], [before])
    builder.operator("ADD", [x, before], [after], {"fused_activation_function": "NONE"})
    builder.operator("ASSIGN_VARIABLE", [place, after], [])
    return builder.finish([after])
