"""Strategies of the search for a placement, and its endings, as the native code knows them."""

from dataclasses import dataclass
from enum import IntEnum

from kibi.planner.placement.problem import Bytes, Counts


class SectionRule(IntEnum):
    """Chooses the section that is decided first; `choice.c` has the same and explains them."""

    FEWEST_CANDIDATES = 0
    LEAST_SLACK = 1
    LOWEST_FEWEST = 2
    CONFLICT_FEWEST = 3
    CONFLICT_SLACK = 4
    SLACK_FEWEST = 5
    LOWEST_TIGHTEST = 6
    MOST_CONFLICTS = 7


class ItemRule(IntEnum):
    """Chooses which of a section's items is tried first; `choice.c` has the same and explains them."""

    LONGEST = 0
    AREA = 1
    LARGEST = 2
    LOWEST = 3
    LONG_AREA = 4
    LARGE_AREA = 5
    CONTENDED = 6
    LOOK_STRICT = 7
    LOOK = 8
    LOOK_MILD = 9


class Ending(IntEnum):
    """The ending of a search; `placement.h` has the same."""

    FOUND = 0
    IMPOSSIBLE = 1
    NOT_FOUND = 2
    STOPPED = 3
    NO_MEMORY = 4


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way to search: all choices are sound, but differ in which problems they find easy.

    Attributes:
        section_rule: which section to decide first.
        item_rule: which item to try there first.
        noise: by what share scores are changed at random.
        seed: of these changes.
    """

    section_rule: SectionRule
    item_rule: ItemRule
    noise: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep through time.

    Attributes:
        order: the items: fixed ones first, the others ascending by their first section: `[items]`.
        bottom_end, top_end: one after the last section in which an item's lowest, and highest, bytes are in use: `[items]`.
        cost: what a hole costs from the first section to before this one: `[sections + 1]`.
        width: how many placements are made side by side.
        noise: by what cost scores are changed at random.
        seed: of these changes, and of the choice among equals.
    """

    order: Counts
    bottom_end: Counts
    top_end: Counts
    cost: Bytes
    width: int
    noise: int = 0
    seed: int = 0
