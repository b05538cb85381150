"""ONNX's own backend tests of single operators, and which of them the reader refuses."""

import importlib
import pkgutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from kibi.frontends.onnx.graph import Numbers

REFUSED: Mapping[str, str] = MappingProxyType({
    r"(cast|castlike|dequantizelinear|quantizelinear)_.*(FLOAT4|FLOAT8|float4|e4m3|e5m2).*": "elements of type FLOAT",
    r"(cast|castlike)_.*INT[24](_.*)?": "INT[24] are not supported",
    r"dequantizelinear_u?int[24]": "INT[24] are not supported",
    r"quantizelinear_(axis|u?int[24])": "it quantizes each channel of what is computed",
    r"dequantizelinear_axis": "it gives each channel of computed integers a scale",
    r"(de)?quantizelinear_blocked.*": "scales of blocks are supported for constants alone",
    r"quantizelinear_u?int16": "it makes 16-bit integers with a zero point",
    r"dynamicquantizelinear.*": "a cast to UINT8 is not supported",
    r"(?!dequantize)\w+_uint(16|64)": "elements of type UINT(16|64) are not supported",
    r"(add|div|max|min|mul|sub)_uint8": "elements of u8 without a scale",
    r"maxpool_2d_uint8": "input of type u8 is not supported",
    r"equal_string.*": "elements of type STRING",
    r"clip_default_int8_(min|max)": "elements of s8 are not supported",
    r"(cumsum_.*_int32.*|gathernd_example_int32.*|edge_pad|reflect_pad|wrap_pad)": "elements of s32|batch axes",
    r"reduce_(max|min)_bool_inputs": "elements of bool are not supported",
    r"mod_(int64_fmod|mixed_sign_int16|mixed_sign_int8|uint8|uint32)": "remainders of",
    r"pow(_example|_bcast_array|_types_.*)?": "its exponent is not one constant number|UINT64",
    r"(lppool|maxpool|averagepool|convtranspose)_3d.*": "windows of 3 axes are not supported",
    r"(lppool|averagepool)_2d_dilations": "a dilation of \\[2, 2\\] is not supported",
    r"maxpool_with_argmax.*": "its second output",
    r"(training_dropout.*|dropout_default_mask.*)": "it drops elements at random|its mask is not supported",
    r"batchnorm_\w+_training_mode": "it learns, as in training",
    r"\w+_(empty_set.*|zero|shape_zero|allowzero_reordered|zero_size_splits.*|start_greater_than_end)": "no elements|is not known",
    r"slice_start_out_of_bounds": "no elements",
    r"resize_tf_crop_and_resize_extrapolation_value": "its values from outside of the image",
    r"scan_sum": "Scan of opset 8, whose sequences have an axis for the batch",
    r"loop11": "how often it runs is not known ahead of time",
    r"range_b?float16_.*": "the shape of 1 of its outputs is not known",
})  # fmt: skip
"""Regular expressions for the names of tests, without `test_`, and for the reasons why the reader refuses their models."""
FOLDED = frozenset(("Constant", "ConstantOfShape", "EyeLike", "Range"))
"""Operators that are computed when the file is read, so that all their inputs are constants."""


@dataclass(frozen=True, slots=True)
class NodeCase:
    """A model of one operator, its inputs, and what ONNX says that it computes.

    Attributes:
        name: ONNX's name of the test.
        model: the `ModelProto`.
        inputs: in its order.
        outputs: in its order.
        rtol, atol: how near the outputs are to be, at the least.
    """

    name: str
    model: Any = field(repr=False)
    inputs: Sequence[Numbers] = field(repr=False)
    outputs: Sequence[Numbers] = field(repr=False)
    rtol: float
    atol: float

    def with_constants(self, first: int) -> tuple[Any, dict[str, Numbers]]:
        """The model whose inputs from that place on are constants, and the arrays of the others by name."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        values = list(model.graph.input)
        del model.graph.input[first:]
        pairs = list(zip(values, self.inputs, strict=False))
        model.graph.initializer.extend(numpy_helper.from_array(array, value.name) for value, array in pairs[first:])
        return model, {value.name: array for value, array in pairs[:first]}


@cache
def modules() -> tuple[str, ...]:
    """The names of the modules with tests: each is that of an operator."""
    from onnx.backend.test.case import node  # noqa: PLC0415 - slow to import

    return tuple(name for _, name, is_package in pkgutil.iter_modules(node.__path__) if not is_package)


@cache
def cases_of(module: str) -> tuple[NodeCase, ...]:
    """The tests of an operator, without those in which ONNX has taken its function apart."""
    from onnx.backend.test.case import node  # noqa: PLC0415 - as above

    before = len(node._NodeTestCases)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module(f"{node.__name__}.{module}")
    return tuple(each for case in node._NodeTestCases[before:] if "_expanded" not in case.name for each in _read(case))


def _read(case: Any) -> Iterator[NodeCase]:
    for inputs, outputs in case.data_sets:
        if all(isinstance(each, np.ndarray | np.generic | onnx.TensorProto) for each in (*inputs, *outputs)):
            arrays = [[_array(each) for each in group] for group in (inputs, outputs)]
            yield NodeCase(case.name, case.model, arrays[0], arrays[1], case.rtol, case.atol)


def _array(value: Any) -> Numbers:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)
