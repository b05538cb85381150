"""The table of uTensor's operators: each that it names exists, in Python and in C, and every one of uTensor's is in it."""

import re

from kibi import ops
from kibi.eager import legacy, normalization, pools
from kibi.eager_c.calls import FUNCTIONS, OPERATORS
from kibi.eager_c.sources import operators
from tests.docs.documents import DOCS

_MODULES = {"ops": ops, "pools": pools, "legacy": legacy, "normalization": normalization}
_UTENSOR = """
    ReLUOperator InPlaceReLU ReLU6Operator InPlaceReLU6 SoftmaxOperator InPlaceSoftmax LogisticOperator InPlaceLogistic
    SigmoidOperator TanhOperator SinOperator RsqrtOperator AddOperator SubOperator MulOperator DivOperator MinOperator MaxOperator
    SumOperator ReduceMeanOperator ArgMaxOperator ArgMinOperator MatrixMultOperator MatrixMultOperatorV2 FullyConnectedOperator
    QuantizedMatrixMultiplyOperator Conv2dOperator CmsisConvOperator DepthwiseSeparableConvOperator
    CmsisDepthwiseSeparableConvOperator MaxPoolOperator AvgPoolOperator MinPoolOperator GenericPoolOperator QuantizeOperator
    DequantizeOperator ReshapeOperator SqueezeOperator TransposeOperator ConcatOperator StridedSliceOperator BatchNorm
"""
"""Its operators that compute something: src/uTensor/ops/**/*.hpp."""


def _rows() -> list[list[str]]:
    page = (DOCS / "operators-by-hand.md").read_text(encoding="utf-8")
    lines = page.partition("## Where uTensor's operators are")[2].splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")][1:]


def _names(cell: str) -> list[str]:
    return re.findall(r"`([\w.]+)`", cell)


def test_every_operator_of_the_table_exists() -> None:
    """In Python under its module's name, in C as a function of the library."""
    for _, python, in_c in _rows():
        assert _names(python)
        assert set(_names(in_c)) <= set(operators())
        for name in _names(python):
            module, _, attribute = name.partition(".")
            assert callable(getattr(_MODULES[module], attribute)), name


def test_every_operator_of_utensor_is_in_the_table() -> None:
    """None that computes something is missing, and none is there twice."""
    named = [name for row in _rows() for name in _names(row[0])]
    assert sorted(named) == sorted(_UTENSOR.split())


def test_recording_writes_the_operator_that_the_table_names() -> None:
    """What Python's operator becomes in C is in the same line."""
    for _, python, in_c in _rows():
        for name in _names(python):
            module, _, attribute = name.partition(".")
            if module == "ops":
                assert OPERATORS[getattr(ops, attribute).name].name in _names(in_c)
            elif attribute != "generic_pool2d":
                assert FUNCTIONS[attribute].name in _names(in_c)
