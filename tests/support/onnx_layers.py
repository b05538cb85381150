"""ONNX models of one layer, for which rounding is measured."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.support.onnx_models import OnnxBuilder, OnnxCase

_IMAGE = (1, 4, 9, 11)
_ROWS = (3, 12)


def _image(build: Callable[[OnnxBuilder, str], str]) -> Callable[[int], OnnxCase]:
    return _layer(build, _IMAGE)


def _rows(build: Callable[[OnnxBuilder, str], str]) -> Callable[[int], OnnxCase]:
    return _layer(build, _ROWS)


def _layer(build: Callable[[OnnxBuilder, str], str], shape: tuple[int, ...]) -> Callable[[int], OnnxCase]:
    def case(seed: int) -> OnnxCase:
        b = OnnxBuilder(seed)
        x = b.input(shape)
        inputs = {"x": np.random.default_rng(seed).normal(size=shape).astype(np.float32)}
        return OnnxCase(b.model(build(b, x)), inputs)

    return case


def _two(op: str, low: float = -3) -> Callable[[int], OnnxCase]:
    def case(seed: int) -> OnnxCase:
        b = OnnxBuilder(seed)
        names = [b.input(_IMAGE, name=name) for name in ("x", "y")]
        rng = np.random.default_rng(seed)
        inputs = {name: rng.uniform(low, low + 5, _IMAGE).astype(np.float32) for name in names}
        attributes: dict[str, Any] = {"axis": 1} if op == "Concat" else {}
        return OnnxCase(b.model(str(b.node(op, *names, **attributes))), inputs)

    return case


LAYERS: Mapping[str, Callable[[int], OnnxCase]] = {
    "Add": _two("Add"),
    "AveragePool": _image(lambda b, x: b.node("AveragePool", x, kernel_shape=(3, 3), strides=(2, 2))),
    "Clip": _image(lambda b, x: b.node("Clip", x, b.constant(np.float32(-0.5)), b.constant(np.float32(1)))),  # type: ignore[arg-type]
    "Concat": _two("Concat"),
    "Conv": _image(lambda b, x: b.node("Conv", x, b.weights(6, 4, 3, 3), b.vector(6), pads=(1, 1, 1, 1))),
    "Conv, depthwise": _image(lambda b, x: b.node("Conv", x, b.weights(4, 1, 3, 3), b.vector(4), group=4)),
    "ConvTranspose": _image(
        lambda b, x: b.node("ConvTranspose", x, b.weights(4, 3, 3, 3), b.vector(3), strides=(2, 2))
    ),
    "Gemm": _rows(lambda b, x: b.node("Gemm", x, b.weights(7, 12), b.vector(7), transB=1)),
    "GlobalAveragePool": _image(lambda b, x: b.node("GlobalAveragePool", x)),
    "HardSigmoid": _image(lambda b, x: b.node("HardSigmoid", x)),
    "HardSwish": _image(lambda b, x: b.node("HardSwish", x)),
    "LeakyRelu": _image(lambda b, x: b.node("LeakyRelu", x, alpha=0.1)),
    "LogSoftmax": _rows(lambda b, x: b.node("LogSoftmax", x)),
    "MatMul": _rows(lambda b, x: b.node("MatMul", x, b.weights(12, 7))),
    "MaxPool": _image(lambda b, x: b.node("MaxPool", x, kernel_shape=(2, 2), strides=(2, 2))),
    "Mul": _two("Mul"),
    "ReduceMean": _rows(lambda b, x: b.node("ReduceMean", x, b.constant(np.array([1])))),
    "Relu": _image(lambda b, x: b.node("Relu", x)),
    "Resize": _image(
        lambda b, x: b.node("Resize", x, "", b.constant(np.array([1, 1, 2, 2], np.float32)), mode="linear")
    ),
    "Sigmoid": _image(lambda b, x: b.node("Sigmoid", x)),
    "Softmax": _rows(lambda b, x: b.node("Softmax", x)),
    "Sub": _two("Sub"),
    "Tanh": _image(lambda b, x: b.node("Tanh", x)),
}
"""From a seed to a model of one float32 layer."""
