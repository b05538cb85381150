"""Write a model that has the custom operator: two frames in, a coarse map of what moved out.

    python examples/custom_operator/make_model.py motion.tflite

A converter writes such a file where a network calls an operator that TensorFlow Lite does not have; this script does it by
hand, with the schema's generated code.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import tflite
from flatbuffers import flexbuffers

_SCALE, _ZERO_POINT = 1 / 255, -128


def _table(wire: Any, name: str, **fields: Any) -> int:
    """One table of the schema with these fields."""
    getattr(tflite, f"{name}Start")(wire)
    for field, value in fields.items():
        getattr(tflite, f"{name}Add{field}")(wire, value)
    place: int = getattr(tflite, f"{name}End")(wire)
    return place


def _tables(wire: Any, start: Callable[[Any, int], object], places: Sequence[int]) -> int:
    """A vector of tables."""
    start(wire, len(places))
    for place in reversed(places):
        wire.PrependUOffsetTRelative(place)
    vector: int = wire.EndVector()
    return vector


def _numbers(wire: Any, *values: float, kind: type[np.generic] = np.int32) -> int:
    """A vector of numbers."""
    vector: int = wire.CreateNumpyVector(np.array(values, kind))
    return vector


def _tensor(wire: Any, name: str, *shape: int) -> int:
    """A tensor of s8 without data."""
    text = wire.CreateString(name)
    zero_points = _numbers(wire, _ZERO_POINT, kind=np.int64)
    quantization = _table(
        wire, "QuantizationParameters", Scale=_numbers(wire, _SCALE, kind=np.float32), ZeroPoint=zero_points
    )
    sizes = _numbers(wire, *shape)
    return _table(
        wire, "Tensor", Name=text, Shape=sizes, Type=tflite.TensorType.INT8, Buffer=0, Quantization=quantization
    )


def model(height: int = 24, width: int = 32, threshold: int = 12) -> bytes:
    """FRAME_DIFFERENCE of two frames `[1, height, width, 1]`, then the largest difference of each 8 by 8 pixels."""
    wire = flatbuffers.Builder(1024)
    frames = [_tensor(wire, name, 1, height, width, 1) for name in ("frame", "background", "difference")]
    tensors = [*frames, _tensor(wire, "motion", 1, height // 8, width // 8, 1)]
    codes = [
        _table(
            wire,
            "OperatorCode",
            CustomCode=wire.CreateString("FRAME_DIFFERENCE"),
            DeprecatedBuiltinCode=tflite.BuiltinOperator.CUSTOM,
            BuiltinCode=tflite.BuiltinOperator.CUSTOM,
        ),
        _table(
            wire,
            "OperatorCode",
            DeprecatedBuiltinCode=tflite.BuiltinOperator.MAX_POOL_2D,
            BuiltinCode=tflite.BuiltinOperator.MAX_POOL_2D,
        ),
    ]
    options = np.frombuffer(bytes(flexbuffers.Dumps({"threshold": threshold})), np.uint8)
    pool = _table(
        wire, "Pool2DOptions", Padding=tflite.Padding.VALID, StrideH=8, StrideW=8, FilterHeight=8, FilterWidth=8
    )
    ends = [(_numbers(wire, 0, 1), _numbers(wire, 2)), (_numbers(wire, 2), _numbers(wire, 3))]
    custom = wire.CreateNumpyVector(options)
    operators = [
        _table(wire, "Operator", OpcodeIndex=0, Inputs=ends[0][0], Outputs=ends[0][1], CustomOptions=custom),
        _table(
            wire,
            "Operator",
            OpcodeIndex=1,
            Inputs=ends[1][0],
            Outputs=ends[1][1],
            BuiltinOptionsType=tflite.BuiltinOptions.Pool2DOptions,
            BuiltinOptions=pool,
        ),
    ]
    graph = {
        "Tensors": _tables(wire, tflite.SubGraphStartTensorsVector, tensors),
        "Operators": _tables(wire, tflite.SubGraphStartOperatorsVector, operators),
        "Inputs": _numbers(wire, 0, 1),
        "Outputs": _numbers(wire, 3),
    }
    parts = {
        "Subgraphs": _tables(wire, tflite.ModelStartSubgraphsVector, [_table(wire, "SubGraph", **graph)]),
        "OperatorCodes": _tables(wire, tflite.ModelStartOperatorCodesVector, codes),
        "Buffers": _tables(wire, tflite.ModelStartBuffersVector, [_table(wire, "Buffer")]),
    }
    wire.Finish(_table(wire, "Model", Version=3, **parts), b"TFL3")
    return bytes(wire.Output())


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(model())
