"""Runs ONNX models by way of Kibi's reader, with inputs and outputs as ONNX has them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.onnx import Conversion, convert
from kibi.frontends.onnx.graph import Numbers
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph, Tensor
from kibi.planner import plan
from kibi.runtime import Interpreter
from kibi.targets import target


def given(graph: Graph, conversion: Conversion, inputs: Mapping[str, Numbers]) -> list[Numbers]:
    """Inputs in ONNX's order and types as the converted model takes them."""
    taken = []
    for index in graph.inputs:
        tensor = graph.tensors[index]
        array = np.asarray(inputs[tensor.name])
        order = conversion.orders.get(tensor.name)
        array = array.transpose(order) if order else array
        taken.append(np.ascontiguousarray(_stored(array, tensor)).reshape(tensor.type.shape))
    return taken


def _stored(array: Numbers, tensor: Tensor) -> Numbers:
    dtype = tensor.type.dtype
    if dtype is DType.S8 and array.dtype == np.uint8:
        return (array.astype(np.int16) - 128).astype(np.int8)
    if dtype is DType.S16 and array.dtype == np.uint16:
        return (array.astype(np.int32) - 32768).astype(np.int16)
    return array.astype(dtype.numpy)


def taken(
    conversion: Conversion, names: Sequence[str], outputs: Sequence[Numbers], kinds: Sequence[Any]
) -> list[Numbers]:
    """The outputs of the converted model in ONNX's order and types."""
    found = []
    for name, array, kind in zip(names, outputs, kinds, strict=True):
        order = conversion.orders.get(name)
        plain = array.transpose(np.argsort(order)) if order else array
        if kind == np.uint8 and plain.dtype == np.int8:
            plain = (plain.astype(np.int16) + 128).astype(np.uint8)
        if kind == np.uint16 and plain.dtype == np.int16:
            plain = (plain.astype(np.int32) + 32768).astype(np.uint16)
        found.append(plain)
    return found


def run(graph: Graph, inputs: Sequence[Numbers]) -> list[Numbers]:
    """The outputs of a model, computed by Kibi's runtime."""
    return list(Interpreter(graph, plan(graph, target("host"))).run(inputs))


def run_onnx(
    model: Any, inputs: Mapping[str, Numbers], kinds: Sequence[Any], shapes: Mapping[str, Sequence[int]] | None = None
) -> list[Numbers]:
    """The outputs of a `ModelProto`, in ONNX's order of axes.

    Args:
        model: the model.
        inputs: by name.
        kinds: NumPy's types of the outputs.
        shapes: of inputs whose sizes are open.
    """
    conversion = convert(model.SerializeToString(), "model.onnx", shapes or {})
    graph = parse_tflite(conversion.data, "model.tflite")
    outputs = run(graph, given(graph, conversion, inputs))
    return taken(conversion, [output.name for output in model.graph.output], outputs, kinds)
