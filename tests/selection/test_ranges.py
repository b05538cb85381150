"""Ranges of tensors: what operators say of them, and layers whose sums are small enough only because of their input's range."""

from dataclasses import replace

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.selection.conv2d_blocks import CONV2D_BLOCKS
from kibi.selection.conv2d_columns import CONV2D_COLUMNS
from kibi.selection.conv2d_pieces import CONV2D_PIECES
from kibi.selection.conv2d_winograd import CONV2D_WINOGRAD
from kibi.selection.convolution_call import inputs_of
from kibi.selection.odd_channels import ODD_CHANNELS
from kibi.selection.variant import Variant
from tests.kernels.emulated import linked, run
from tests.ops.comparison import assert_same, graph_of
from tests.support.operator_models import Case

_SHAPE = (1, 3, 4, 128)
_LOW, _HIGH = -128, -68
"""Of RELU6 in the scale 0.1 with zero point -128."""
_VARIANTS = (CONV2D_COLUMNS, CONV2D_BLOCKS, CONV2D_PIECES)


def _case(zero_point: int = -128, *, is_cut: bool = True, mover: str = "") -> Case:
    """A convolution 3 x 3 of 128 channels with weights -127 and 127, after a RELU6; the first input makes its sums largest."""
    random = np.random.default_rng(7)
    weights = random.permuted(np.tile(np.array([-127, 127], np.int8), (2, 9 * 64)), axis=1).reshape(2, 3, 3, 128)
    builder = ModelBuilder()
    scale = (0.1, zero_point)
    given = last = builder.input(_SHAPE, DType.S8, *scale)
    if is_cut:
        last = builder.tensor(_SHAPE, DType.S8, *scale)
        builder.operator("RELU6", [given], [last])
    if mover:
        source, last = last, builder.tensor(_SHAPE, DType.S8, *scale)
        builder.operator(mover, [source], [last], axis=3)
    made = builder.tensor((1, 3, 4, 2), DType.S8, 200.0, -3)
    filters = builder.constant(weights, [0.05, 0.05], [0, 0])
    biases = builder.constant(np.array([5, -9], np.int32), [0.005, 0.005], [0, 0])
    builder.operator("CONV_2D", [last, filters, biases], [made], padding="SAME", stride_h=1, stride_w=1)
    inputs = random.choice(np.array([_LOW, _HIGH], np.int8), _SHAPE)
    inputs[0, :, :3] = np.where(weights[0] > 0, _HIGH, _LOW)
    return Case("ranges", builder.finish(outputs=[made]), (inputs,))


def _packed_by(variant: Variant, graph: Graph) -> bool:
    return variant.pack(replace(graph.general_calls[-1], scratch_bytes=20_000)) is not None


@pytest.mark.parametrize("mover", ["", "CONCATENATION"])
def test_sums_are_bounded_by_the_range_of_the_input(mover: str) -> None:
    """With all of int8 they would be too large for packed pairs; moved elements keep their range."""
    graph = graph_of(_case(mover=mover))
    assert graph.general_calls[-1].input_range == (_LOW, _HIGH)
    assert all(_packed_by(each, graph) for each in (*_VARIANTS, CONV2D_WINOGRAD))
    whole = graph_of(_case(is_cut=False))
    assert whole.general_calls[-1].input_range == (-128, 127)
    assert not any(_packed_by(each, whole) for each in (*_VARIANTS, *ODD_CHANNELS[2:5]))


def test_joined_tensors_have_the_range_of_both() -> None:
    """What is given may be anything."""
    builder = ModelBuilder()
    given = builder.input(_SHAPE, DType.S8, 0.1, -128)
    tables = [builder.tensor(_SHAPE, DType.S8, 0.1, -128) for _ in range(2)]
    joined, made = (builder.tensor((1, 3, 4, 256), DType.S8, 0.1, -128) for _ in range(2))
    for name, table in zip(("RELU6", "RELU"), tables, strict=True):
        builder.operator(name, [given], [table])
    builder.operator("CONCATENATION", tables, [joined], axis=3)
    builder.operator("RELU6", [joined], [made])
    graph = graph_of(Case("joined", builder.finish(outputs=[made]), (np.zeros(_SHAPE, np.int8),)))
    assert [call.input_range for call in graph.general_calls] == [(-128, 127), (-128, 127), (_LOW, _HIGH), (-128, 127)]


def test_padding_belongs_to_the_range() -> None:
    """Windows hold the zero point where they reach beyond the image, though no element has to."""
    call = graph_of(_case()).general_calls[-1]
    params = call.params_as(Conv2DS8Params)
    assert inputs_of(call) == (_LOW, _HIGH)
    padded = replace(call, params=params.replaced(padding=np.full_like(params.padding, 100)))
    assert inputs_of(padded) == (_LOW, 100)


def test_largest_sums_of_a_range_have_the_bits_of_the_reference() -> None:
    """Each kernel of packed pairs, on the core, with inputs that reach the bounds."""
    case = _case()
    graph = graph_of(case)
    expected = kibi.run(graph, None, case.inputs)
    kernels = linked(tuple(each.kernel for each in _VARIANTS), "cortex-m4", "zig", "s")
    for variant in _VARIANTS:
        packed = variant.pack(replace(graph.general_calls[-1], scratch_bytes=20_000))
        assert packed is not None
        found: Array = run(kernels, graph.views[-1], case.inputs, np.random.default_rng(1), packed)
        assert_same(graph, [found], expected)
