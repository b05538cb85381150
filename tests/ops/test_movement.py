"""Operators that only move elements: their rows, their refusals, and how they go with others in one plan."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kibi.dtypes import DType
from kibi.eager.operators import bind
from kibi.eager.tensors import BufferTensor
from kibi.errors import InputError, ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from kibi.ir import Graph, TensorType
from kibi.ops import Concatenation
from kibi.passes import expose_intermediates
from kibi.planner import plan, validate
from kibi.runtime import Interpreter
from kibi.targets import target
from kibi.tflm import Oracle
from tests.ops.comparison import assert_same, graph_of
from tests.ops.orders import interleaved
from tests.support.amount import amount
from tests.support.choices import Choices, Drawn, elements
from tests.support.operator_models import Case

_SCALE = (0.05, 3)


class _Moves:
    """A model of s8 tensors with one scale."""

    def __init__(self) -> None:
        self.builder = ModelBuilder()

    def input(self, *shape: int) -> int:
        return self.builder.input(shape, DType.S8, *_SCALE)

    def numbers(self, *values: int) -> int:
        return self.builder.constant(np.array(values, np.int32))

    def then(self, name: str, operands: Sequence[int], *shapes: Sequence[int], **how: Attribute) -> tuple[int, ...]:
        """Apply an operator; the outputs' indices."""
        outputs = tuple(self.builder.tensor(shape, DType.S8, *_SCALE) for shape in shapes)
        self.builder.operator(name, operands, outputs, how)
        return outputs

    def graph(self, *outputs: int) -> Graph:
        return parse_tflite(self.builder.finish(outputs=outputs), "moves.tflite")


def _joined(axis: int, *shapes: Sequence[int], **how: Attribute) -> Graph:
    moves = _Moves()
    operands = [moves.input(*shape) for shape in shapes]
    output = [sum(sizes) if number == axis else sizes[0] for number, sizes in enumerate(zip(*shapes, strict=True))]
    return moves.graph(*moves.then("CONCATENATION", operands, output, axis=axis, **how))


def test_concatenation_along_rows_reads_one_row_for_each() -> None:
    """Rows of the output are rows of one input: a step reads that row, and may write over it."""
    (view,) = _joined(1, (1, 3, 4, 2), (1, 2, 4, 2)).views
    needs = [[access.needs(step) for access in view.op.accesses(view)] for step in range(view.steps)]
    assert needs == [[(0,), ()], [(1,), ()], [(2,), ()], [(), (0,)], [(), (1,)]]
    assert view.op.kernel_call(view).inplace_distance_bytes == (0, 0)


def test_concatenation_along_channels_reads_a_row_of_each_input() -> None:
    """Each output row is made of the rows at its place; the second input may be overwritten where its part begins later."""
    (view,) = _joined(3, (1, 3, 4, 2), (1, 3, 4, 1)).views
    assert [[access.needs(step) for access in view.op.accesses(view)] for step in range(3)] == [
        [(y,), (y,)] for y in range(3)
    ]
    assert view.op.kernel_call(view).inplace_distance_bytes == (3, 8)


def test_transpose_of_height_and_width_goes_by_the_row() -> None:
    """Each output row takes a column of the input; to move channels to the front, all is read at once."""
    moves = _Moves()
    source = moves.input(1, 3, 4, 2)
    first = moves.then("TRANSPOSE", [source, moves.numbers(0, 2, 1, 3)], (1, 4, 3, 2))
    second = moves.then("TRANSPOSE", [source, moves.numbers(0, 3, 1, 2)], (1, 2, 3, 4))
    one, other = moves.graph(*first, *second).views
    assert (one.steps, other.steps) == (4, 2)  # three rows, twelve pixels: few pointers
    assert [access.needs(0) for access in one.op.accesses(one)] == [(0, 1, 2)]


def test_transpose_that_needs_many_pointers_runs_in_one_step() -> None:
    """Channels in front of a larger image: the input is read by its rows, and the output made whole."""
    moves = _Moves()
    (view,) = moves.graph(
        *moves.then("TRANSPOSE", [moves.input(1, 6, 5, 3), moves.numbers(0, 3, 1, 2)], (1, 3, 6, 5))
    ).views
    (access,) = view.op.accesses(view)
    assert (view.steps, access.count, view.made_rows(0)) == (1, 6, range(3))


