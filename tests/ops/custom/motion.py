"""The operator of the example, a model that has it, and what that model must give."""

import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers

from kibi.dtypes import Array, DType
from kibi.errors import ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph

EXAMPLE = Path(__file__).parents[3] / "examples" / "custom_operator"
KERNELS = EXAMPLE / "kibi_motion"
CODE = "FRAME_DIFFERENCE"


def _example() -> types.ModuleType:
    """The example's module; not imported by its name, which only a distribution gives it."""
    module = types.ModuleType("frame_difference_of_the_example")
    module.__file__ = str(KERNELS / "frame_difference.py")
    sys.modules[module.__name__] = module
    exec(compile((KERNELS / "frame_difference.py").read_text(), module.__file__, "exec"), vars(module))  # noqa: S102 - the project's own example
    return module


FrameDifference: type[Any] = _example().FrameDifference


def model_bytes(options: bytes | None = None, *, code: str = CODE, shape: Sequence[int] = (1, 6, 5, 3)) -> bytes:
    """A model file: a difference of two inputs, and a pooling of it."""
    builder = ModelBuilder()
    inputs = [builder.input(shape, DType.S8, 0.5, -3, name=name) for name in ("frame", "background")]
    difference = builder.tensor(shape, DType.S8, 0.5, -128)
    pooled = builder.tensor([1, shape[1] // 2, shape[2] // 2, shape[3]], DType.S8, 0.5, -128)
    builder.operator("CUSTOM", inputs, [difference], custom_code=code, custom_options=options)
    sizes = {"filter_height": 2, "filter_width": 2, "stride_h": 2, "stride_w": 2}
    builder.operator("MAX_POOL_2D", [difference], [pooled], {**sizes, "padding": "VALID"})
    return builder.finish([pooled])


def flex(value: object) -> bytes:
    """A value as Google's writer writes it."""
    return bytes(flexbuffers.Dumps(value))


def motion_graph(options: bytes | None = None, **more: Any) -> Graph:
    """The graph of that model."""
    return parse_tflite(model_bytes(options, **more), "motion.tflite")


def problem_of(options: bytes | None = None) -> str:
    """The error that such options cause when the model is read."""
    with pytest.raises(ModelError) as caught:
        motion_graph(options)
    return str(caught.value)


def drawn_inputs(graph: Graph, seed: int = 0) -> list[Array]:
    """Values for all inputs, any that s8 has."""
    rng = np.random.default_rng(seed)
    kinds = [graph.tensors[index].type for index in graph.inputs]
    return [rng.integers(-128, 128, kind.shape).astype(np.int8) for kind in kinds]


def expected_outputs(inputs: Sequence[Array], threshold: int) -> Array:
    """What the model must give: the definition of its operators, written in another way."""
    distance = np.abs(inputs[0].astype(np.int64) - inputs[1].astype(np.int64))
    moved = np.clip(np.where(distance > threshold, distance, 0) - 128, -128, 127).astype(np.int8)
    _, height, width, channels = moved.shape
    even = moved[:, : height // 2 * 2, : width // 2 * 2]
    pooled: Array = even.reshape(1, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))
    return pooled
