"""Lifetimes of buffers."""

import pytest

from kibi.dtypes import DType
from kibi.errors import PlanError
from kibi.planner import Buffer, Run, file_order, lifetimes
from tests.planner.networks import Doubling, Sum, Window, by_row, chain, constant, graph, residual, tallied


def _spans(buffers: tuple[Buffer, ...], tensor: int) -> list[tuple[int, int, int, int]]:
    return [(each.first_row, each.rows, each.start, each.end) for each in buffers if each.tensor == tensor]


def test_file_order_chain_one_run_for_each_node() -> None:
    """The file's order runs each operator to completion."""
    assert file_order(chain(3, 1, rows=5)) == (Run(0, 0, 5), Run(1, 0, 5))


def test_lifetimes_file_order_whole_tensors() -> None:
    """Where operators run to completion, each tensor is one buffer from its making to its last reader."""
    buffers = lifetimes(chain(3, 3, rows=4), (Run(0, 0, 4), Run(1, 0, 4)))
    assert _spans(buffers, 0) == [(0, 4, 0, 4)]
    assert _spans(buffers, 1) == [(0, 4, 0, 8)]
    assert _spans(buffers, 2) == [(0, 4, 4, 8)]
    assert [each.size_bytes for each in buffers] == [16, 16, 16]


def test_lifetimes_interleaved_rows_live_on_their_own() -> None:
    """Where making and reading interleave, each row lives from its step to its last reader."""
    net = chain(3, 3, rows=4)
    runs = (Run(0, 0, 2), Run(1, 0, 1), Run(0, 2, 1), Run(1, 1, 1), Run(0, 3, 1), Run(1, 2, 2))
    buffers = lifetimes(net, runs)
    assert _spans(buffers, 1) == [(0, 1, 0, 5), (1, 1, 1, 7), (2, 1, 3, 8), (3, 1, 5, 8)]
    assert _spans(buffers, 0) == [(0, 4, 0, 6)]
    assert _spans(buffers, 2) == [(0, 4, 2, 8)]


def test_lifetimes_unread_tensor_lives_while_it_is_made() -> None:
    """A tensor that nobody reads has a place during the steps that make it."""
    shape = (1, 4, 2, 1)
    net = graph([shape] * 3, [(Window(), (0,), 1), (Window(), (0,), 2)])
    assert _spans(lifetimes(net, file_order(net)), 1) == [(0, 4, 0, 4)]


def test_lifetimes_unread_row_lives_while_it_is_made() -> None:
    """A row that nobody reads lives for the step that makes it."""
    net = graph([(1, 4, 2, 1), (1, 4, 2, 1), (1, 2, 2, 1)], [(Window(), (0,), 1), (Window(1, 2), (1,), 2)])
    runs = (Run(0, 0, 1), Run(1, 0, 1), Run(0, 1, 2), Run(1, 1, 1), Run(0, 3, 1))
    assert _spans(lifetimes(net, runs), 1) == [(0, 1, 0, 2), (1, 1, 2, 3), (2, 1, 3, 5), (3, 1, 5, 6)]


def test_lifetimes_unread_input_lives_one_step() -> None:
    """A model input that nobody reads lives during step 0."""
    net = graph([(1, 4), (1, 4), (1, 4)], [(Window(), (0,), 2)], inputs=(0, 1))
    assert _spans(lifetimes(net, file_order(net)), 1) == [(0, 1, 0, 1)]


def test_lifetimes_model_output_read_on_lives_to_the_end() -> None:
    """A model output that other operators read lives until the last step, in one buffer, however they interleave."""
    shape = (1, 4, 2, 1)
    net = graph([shape] * 4, [(Window(), (0,), 1), (Window(), (1,), 2), (Window(), (2,), 3)], outputs=(1, 3))
    for runs in (file_order(net), by_row(net)):
        assert _spans(lifetimes(net, runs), 1) == [(0, 4, 0, 12)]


def test_lifetimes_constant_takes_no_buffer() -> None:
    """Tensors that the model file holds are not in the arena."""
    net = constant(graph([(1, 4), (1, 4), (1, 4)], [(Sum(), (0, 1), 2)], inputs=(0, 1)), 1)
    assert [each.tensor for each in lifetimes(net, file_order(net))] == [0, 2]


def test_lifetimes_scratch_one_buffer_from_first_to_last_step() -> None:
    """Scratch lives from its operator's first step to its last, and can be left out."""
    net = chain(3, 3, rows=4, scratch_bytes=10)
    runs = file_order(net)
    scratch = [each for each in lifetimes(net, runs) if each.tensor is None]
    assert [(each.nodes, each.size_bytes, each.alignment, each.start, each.end) for each in scratch] == [
        ((0,), 10, 4, 0, 4),
        ((1,), 10, 4, 4, 8),
    ]
    assert all(each.tensor is not None for each in lifetimes(net, runs, scratch=False))


def test_lifetimes_operators_that_interleave_share_their_scratch() -> None:
    """One step runs at a time, so that one buffer serves all whose steps take turns."""
    net = chain(3, 3, rows=4, scratch_bytes=10)
    scratch = [each for each in lifetimes(net, by_row(net)) if each.tensor is None]
    assert [(each.nodes, each.size_bytes, each.start, each.end) for each in scratch] == [((0, 1), 10, 0, 8)]


