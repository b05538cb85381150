"""The naive validator: right plans pass, each kind of wrong plan is named."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kibi.dtypes import DType
from kibi.errors import PlanError
from kibi.ir import Graph, Operator
from kibi.planner import Buffer, Plan, Run, plan, validate
from kibi.targets import target
from tests.planner.networks import Tally, Window, by_row, chain, graph, joined, residual, tallied

M4 = target("cortex-m4")
Change = Callable[[Plan], Plan]


def _refusal(net: Graph, wrong: Plan) -> str:
    with pytest.raises(PlanError) as caught:
        validate(net, wrong)
    return str(caught.value)


def _with(made: Plan, index: int, **changes: int | str | None) -> Plan:
    """The plan with one buffer changed."""
    buffers = list(made.buffers)
    buffers[index] = replace(buffers[index], **changes)  # type: ignore[arg-type]  # each test names its own field
    return replace(made, buffers=tuple(buffers))


@pytest.mark.parametrize("scratch_bytes", [0, 24])
def test_validate_planned_orders_pass(scratch_bytes: int) -> None:
    """What the planner makes is right, run to completion and by the row."""
    for net in (chain(3, 1, 5, scratch_bytes=scratch_bytes), residual(scratch_bytes=scratch_bytes)):
        validate(net, plan(net, M4))
        validate(net, plan(net, M4, runs=by_row(net)))


def test_validate_residual_by_row_passes_and_is_smaller() -> None:
    """Rows of three convolutions and their residual addition, interleaved by hand, need less than whole tensors."""
    net = residual(rows=6, row_bytes=10)
    # The first convolution's output is completed; behind it, additions wait for two rows of the second convolution.
    rows = [Run(node, row - lag, 1) for row in range(1, 6) for node, lag in ((1, 0), (2, 1), (3, 1))]
    runs = joined([Run(0, 0, 6), Run(1, 0, 1), *rows, Run(2, 5, 1), Run(3, 5, 1), Run(4, 0, 1)])
    by_hand = plan(net, M4, runs=runs)
    validate(net, by_hand)
    whole = plan(net, M4)
    assert len(by_hand.buffers) > len(whole.buffers)
    assert (by_hand.arena_bytes, whole.arena_bytes) == (160, 180)


def test_validate_plan_without_scratch_passes_only_when_asked() -> None:
    """A plan of activations alone is refused unless that is what was asked for."""
    net = chain(3, 3, scratch_bytes=8)
    made = plan(net, M4, scratch=False)
    validate(net, made, scratch=False)
    assert "operator 0 (WINDOW): needs 8 bytes of scratch, has 0" in _refusal(net, made)


@st.composite
def _networks(draw: st.DrawFn) -> Graph:
    """Chains of random heights, strides, paddings, widths and scratch, some of which end in an accumulator."""
    rows, width = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    shapes: list[tuple[int, ...]] = [(1, rows, width, 1)]
    nodes: list[tuple[Operator, tuple[int, ...], int]] = []
    for index in range(draw(st.integers(1, 5))):
        height, stride = draw(st.integers(1, 4)), draw(st.integers(1, 2))
        rows = -(-rows // stride)
        shapes.append((1, rows, width, draw(st.integers(1, 6))))
        op = Window(height, stride, draw(st.integers(0, height - 1)), draw(st.sampled_from((0, 6))))
        nodes.append((op, (index,), index + 1))
    if draw(st.booleans()):
        shapes.append((1, 5))
        nodes.append((Tally(scratch_bytes=20), (len(nodes),), len(nodes) + 1))
    return graph(shapes, nodes)


@settings(max_examples=60)
@given(_networks(), st.booleans())
def test_validate_random_networks_pass(net: Graph, interleaved: bool) -> None:
    """Plans of random networks are right, whatever the order."""
    validate(net, plan(net, M4, runs=by_row(net) if interleaved else None))


def _is_turned(net: Graph, one: Buffer, other: Buffer) -> bool:
    """Whether a node turns the rows of one buffer into those of the other: some overlaps of these are right."""
    turned = {(t.index, made) for view in net.views for t in view.row_tensors for made in view.node.outputs}
    return bool(turned & {(one.tensor, other.tensor), (other.tensor, one.tensor)})


@settings(max_examples=100)
@given(st.data())
def test_validate_moved_buffer_is_caught(data: st.DataObject) -> None:
    """A buffer that is moved onto another one that lives at the same time is caught."""
    net = residual(rows=6, row_bytes=5, scratch_bytes=4)
    made = plan(net, M4, runs=by_row(net) if data.draw(st.booleans()) else None)
    pairs = [
        (one, other)
        for one, moved in enumerate(made.buffers)
        for other, kept in enumerate(made.buffers)
        if one != other and moved.start < kept.end and kept.start < moved.end and not _is_turned(net, moved, kept)
    ]
    one, other = data.draw(st.sampled_from(pairs))
    moved, kept = made.buffers[one], made.buffers[other]
    offset = data.draw(st.integers(kept.offset - moved.size_bytes + 1, kept.offset + kept.size_bytes - 1))
    _refusal(net, _with(made, one, offset=offset))


@settings(max_examples=100)
@given(st.data())
def test_validate_shortened_lifetime_is_caught(data: st.DataObject) -> None:
    """A lifetime that starts a step late or ends a step early is caught, even where nothing overlaps."""
    net = residual(rows=6, row_bytes=5, scratch_bytes=4)
    made = plan(net, M4, runs=by_row(net) if data.draw(st.booleans()) else None)
    index = data.draw(st.integers(0, len(made.buffers) - 1))
    buffer = made.buffers[index]
    change = data.draw(st.sampled_from([{"start": buffer.start + 1}, {"end": buffer.end - 1}]))
    _refusal(net, _with(made, index, **change))


@settings(max_examples=100)
@given(st.data())
def test_validate_swapped_runs_are_caught_or_right(data: st.DataObject) -> None:
    """Two runs in each other's place are caught, unless the plan still finds all rows where it needs them."""
    net = chain(3, 3, rows=6)
    made = plan(net, M4, runs=by_row(net))
    one, other = sorted(data.draw(st.lists(st.integers(0, len(made.runs) - 1), min_size=2, max_size=2, unique=True)))
    runs = list(made.runs)
    runs[one], runs[other] = runs[other], runs[one]
    _refusal(net, replace(made, runs=tuple(runs)))