def test_strided_slice_of_rows_reads_one_row_for_each() -> None:
    """A step back through the rows reads one of them for each output row."""
    moves = _Moves()
    constants = [moves.numbers(*values) for values in ((0, 5, 1, 0), (1, 0, 3, 2), (1, -2, 1, 1))]
    graph = moves.graph(*moves.then("STRIDED_SLICE", [moves.input(1, 6, 4, 2), *constants], (1, 3, 2, 2)))
    (view,) = graph.views
    assert [view.op.accesses(view)[0].needs(step) for step in range(3)] == [(5,), (3,), (1,)]


def test_split_becomes_a_node_for_each_output_that_is_read() -> None:
    """Nodes share the operator's index and label; a part that nobody reads is not computed, one that is an output is."""
    moves = _Moves()
    parts = moves.then("SPLIT", [moves.numbers(1), moves.input(1, 6, 2, 1)], *[(1, 2, 2, 1)] * 3, num_splits=3)
    (relu,) = moves.then("RELU", [parts[0]], (1, 2, 2, 1))
    graph = moves.graph(relu, parts[2])
    assert [node.label for node in graph.nodes] == ["operator 0 (SPLIT)", "operator 0 (SPLIT)", "operator 1 (RELU)"]
    assert [node.outputs for node in graph.nodes] == [(parts[0],), (parts[2],), (relu,)]
    assert set(expose_intermediates(graph).outputs) == {parts[0], parts[2], relu}


def test_unpack_of_which_nothing_is_read_keeps_one_node() -> None:
    """An operator stays in the graph, though nobody reads it."""
    moves = _Moves()
    source = moves.input(2, 3)
    moves.then("UNPACK", [source], (3,), (3,), num=2)
    graph = moves.graph(*moves.then("RELU", [source], (2, 3)))
    assert [node.op.name for node in graph.nodes] == ["UNPACK", "RELU"]


def _refused(make: Callable[[_Moves], tuple[int, ...]], match: str) -> None:
    moves = _Moves()
    outputs = make(moves)
    with pytest.raises(ModelError, match=match):
        moves.graph(*outputs)


def test_load_concatenation_of_other_scale_is_refused() -> None:
    """TFLM rescales nothing: the input that differs is named with both scales."""

    def make(moves: _Moves) -> tuple[int, ...]:
        other = moves.builder.input((1, 2), DType.S8, 0.25, 3, name="other")
        return moves.then("CONCATENATION", [moves.input(1, 2), other], (1, 4), axis=1)

    _refused(make, r"tensor 'other': CONCATENATION: input1 has scale 0\.25 and zero point 3, the output")


@pytest.mark.parametrize(
    ("name", "how", "match"),
    [
        ("CONCATENATION", {"axis": 2}, "axis 2 is none"),
        ("CONCATENATION", {"axis": 1, "fused_activation_function": "RELU"}, "fused activation RELU"),
        ("CONCATENATION", {"axis": 0}, "output has shape"),
        ("PACK", {"axis": 1, "values_count": 3}, "its options say 3 inputs, but it has 2"),
        ("PACK", {"axis": 3, "values_count": 2}, "axis 3 is none"),
    ],
)
def test_load_joining_that_tflm_refuses_or_reads_wrongly_is_refused(
    name: str, how: dict[str, Attribute], match: str
) -> None:
    """Axes, activations and counts are checked when the model is loaded."""
    _refused(lambda moves: moves.then(name, [moves.input(1, 2), moves.input(1, 2)], (1, 4), **how), match)


@pytest.mark.parametrize(
    ("rows", "how", "match"),
    [
        (((0, 0), (1, 2), (1, 0)), {}, "the stride of axis 1 is 0"),
        (((0, 2), (1, 4), (1, 1)), {"ellipsis_mask": 1}, "an ellipsis mask"),
        (((0, 2), (1, 4), (1, 1)), {"new_axis_mask": 1}, "a new axis mask"),
        (((0, 2), (1, 2), (1, 1)), {"offset": True}, "counted from the begins"),
        (((0, 2), (1, 2), (1, 1)), {}, "selects nothing"),
        (((0, 9), (1, 9), (1, 1)), {"shrink_axis_mask": 2}, "selects nothing"),
        (((0,), (1,), (1,)), {}, "begin has 1 elements, but the input has 2 axes"),
    ],
)
def test_load_strided_slice_that_tflm_reads_wrongly_is_refused(
    rows: Sequence[Sequence[int]], how: dict[str, Attribute], match: str
) -> None:
    """What TFLM ignores, or reads past the end of a constant, is an error."""
    _refused(
        lambda moves: moves.then(
            "STRIDED_SLICE", [moves.input(1, 4), *(moves.numbers(*row) for row in rows)], (1, 2), **how
        ),
        match,
    )


