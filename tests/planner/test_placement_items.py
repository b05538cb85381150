"""Placement of items with all that they may have: alignments, fixed offsets, gaps, rules."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kibi.errors import CompilerWarning, PlanError, ToolchainError
from kibi.planner.placement.items import Gap, Item, PairRule
from kibi.planner.placement.native import Native
from kibi.planner.placement.placing import Solution, Status, place_items
from kibi.planner.placement.problem import PlacementProblem
from kibi.planner.placement.strategy import Ending, ItemRule, SectionRule, Strategy
from tests.planner.brute_force import is_right, optimum

STRATEGIES = [Strategy(section, item) for section in SectionRule for item in ItemRule]


@st.composite
def _item(draw: st.DrawFn, *, gaps: bool = True, windows: bool = False, fixed: bool = True, most: int = 4) -> Item:
    start, length, size = draw(st.integers(0, 6)), draw(st.integers(1, 6)), draw(st.integers(1, most))
    found = []
    if gaps and length > 2 and draw(st.booleans()):
        first = draw(st.integers(start + 1, start + length - 1))
        last = draw(st.integers(first + 1, start + length))
        low = draw(st.integers(0, size))
        window = (low, draw(st.integers(low, size))) if windows and draw(st.booleans()) else None
        found.append(Gap(first, last, window))
    alignment = draw(st.sampled_from((1, 1, 2, 4)))
    offset = alignment * draw(st.integers(0, 1)) if fixed and draw(st.integers(0, 5)) == 0 else None
    return Item(start, start + length, size, alignment, offset, tuple(found))


@st.composite
def _rules(draw: st.DrawFn, count: int) -> list[PairRule]:
    if count < 2:
        return []
    pairs = [(first, second) for first in range(count) for second in range(first)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=4))
    turned = [pair if draw(st.booleans()) else pair[::-1] for pair in chosen]
    return [PairRule(first, second, draw(st.integers(0, 4))) for first, second in turned]


def _check(items: list[Item], found: Solution, rules: list[PairRule] | None = None) -> None:
    if found.offsets is None:
        assert found.status is Status.INFEASIBLE
        return
    assert is_right(items, found.offsets, rules or [])
    tops = [at + item.size_bytes for at, item in zip(found.offsets, items, strict=True)]
    assert found.peak_bytes == max(tops, default=0) >= found.lower_bound_bytes


@settings(max_examples=150)
@given(st.lists(_item(), max_size=5))
def test_place_items_tiny_instance_equals_brute_force(items: list[Item]) -> None:
    """With alignments, gaps and fixed offsets, the peak is the optimum, and proven to be."""
    found, best = place_items(items), optimum(items)
    _check(items, found)
    assert (found.status, found.peak_bytes) == ((Status.INFEASIBLE, 0) if best is None else (Status.OPTIMAL, best))


@settings(max_examples=150)
@given(st.data())
def test_place_items_with_rules_equals_brute_force(data: st.DataObject) -> None:
    """Where pairs may share bytes under conditions, the peak is the optimum, and proven to be."""
    items = data.draw(st.lists(_item(gaps=False), min_size=2, max_size=4))
    rules = data.draw(_rules(len(items)))
    found, best = place_items(items, rules=rules), optimum(items, rules)
    _check(items, found, rules)
    assert (found.status, found.peak_bytes) == ((Status.INFEASIBLE, 0) if best is None else (Status.OPTIMAL, best))


@settings(max_examples=150)
@given(st.lists(_item(windows=True), max_size=5))
def test_place_items_with_windows_is_right_and_bounded(items: list[Item]) -> None:
    """Where parts of an item stay in use in its gaps, the optimum lies between the bound and the peak."""
    found, best = place_items(items, time_limit_seconds=0.1), optimum(items)
    _check(items, found)
    if best is not None:
        assert found.lower_bound_bytes <= best <= found.peak_bytes


@settings(max_examples=40)
@given(st.lists(_item(), min_size=1, max_size=5))
def test_search_every_strategy_finds_the_optimum_and_proves_it(items: list[Item]) -> None:
    """Each strategy fits the optimum, and proves that nothing fits one byte less."""
    best = optimum(items)
    if best is None:
        return
    problem = PlacementProblem.of(items)
    native = Native(problem)
    for strategy in STRATEGIES:
        ending, offsets, _ = native.search(strategy, best, 1_000_000, lambda: True)
        assert ending is Ending.FOUND
        assert is_right(items, offsets.tolist())
        assert native.search(strategy, best - 1, 1_000_000, lambda: True)[0] is Ending.IMPOSSIBLE


@settings(max_examples=100)
@given(st.lists(_item(most=50), max_size=40), st.integers(20, 200))
def test_place_items_with_capacity_says_what_is_known(items: list[Item], capacity: int) -> None:
    """A status follows from peak, bound and capacity, and a placement is there wherever one exists."""
    found = place_items(items, capacity=capacity, time_limit_seconds=0.05)
    _check(items, found)
    if found.offsets is not None:
        expected = {
            Status.OPTIMAL: found.peak_bytes == found.lower_bound_bytes <= capacity,
            Status.FEASIBLE: found.lower_bound_bytes < found.peak_bytes <= capacity,
            Status.INFEASIBLE: found.lower_bound_bytes > capacity,
            Status.UNDECIDED: found.lower_bound_bytes <= capacity < found.peak_bytes,
        }
        assert expected == {status: status is found.status for status in Status}


def test_place_items_capacity_below_the_optimum_is_infeasible_with_proof() -> None:
    """Live bytes of 6 do not need 7 for a reason that is easy to see, but they do; so 6 is refused, with proof."""
    lives = ((3, 1, 3), (3, 6, 8), (2, 2, 6), (2, 5, 8), (2, 4, 6), (3, 1, 2), (1, 2, 5))
    items = [Item(start, end, size) for size, start, end in lives]
    assert place_items(items, capacity=6).status is Status.INFEASIBLE
    found = place_items(items, capacity=7)
    assert (found.status, found.peak_bytes, found.lower_bound_bytes) == (Status.FEASIBLE, 7, 6)
    assert place_items(items).status is Status.OPTIMAL


def test_place_items_gap_lets_another_in() -> None:
    """An item lies inside the gap of another, and a window keeps it out of the bytes in use."""
    guest = Item(2, 4, 6)
    assert place_items([Item(0, 6, 6, gaps=(Gap(2, 4),)), guest]).peak_bytes == 6
    found = place_items([Item(0, 6, 6, gaps=(Gap(2, 4, (0, 2)),)), guest])
    assert (found.offsets, found.peak_bytes, found.lower_bound_bytes) == ((0, 2), 8, 8)


def test_place_items_that_are_never_used_take_no_room() -> None:
    """An item that leaves its place to others all its life does not count."""
    found = place_items([Item(0, 2, 4, gaps=(Gap(0, 2),)), Item(0, 2, 3)])
    assert (found.offsets, found.peak_bytes, found.status) == ((0, 0), 3, Status.OPTIMAL)


def test_place_items_fixed_offsets_stay_and_may_contradict() -> None:
    """Fixed items lie where they must; two on the same bytes are an instance without a placement."""
    found = place_items([Item(0, 2, 4, offset=4), Item(0, 2, 4), Item(1, 3, 4)])
    assert found.offsets is not None
    assert found.offsets[0] == 4
    assert found.peak_bytes == 12
    assert place_items([Item(0, 2, 4, offset=0), Item(1, 3, 4, offset=2)]) == Solution(None, 0, 8, Status.INFEASIBLE)


def test_place_items_rule_lets_rows_shift_down() -> None:
    """A row that may be written 2 bytes behind the one that is read takes only those 2 bytes more."""
    items = [Item(0, 2, 8), Item(1, 3, 8)]
    found = place_items(items, rules=[PairRule(0, 1, 2)])
    assert (found.offsets, found.peak_bytes, found.status) == ((2, 0), 10, Status.OPTIMAL)
    assert place_items(items, rules=[PairRule(0, 1, 8)]).peak_bytes == 16


def test_place_items_without_compiler_keeps_the_greedy_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing compiles, a placement is still there, with a warning, and says how far it is from the bound."""

    def fail(problem: PlacementProblem) -> None:
        raise ToolchainError(f"no compiler for {problem.items} items")

    monkeypatch.setattr("kibi.planner.placement.placing.Native", fail)
    lives = ((53, 9, 12), (17, 4, 11), (60, 6, 8), (22, 1, 5), (30, 2, 9), (35, 8, 10))
    items = [Item(start, end, size) for size, start, end in lives]
    with pytest.warns(CompilerWarning, match="placed without a search.*no compiler for 6 items"):
        found = place_items(items)
    _check(items, found)
    assert found.status is Status.FEASIBLE