@settings(max_examples=50)
@given(st.data())
def test_validate_dropped_or_doubled_buffer_is_caught(data: st.DataObject) -> None:
    """A buffer that is missing or there twice is caught."""
    net = residual(rows=4, row_bytes=5, scratch_bytes=4)
    made = plan(net, M4, runs=by_row(net))
    index = data.draw(st.integers(0, len(made.buffers) - 1))
    buffers = made.buffers
    _refusal(net, replace(made, buffers=buffers[:index] + buffers[index + 1 :]))
    _refusal(net, replace(made, buffers=(*buffers, buffers[index])))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda made: replace(made, model="other"), "it is for model 'other', the model is 'net'"),
        (lambda made: replace(made, target="abacus"), "unknown target 'abacus'"),
        (lambda made: replace(made, runs=made.runs[:-1]), "operator 1 (WINDOW): 0 row steps run, it has 8"),
        (lambda made: replace(made, runs=(*made.runs, Run(1, 0, 8))), "whose next is 8"),
        (lambda made: replace(made, runs=(*made.runs, Run(7, 0, 8))), "there is no node 7"),
        (lambda made: replace(made, runs=(Run(0, 0, 10**12), made.runs[1])), "1000000000000 row steps run"),
        (lambda made: replace(made, arena_bytes=made.arena_bytes - 1), "the arena only"),
        (lambda made: replace(made, lower_bound_bytes=0), "claims to be optimal"),
        (lambda made: replace(made, arena_bytes=10**15, proven_optimal=False), "side by side need at most"),
        (lambda made: _with(made, 0, offset=-4), "bytes -4 to 27"),
        (lambda made: _with(made, 0, offset=80), "bytes 80 to 111 in an arena"),
        (lambda made: _with(made, 0, size_bytes=31), "8 rows of 4 bytes in a buffer of 31 bytes"),
        (lambda made: _with(made, 0, rows=7, size_bytes=28), "hold rows 0 to 6, it has rows 0 to 7"),
        (lambda made: _with(made, 0, rows=10**12), "in a buffer of 32 bytes"),
        (lambda made: _with(made, 0, region="itcm"), "there is no region 'itcm'"),
        (lambda made: _with(made, 0, alignment=0), "declared alignment 0"),
        (lambda made: _with(made, 0, tensor=99), "buffer 0 is neither"),
        (lambda made: _with(made, 0, node=1), "buffer 0 is neither"),
        (lambda made: _with(made, 0, tensor=None), "buffer 0 is neither"),
        (lambda made: _with(made, 0, start=-1), "lives from step -1"),
        (lambda made: _with(made, 0, end=99), "lives from step 0 to 99, of 16 steps"),
        (lambda made: _with(made, 0, end=17), "lives from step 0 to 17, of 16 steps"),
        (lambda made: _with(made, 3, size_bytes=4), "needs 8 bytes of scratch, has 4"),
        (lambda made: _with(made, 3, alignment=2), "it must be aligned to 4"),
    ],
)
def test_validate_wrong_field_is_named(change: Change, text: str) -> None:
    """Each field that is wrong is named, with what it must be."""
    net = chain(3, 3, scratch_bytes=8)
    assert text in _refusal(net, change(plan(net, M4)))


def test_validate_lifetimes_that_lie_do_not_hide_an_overlap() -> None:
    """The steps decide what lives: an overlap that declared lifetimes hide is found when the steps run."""
    net = chain(3, 3, rows=4)
    made = plan(net, M4)
    hidden = _with(_with(made, 0, start=0, end=1, offset=0), 1, start=1, end=8, offset=0)
    text = _refusal(net, hidden)
    assert "row 0 of 't0' is not there: 4 of its bytes, from byte 0, hold row 0 of 't1'" in text
    assert "step 1" in text