def test_load_parts_that_do_not_fit_are_refused() -> None:
    """Sizes, counts and axes of SPLIT, SPLIT_V, UNPACK, SLICE, TRANSPOSE, SQUEEZE and EXPAND_DIMS must fit the input."""
    _refused(lambda m: m.then("SPLIT", [m.numbers(1), m.input(1, 5)], (1, 2), (1, 2)), "cannot be split into 2 equal")
    _refused(lambda m: m.then("SPLIT", [m.numbers(7), m.input(1, 4)], (1, 2), (1, 2)), "axis 7 is none")
    _refused(lambda m: m.then("SPLIT_V", [m.input(1, 5), m.numbers(2, 2), m.numbers(1)], (1, 2), (1, 2)), "of sizes")
    _refused(lambda m: m.then("UNPACK", [m.input(2, 5)], (5,), (5,), num=3), "another number of outputs than 2")
    _refused(lambda m: m.then("UNPACK", [m.input(3, 5)], (5,), (5,), num=2), "cannot be taken apart")
    _refused(lambda m: m.then("SLICE", [m.input(1, 5), m.numbers(0, 3), m.numbers(1, 3)], (1, 3)), "has no 3 elements")
    _refused(lambda m: m.then("TRANSPOSE", [m.input(1, 5), m.numbers(1, 1)], (5, 5)), "no permutation")
    _refused(lambda m: m.then("SQUEEZE", [m.input(1, 5)], (1,), squeeze_dims=[1]), "are not all of size 1")
    _refused(lambda m: m.then("EXPAND_DIMS", [m.input(1, 5), m.numbers(3)], (1, 5, 1)), "axis 3 is none")


def test_concatenation_by_hand_with_a_gap_is_refused() -> None:
    """An input that is left out in front of another has no meaning."""
    tensor, output = (BufferTensor(TensorType((1, size), DType.S8), bytearray(size)) for size in (2, 4))
    with pytest.raises(InputError, match="input1 is left out, but input2 is there"):
        bind(Concatenation(axis=1), input0=tensor, input2=tensor, output=output)


def _network(c: Choices) -> Case:
    """An image taken apart along an axis, its parts changed, put together in another order, and moved once more."""
    moves, axis, count = _Moves(), c.integer(1, 3), c.integer(2, 3)
    part = [c.one_of((1, 1, 2)), c.integer(1, 4), c.integer(1, 4), c.integer(1, 3)]
    shape = [size * count if number == axis else size for number, size in enumerate(part)]
    source = moves.input(*shape)
    (head,) = moves.then("RELU", [source], shape) if c.one_of((False, True)) else (source,)
    parts = list(moves.then("SPLIT", [moves.numbers(axis), head], *[part] * count, num_splits=count))
    for number in range(count):
        if c.one_of((False, True)):
            (parts[number],) = moves.then("RELU", [parts[number]], part)
    parts = parts[::-1] + [moves.builder.constant(elements(c, part), *_SCALE)] * c.integer(0, 1)
    along = c.integer(1, 3)
    wide = [size * len(parts) if number == along else size for number, size in enumerate(part)]
    (whole,) = moves.then("CONCATENATION", parts, wide, axis=along)
    order = c.one_of(((0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2)))
    (turned,) = moves.then("TRANSPOSE", [whole, moves.numbers(*order)], [wide[number] for number in order])
    (last,) = moves.then("RELU6", [turned], [wide[number] for number in order])
    return Case("NETWORK", moves.builder.finish(outputs=[last]), (elements(c, shape),))


@st.composite
def _networks(draw: st.DrawFn) -> Case:
    return _network(Drawn(draw))


@settings(max_examples=amount(20, 100))
@given(case=_networks())
def test_moves_in_a_network_equal_tflm(case: Case, oracle: Oracle) -> None:
    """Parts of one operator take turns with all others, in plans to completion and interleaved row by row."""
    graph, wanted = graph_of(case), oracle.run(case.model, [case.inputs])[0].outputs
    for runs in (None, interleaved(graph)):
        made = plan(graph, target("host"), runs=runs)
        validate(graph, made)
        assert_same(graph, Interpreter(graph, made).run(case.inputs), wanted)
