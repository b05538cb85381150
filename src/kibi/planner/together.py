"""Several models and the application's own buffers in one block of memory: one placement problem, with a proof."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor

from kibi.errors import PlanError
from kibi.ir import Graph
from kibi.planner.in_place import in_place_rules
from kibi.planner.placement.items import MOST_BYTES, PairRule
from kibi.planner.placement.placing import place
from kibi.planner.plan import Buffer, Plan
from kibi.planner.planned_model import PlannedModel
from kibi.planner.validation import validate

BUFFER_ALIGNMENT = 8
"""The alignment in bytes of the application's buffers, which suits every type."""
_SECONDS = 0.5
"""About how long placement may search with the usual effort; an amount of work."""
_BUFFER = re.compile(
    r"(?P<name>[A-Za-z_]\w*):(?P<bytes>\d{1,18})(?:@(?P<first>\d*\.?\d+)-(?P<last>\d*\.?\d+))?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class ApplicationBuffer:
    """Bytes that the application needs for some time while models run, one after another.

    Attributes:
        name: a name in C.
        size_bytes: its size.
        first, last: when it is needed: 0 is the begin of the first model's inference, 1 its end and the begin of the second's; 0.3
            is where three tenths of the first model's row steps have run. None: always.
    """

    name: str
    size_bytes: int
    first: float = 0.0
    last: float | None = None

    @staticmethod
    def of(text: str) -> "ApplicationBuffer":
        """Reads `name:bytes`, or `name:bytes@first-last`.

        Raises:
            PlanError: the text is neither.
        """
        found = _BUFFER.fullmatch(text)
        if found is None:
            raise PlanError(
                f"{text!r} is no buffer. Give a name, its bytes and, if it is not needed always, when: rx:12000@0.3-0.6 is needed "
                "from three to six tenths of the first model's row steps, @1.5-2 in the second half of the second's."
            )
        last = None if found["last"] is None else float(found["last"])
        return ApplicationBuffer(found["name"], int(found["bytes"]), float(found["first"] or 0), last)


@dataclass(frozen=True, slots=True)
class PlacedBuffer:
    """A buffer of the application with its place.

    Attributes:
        name, size_bytes: as asked for.
        offset: bytes from the start of the memory; a multiple of 8.
        start, end: the row steps of all models, one after another, during which it is the application's; half-open.
    """

    name: str
    size_bytes: int
    offset: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class JointPlan:
    """Models that run one after another, and buffers of the application, in one block of memory.

    Attributes:
        plans: of each model, in the order in which they run; the offsets count from the start of the block.
        buffers: of the application.
        arena_bytes: of the block.
        lower_bound_bytes: no placement of all these buffers in these orders needs less.
        separate_bytes: the largest arena of a model, and all buffers of the application beside it.
    """

    plans: tuple[Plan, ...]
    buffers: tuple[PlacedBuffer, ...]
    arena_bytes: int
    lower_bound_bytes: int
    separate_bytes: int

    @property
    def proven_optimal(self) -> bool:
        """True if no placement needs less."""
        return self.arena_bytes == self.lower_bound_bytes

    @property
    def first_steps(self) -> tuple[int, ...]:
        """The number of row steps that run before each model's."""
        counts = [len(plan.steps) for plan in self.plans]
        return tuple(sum(counts[:number]) for number in range(len(counts)))


def plan_together(
    models: Sequence[Graph], plans: Sequence[Plan], buffers: Sequence[ApplicationBuffer], *, effort: int = 1
) -> JointPlan:
    """Places the buffers of several models, which run one after another, and those of the application, in one block of memory.

    Args:
        models: in the order in which they run; what one leaves in its outputs is read before the next one begins.
        plans: one for each, with one arena; their orders stay, their placements do not.
        buffers: of the application, of different names: upper or lower case does not tell them apart.
        effort: how many times the usual work may be done.

    Raises:
        PlanError: a plan has regions, or a buffer has no time in these models, or another one's name, or too many bytes.
    """
    planned = [PlannedModel.of(graph, made) for graph, made in zip(models, plans, strict=True)]
    divided = next((each for each in planned if each.plan.regions), None)
    if divided is not None:
        raise PlanError(
            f"{divided.graph.source} has a plan with regions. Plan models for one arena to place them together."
        )
    own = _own(planned, buffers)
    every, rules = _of_models(planned)
    apart = max(each.plan.arena_bytes for each in planned)
    found = place([*every, *own], rules=rules, time_limit_seconds=effort * _SECONDS)
    placed = list(found.buffers)
    # What each model's own search found may be better, with the application's buffers around it.
    beside = _around(_moved(planned), own)
    if max(map(_top, beside)) <= found.peak_bytes:
        placed = beside
    made, at = [], 0
    for model in planned:
        count = len(model.plan.buffers)
        made.append(_own_plan(model, placed[at : at + count]))
        at += count
    named = zip(buffers, placed[at:], strict=True)
    return JointPlan(
        plans=tuple(made),
        buffers=tuple(PlacedBuffer(asked.name, asked.size_bytes, x.offset, x.start, x.end) for asked, x in named),
        arena_bytes=max(map(_top, placed)),
        lower_bound_bytes=found.lower_bound_bytes,
        separate_bytes=apart + sum(-(-each.size_bytes // BUFFER_ALIGNMENT) * BUFFER_ALIGNMENT for each in buffers),
    )


def _top(buffer: Buffer) -> int:
    return buffer.offset + buffer.size_bytes


def _starts(planned: Sequence[PlannedModel]) -> list[tuple[PlannedModel, int]]:
    """Each model with the number of steps that run before it."""
    found, at = [], 0
    for each in planned:
        found.append((each, at))
        at += len(each.plan.steps)
    return found


def _moved(planned: Sequence[PlannedModel]) -> list[Buffer]:
    """The buffers of all models at their places, in the time of all; what two models have gets different numbers in each."""
    moved: list[Buffer] = []
    tensors = nodes = 0
    for each, first in _starts(planned):
        for buffer in each.plan.buffers:
            tensor = None if buffer.tensor is None else buffer.tensor + tensors
            node = None if buffer.node is None else buffer.node + nodes
            others = tuple(other + nodes for other in buffer.shared_by)
            start, end = buffer.start + first, buffer.end + first
            moved.append(replace(buffer, tensor=tensor, node=node, shared_by=others, start=start, end=end))
        tensors += len(each.graph.tensors)
        nodes += len(each.graph.nodes)
    return moved


def _of_models(planned: Sequence[PlannedModel]) -> tuple[list[Buffer], list[PairRule]]:
    """The buffers of all models, and which of them may share bytes."""
    rules: list[PairRule] = []
    at = 0
    for each in planned:
        own = in_place_rules(each.graph, each.plan.runs, each.plan.buffers)
        rules += [PairRule(rule.first + at, rule.second + at, rule.minimum_distance_bytes) for rule in own]
        at += len(each.plan.buffers)
    return _moved(planned), rules


def _own(planned: Sequence[PlannedModel], buffers: Sequence[ApplicationBuffer]) -> list[Buffer]:
    """The application's buffers, from the step in which each begins to the one in which it ends, as scratch of further nodes.

    Raises:
        PlanError: one is not in the time of the models, or has another one's name, or too many bytes.
    """
    names = [each.name for each in buffers]
    folded = [name.upper() for name in names]
    if len(set(folded)) < len(folded):
        name = next(name for name in names if folded.count(name.upper()) > 1)
        raise PlanError(f"two buffers are called {name!r}, in upper or lower case. Rename one.")
    found, count = [], len(planned)
    first_number = sum(len(model.graph.nodes) for model in planned)
    for number, each in enumerate(buffers, first_number):
        last = float(count) if each.last is None else each.last
        if not 0 <= each.first < last <= count:
            what = f"buffer {each.name!r} is needed from {each.first:g} to {last:g}"
            raise PlanError(
                f"{what}, but {count} model{'s' if count > 1 else ''} run from 0 to {count}. Correct the times."
            )
        if not 0 < each.size_bytes <= MOST_BYTES // 4:
            raise PlanError(
                f"buffer {each.name!r} has {each.size_bytes} bytes. Give at least 1, and no more than memory has."
            )
        start, end = floor(_step(planned, each.first)), ceil(_step(planned, last))
        found.append(Buffer(None, number, 0, 0, 0, each.size_bytes, BUFFER_ALIGNMENT, start, max(end, start + 1)))
    return found


def _step(planned: Sequence[PlannedModel], moment: float) -> float:
    """The row step of all models at a moment."""
    number = min(int(moment), len(planned) - 1)
    model, first = _starts(planned)[number]
    return first + (moment - number) * len(model.plan.steps)


def _around(fixed: list[Buffer], free: Sequence[Buffer]) -> list[Buffer]:
    """Buffers at their places, then others at the lowest places that are free during their lives, the largest first."""
    placed = dict(enumerate(fixed))
    for number, buffer in sorted(enumerate(free), key=lambda each: -each[1].size_bytes):
        others = [each for each in placed.values() if each.start < buffer.end and buffer.start < each.end]
        at = 0
        for other in sorted(others, key=lambda each: each.offset):
            if at + buffer.size_bytes <= other.offset:
                break
            at = max(at, -(-_top(other) // buffer.alignment) * buffer.alignment)
        placed[len(fixed) + number] = replace(buffer, offset=at)
    return [placed[number] for number in range(len(placed))]


def _own_plan(model: PlannedModel, placed: Sequence[Buffer]) -> Plan:
    """The plan of one model with its buffers at their new places."""
    old = model.plan
    buffers = tuple(replace(was, offset=now.offset) for was, now in zip(old.buffers, placed, strict=True))
    top = max(map(_top, buffers), default=0)
    made = replace(old, buffers=buffers, arena_bytes=top, proven_optimal=top == old.lower_bound_bytes)
    validate(model.model, made)
    return made