def test_validate_misaligned_words_are_refused() -> None:
    """Elements of four bytes at an odd offset are refused."""
    net = graph([(1, 4), (1, 4)], [(Window(), (0,), 1)], dtypes={0: DType.S32, 1: DType.S32})
    made = plan(net, M4)
    wrong = replace(_with(made, 1, offset=18, alignment=1), arena_bytes=34, proven_optimal=False)
    assert "it must be aligned to 4" in _refusal(net, wrong)


@pytest.mark.parametrize("dtype", [DType.S64, DType.U64])
def test_validate_elements_of_eight_bytes_at_four_are_refused(dtype: DType) -> None:
    """A saved plan that places them at 4, as plans for 32-bit cores once did, is refused on every target."""
    net = graph([(1, 3), (1, 3)], [(Window(), (0,), 1)], dtypes={0: DType.S8, 1: dtype})
    made = plan(net, M4)
    assert {each.alignment for each in made.buffers} == {1, 8}
    wrong = replace(_with(made, 1, offset=4, alignment=4), arena_bytes=28, proven_optimal=False)
    assert "it must be aligned to 8" in _refusal(net, wrong)


def _parted(net: Graph, node: int) -> Plan:
    """A plan by the row in which the scratch of a node is a buffer for each of its runs, above all else."""
    made = plan(net, M4, runs=by_row(net))
    places = [step for step, (its, _) in enumerate(made.steps) if its == node]
    scratch = made.scratch_of(node)
    assert scratch is not None
    others = [each for each in made.buffers if node not in each.nodes]
    others += [replace(scratch, node=each, shared_by=()) for each in scratch.nodes if each != node]
    parts = [
        replace(scratch, node=node, shared_by=(), offset=made.arena_bytes, start=step, end=step + 1) for step in places
    ]
    arena_bytes = made.arena_bytes + scratch.size_bytes
    return replace(made, buffers=(*others, *parts), arena_bytes=arena_bytes, proven_optimal=False)


def test_validate_scratch_of_each_run_has_its_own_place() -> None:
    """The kernel is told the place of each step; it must not be where rows live, nor too small for the kernel."""
    net = chain(3, 3, rows=6, scratch_bytes=8)
    made = _parted(net, 0)
    last = len(made.buffers) - 1
    moved = _with(replace(made, arena_bytes=made.arena_bytes + 8), last, offset=made.arena_bytes)
    validate(net, moved)
    assert "share bytes 0 to 7" in _refusal(net, _with(made, last, offset=0))
    assert "needs 8 bytes of scratch, has 4" in _refusal(net, _with(made, last, size_bytes=4))


def test_validate_step_without_scratch_that_lives_is_caught() -> None:
    """Each step needs a scratch that declares to live then."""
    net = chain(3, 3, rows=6, scratch_bytes=8)
    made = _parted(net, 0)
    for place in (len(made.buffers) - 6, len(made.buffers) - 3, len(made.buffers) - 1):
        step = made.buffers[place].start
        text = _refusal(net, replace(made, buffers=(*made.buffers[:place], *made.buffers[place + 1 :])))
        assert f"step {step}, row {place - len(made.buffers) + 6} of operator 0 (WINDOW): scratch is used, but" in text


def test_validate_accumulator_in_several_buffers_is_caught() -> None:
    """Between the steps its bytes would be free."""
    net = tallied(3, rows=6, scratch_bytes=8)
    assert "scratch buffers, though it adds up in one" in _refusal(net, _parted(net, 1))


def test_validate_scratch_less_aligned_than_the_kernel_asks_is_refused() -> None:
    """What a kernel keeps in its scratch decides how that is aligned."""
    net = chain(1, rows=2, width=4, scratch_bytes=8)
    made = plan(net, M4)
    place = next(k for k, each in enumerate(made.buffers) if each.tensor is None)
    wrong = replace(_with(made, place, offset=18, alignment=2), arena_bytes=26, proven_optimal=False)
    assert "it must be aligned to 4" in _refusal(net, wrong)


def test_validate_input_rows_apart_are_refused() -> None:
    """The rows of a model's input and output lie one behind the other, also where each is a buffer of its own."""
    net = chain(1, rows=2, width=4)
    made = plan(net, M4)
    rows = [Buffer(0, None, row, 1, 4 * row, 4, 1, 0, row + 1) for row in range(2)]
    together = replace(made, buffers=(*rows, replace(made.buffers[1], offset=8)))
    validate(net, together)
    swapped = replace(together, buffers=(replace(rows[0], offset=4), replace(rows[1], offset=0), together.buffers[2]))
    assert "row 1 of 't0' is at offset 0, not after row 0" in _refusal(net, swapped)


def test_validate_many_problems_are_counted() -> None:
    """Of many problems the first are shown and the others counted."""
    net = residual(rows=12)
    made = plan(net, M4, runs=by_row(net))
    wrong = replace(made, buffers=tuple(replace(each, offset=0) for each in made.buffers))
    text = _refusal(net, wrong)
    assert len(text.splitlines()) == 22
    assert text.splitlines()[-1].endswith("more")