def test_place_items_in_threads_equals_alone() -> None:
    """Searches at the same time do not disturb one another."""
    items = [Item(k % 17, k % 17 + 3 + k % 5, 16 + 8 * (k * 7 % 23)) for k in range(90)]
    alone = place_items(items, time_limit_seconds=0.2)
    found: list[Solution] = []
    threads = [
        threading.Thread(target=lambda: found.append(place_items(items, time_limit_seconds=0.2))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 4


def test_search_that_is_interrupted_ends_and_passes_the_interrupt_on() -> None:
    """What `go_on` raises, such as Ctrl-C, ends the search and reaches the caller."""
    items = [Item(k % 31, k % 31 + 3 + k % 11, 16 + 8 * (k * 7 % 23) + k % 3) for k in range(300)]
    problem = PlacementProblem.of(items)

    def interrupt() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Native(problem).search(STRATEGIES[0], problem.lower_bound_bytes, 10**12, interrupt)
    ending, _, _ = Native(problem).search(STRATEGIES[0], problem.lower_bound_bytes, 10**12, lambda: False)
    assert ending is Ending.STOPPED


@pytest.mark.parametrize(
    ("items", "rules", "message"),
    [
        ([Item(0, 1, 4, 4, offset=2)], [], "must be at offset 2"),
        ([Item(0, 1, 4, offset=-1)], [], "must be at offset -1"),
        ([Item(0, 4, 4, gaps=(Gap(2, 5),))], [], "gap from 2 to 5"),
        ([Item(0, 4, 4, gaps=(Gap(1, 3), Gap(2, 4)))], [], "gap from 2 to 4"),
        ([Item(0, 4, 4, gaps=(Gap(1, 3, (0, 5)),))], [], r"window \(0, 5\)"),
        ([Item(0, 4, 4)], [PairRule(0, 0, 1)], "rule 0"),
        ([Item(0, 4, 4)] * 2, [PairRule(0, 1, 1), PairRule(1, 0, 1)], "same pair"),
    ],
)
def test_place_items_that_make_no_sense_are_an_error(items: list[Item], rules: list[PairRule], message: str) -> None:
    """Each mistake is refused with its place."""
    with pytest.raises(PlanError, match=message):
        place_items(items, rules=rules)