def test_lifetimes_shared_scratch_is_as_large_as_the_largest() -> None:
    """Whichever of the nodes that take turns comes first."""
    for sizes in ((10, 24), (24, 10)):
        nodes = [(Window(3, 1, 1, size), (number,), number + 1) for number, size in enumerate(sizes)]
        net = graph([(1, 4, 2, 1)] * 3, [*nodes])
        scratch = [each for each in lifetimes(net, by_row(net)) if each.tensor is None]
        assert [(each.nodes, each.size_bytes) for each in scratch] == [((0, 1), 24)]


def test_lifetimes_scratch_by_run_is_a_buffer_for_each_run_but_an_accumulator_is_one() -> None:
    """The bytes are free while other nodes run; what is added up stays from the first step to the last."""
    net = tallied(3, rows=4, scratch_bytes=10)
    runs = (Run(0, 0, 2), Run(1, 0, 1), Run(0, 2, 1), Run(1, 1, 1), Run(0, 3, 1), Run(1, 2, 2))
    scratch = [each for each in lifetimes(net, runs, by_run=(0, 1)) if each.tensor is None]
    assert sorted((each.nodes, each.start, each.end) for each in scratch) == [
        ((0,), 0, 2), ((0,), 3, 4), ((0,), 5, 6), ((1,), 2, 8)
    ]  # fmt: skip
    assert {each.size_bytes for each in scratch if each.node == 0} == {10}


def test_lifetimes_rows_of_one_step_live_until_the_last_of_them_is_read() -> None:
    """They are one buffer, however many other steps come in between."""
    net = graph([(1, 2, 3, 1), (1, 4, 3, 1), (1, 4, 3, 1)], [(Doubling(), (0,), 1), (Window(), (1,), 2)])
    runs = (Run(0, 0, 1), Run(1, 0, 1), Run(0, 1, 1), Run(1, 1, 3))
    made = [each for each in lifetimes(net, runs) if each.tensor == 1]
    assert [(each.first_row, each.rows, each.start, each.end) for each in made] == [(0, 2, 0, 4), (2, 2, 2, 6)]


def test_lifetimes_rows_of_a_split_input_lie_in_order_and_die_one_by_one() -> None:
    """A stored input starts the arena; each of its rows lives to its own last reader."""
    net = chain(3, rows=4)
    rows = [each for each in lifetimes(net, file_order(net), split={0}) if each.tensor == 0]
    row_bytes = net.tensors[0].type.row_bytes
    assert [(each.first_row, each.rows, each.offset, each.end, each.is_pinned) for each in rows] == [
        (0, 1, 0, 2, True),
        (1, 1, row_bytes, 3, True),
        (2, 2, 2 * row_bytes, 4, True),
    ]


@pytest.mark.parametrize(("dtype", "alignment"), [("s8", 1), ("s32", 4), ("s64", 8), ("u64", 8)])
def test_lifetimes_alignment_is_that_of_the_elements(dtype: str, alignment: int) -> None:
    """A buffer is aligned to its elements, whatever they are: C leaves other accesses undefined."""
    net = graph([(1, 4), (1, 4)], [(Window(), (0,), 1)], dtypes={0: DType(dtype), 1: DType(dtype)})
    assert {each.alignment for each in lifetimes(net, file_order(net))} == {alignment}


def test_lifetimes_split_input_after_odd_bytes_is_aligned() -> None:
    """The second of two inputs that are held row by row starts at a multiple of its elements' size."""
    net = graph(
        [(3, 1), (3, 1), (3, 1), (3, 1)], [(Window(), (0,), 2), (Window(), (1,), 3)], (0, 1), (2, 3),
        dtypes={1: DType.S64, 3: DType.S64},
    )  # fmt: skip
    pinned = [each for each in lifetimes(net, file_order(net), split={0, 1}) if each.is_pinned and each.tensor == 1]
    assert pinned
    assert [each.offset % 8 for each in pinned] == [0] * len(pinned)


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ((Run(0, 0, 4),), "row steps 0 to 3 of operator 1 (WINDOW) are never computed"),
        ((Run(0, 0, 4), Run(1, 0, 3)), "row steps 3 to 3 of operator 1"),
        ((Run(0, 0, 4), Run(0, 0, 4), Run(1, 0, 4)), "a second time"),
        ((Run(0, 2, 2), Run(0, 0, 2), Run(1, 0, 4)), "before those above it"),
        ((Run(0, 0, 4), Run(1, 0, 5)), "which has 4."),
        ((Run(0, 0, 4), Run(1, 0, 0)), "at least one each"),
        ((Run(0, 0, 4), Run(2, 0, 4)), "names node 2, but there are 2"),
        ((Run(0, 0, 4), Run(-1, 0, 4)), "names node -1"),
        ((Run(1, 0, 4), Run(0, 0, 4)), "step 0, row 0 of operator 1 (WINDOW), reads row 0 of tensor 't1'"),
        ((Run(0, 0, 2), Run(1, 0, 2), Run(0, 2, 2), Run(1, 2, 2)), "step 3, row 1 of operator 1 (WINDOW), reads row 2"),
    ],
)
def test_lifetimes_wrong_order_says_what_is_wrong(runs: tuple[Run, ...], text: str) -> None:
    """An order that cannot run ends in an error that names step, operator, row and tensor."""
    with pytest.raises(PlanError) as caught:
        lifetimes(chain(3, 3, rows=4), runs)
    assert text in str(caught.value)


def test_lifetimes_no_operator_is_an_error() -> None:
    """A model without operators cannot be planned."""
    with pytest.raises(PlanError, match="no operator"):
        lifetimes(graph([(1, 4)], [], outputs=(0,)), ())


def test_by_row_residual_keeps_file_order_out() -> None:
    """The tests' own interleaved order does interleave."""
    net = residual()
    assert len(by_row(net)) > len(file_order(net))
