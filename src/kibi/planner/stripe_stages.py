"""What one stage needs in stripes: which stripes keep a limit of bytes, and how much more they compute.

In a stripe the nodes of a stage alternate by the row, in the same order in each. So one order of the stage gives the bytes of a
column of each image at each step, and a stripe's peak is a sum of these, each times the columns that the stripe has of the image.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from kibi.ir import Graph
from kibi.planner.order.row_steps import Ints, RowSteps, Slices
from kibi.planner.order.row_stretches import pulled
from kibi.planner.plan import Stripes
from kibi.planner.stripe_columns import WIDTH, Columns, Part, Parts, kept_images, parts_of
from kibi.planner.stripes import MOST_STRIPES, can_be_kept

_MOST_WAYS = 3
"""Sets of images that are kept, beside none."""
_NOTHING = Part(0, 0, 0)
_EACH = 20_000
"""The work of one stripe that is counted, besides its images times its steps."""


@dataclass(slots=True)
class Work:
    """The work that a search has left: bytes of images at steps that are added up."""

    left: int


@dataclass(frozen=True, slots=True)
class Levels:
    """The bytes that live while a stage's nodes alternate by the row.

    Attributes:
        images: the images that it makes, the last one included, by tensor.
        columns: the bytes of one column of each of them at each step: `[images, steps]`.
        made: the bytes of one column of each of them that have been made by then, so far: `[images, steps]`.
        live_bytes: the bytes of all else before its first step, with the scratch of its nodes.
        died: the bytes of these that have died before each step: `[steps]`.
        input_died: the same of the image that the node before the stage makes alone.
    """

    images: tuple[int, ...]
    columns: Ints
    made: Ints
    live_bytes: int
    died: Ints
    input_died: Ints

    @staticmethod
    def of(graph: Graph, steps: RowSteps, live_bytes: int, begin: int, end: int) -> "Levels":
        """Returns the levels of a stage before which so many bytes live."""
        order = np.asarray(pulled(steps, begin, end), np.int64)
        places = {node: np.flatnonzero(order == node) for node in range(begin, end)}
        columns: dict[int, Ints] = {}
        made: dict[int, Ints] = {}
        died, input_died = np.zeros((2, len(order) + 1), np.int64)
        for number in sorted({number for node in places for number in steps.touched[node]}):
            each = steps.slices[number]
            if each.maker in places:
                change, start = np.zeros(len(order) + 1, np.int64), places[each.maker][each.made]
                np.add.at(change, start, each.size_bytes)
                width = graph.views[each.maker].output.type.shape[WIDTH]
                made[each.maker] = np.cumsum(change)[:-1] // width
                if each.maker != end - 1:
                    np.subtract.at(change, _last_places(each, places, start) + 1, each.size_bytes)
                columns[each.maker] = np.cumsum(change)[:-1] // width
            else:
                stop = _last_places(each, places, np.full(len(each.made), -1, np.int64))
                goes = (stop >= 0) & (steps.last_readers[number] < end) & (not each.is_kept)
                np.add.at(input_died if each.maker == begin - 1 else died, stop[goes] + 1, each.size_bytes[goes])
        images = tuple(graph.views[node].output.index for node in range(begin, end))
        most = live_bytes + max(steps.scratch[begin:end])
        alive, so_far = (np.array([each[node] for node in range(begin, end)]) for each in (columns, made))
        return Levels(images, alive, so_far, most, np.cumsum(died)[:-1], np.cumsum(input_died)[:-1])


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage whose stripes keep some images, and may read those of the stage before.

    Attributes:
        graph: the graph.
        levels: what lives in it.
        begin, end: its nodes.
        kept: the nodes whose images are kept.
        in_tiles: True if it reads the stripes of the stage before.
        work: of all stages of a search; where none is left, no stripes are found.
    """

    graph: Graph
    levels: Levels
    begin: int
    end: int
    kept: tuple[int, ...]
    in_tiles: bool
    work: Work = field(compare=False, repr=False)
    _known: dict[tuple[Columns, Sequence[int]], int] = field(default_factory=dict, compare=False, repr=False)

    @property
    def width(self) -> int:
        """Columns of its output."""
        return self.graph.views[self.end - 1].output.type.shape[WIDTH]

    @property
    def _kept_images(self) -> frozenset[int]:
        return kept_images(self.graph, self.with_columns())

    def with_columns(self, columns: Sequence[int] = ()) -> Stripes:
        """The stage in stripes that begin at these columns after the first."""
        return Stripes(self.begin, self.end, tuple(columns), self.kept, self.in_tiles)

    def within(self, most_bytes: int, tiles: Sequence[int] = ()) -> tuple[Stripes, int] | None:
        """Returns the widest stripes in which no more bytes live at once, and how many more multiply-accumulates they take.

        Args:
            most_bytes: the limit.
            tiles: of a stage that reads the stripes of the stage before: the columns at which these begin, and their end.

        Returns:
            None where there are no such stripes, or the whole stage is one.
        """
        found, work = [0], 0
        while found[-1] < self.width:
            begin, low, high = found[-1], found[-1], self.width
            if len(found) > MOST_STRIPES or self.work.left <= 0:
                return None
            while low < high:
                tried = (low + high + 1) // 2
                low, high = (
                    (tried, high) if self._peak((begin, tried), tuple(tiles)) <= most_bytes else (low, tried - 1)
                )
            if low == begin:
                return None
            found.append(low)
            work += self._macs(self._parts((begin, low)))
        if len(found) <= 2:
            return None
        macs = sum(view.op.macs(view) for view in self.graph.views[self.begin : self.end])
        return self.with_columns(found[1:-1]), work - macs

    def most_extra(self) -> int:
        """Returns how many more multiply-accumulates two stripes take: no stripes take less."""
        halves = (0, self.width // 2), (self.width // 2, self.width)
        macs = sum(view.op.macs(view) for view in self.graph.views[self.begin : self.end])
        return sum(self._macs(self._parts(own)) for own in halves) - macs

    def _peak(self, own: Columns, tiles: tuple[int, ...]) -> int:
        """The most bytes that live at once while a stripe runs, those of the output's columns before it among them."""
        if (own, tiles) not in self._known:
            self.work.left -= self.levels.columns.size + _EACH
            self._known[own, tiles] = self._counted(own, tiles)
        return self._known[own, tiles]

    def _counted(self, own: Columns, tiles: tuple[int, ...]) -> int:
        levels, parts = self.levels, self._parts(own)
        output = self.graph.views[self.end - 1].output.type
        widths = [parts[index].end - parts[index].first if index in parts else 0 for index in levels.images]
        level: Ints = np.array(widths) @ levels.columns + self._kept_bytes(own, parts)
        level = level + (levels.live_bytes + output.size_bytes // self.width * own[0])
        if own[1] == self.width:
            level = level - levels.died
        if not self.in_tiles:
            return int((level - levels.input_died if own[1] == self.width else level).max())
        index = self.graph.views[self.begin - 1].output.index
        done, until = (self._ends(column).get(index, 0) for column in own)
        column_bytes = self.graph.tensors[index].type.size_bytes // tiles[-1]
        gone = sum(end - begin for begin, end in pairwise(tiles) if end <= done)
        going = sum(end - begin for begin, end in pairwise(tiles) if done < end <= until)
        return int((level - levels.input_died * going // tiles[-1]).max()) - gone * column_bytes

    def _parts(self, own: Columns) -> Parts:
        """The parts of the images in a stripe."""
        return parts_of(self.graph.views[self.begin : self.end], self._kept_images, own, self._ends(own[0]))

    def _macs(self, parts: Parts) -> int:
        """The multiply-accumulates of a stripe."""
        views = self.graph.views[self.begin : self.end]
        made = ((view, parts[view.output.index]) for view in views if view.output.index in parts)
        return sum(view.op.macs(view) * (part.end - part.made) // view.output.type.shape[WIDTH] for view, part in made)

    def _ends(self, column: int) -> Mapping[int, int]:
        """Before which column the stripes before a column of the output have made the images that are kept."""
        if column == 0:
            return {}
        views = self.graph.views[self.begin : self.end]
        parts = parts_of(views, frozenset(), (column - 1, column), {})
        return {index: parts[index].end for index in self._kept_images if index in parts}

    def _kept_bytes(self, stripe: Columns, parts: Parts) -> Ints:
        """The bytes at each step of the columns that are kept for a stripe and the next, and of rows that join them with others."""
        following: Parts = {}
        if stripe[1] < self.width:
            views = self.graph.views[self.begin : self.end]
            following = parts_of(views, self._kept_images, (stripe[1], stripe[1] + 1), self._ends(stripe[1]))
        total: Ints = np.zeros(len(self.levels.died), np.int64)
        for index in self._kept_images:
            kind = self.graph.tensors[index].type
            part, after = (each.get(index, _NOTHING) for each in (parts, following))
            own, later = part.made - part.first, after.made - after.first
            row_bytes, column_bytes = kind.row_bytes // kind.shape[WIDTH], kind.size_bytes // kind.shape[WIDTH]
            made = self._made(index)
            total += own * (column_bytes - made) + later * made
            total += (part.end - part.first) * row_bytes if own or later else 0
        return total

    def _made(self, index: int) -> Ints:
        """The bytes of a column of an image that is kept that have been made, or taken, by each step."""
        if index in self.levels.images:
            made: Ints = self.levels.made[self.levels.images.index(index)]
            return made
        return self.levels.input_died // self.graph.tensors[index].type.shape[WIDTH]


def stages_of(graph: Graph, levels: Levels, begin: int, end: int, work: Work, *, in_tiles: bool) -> Iterator[Stage]:
    """Yields a stage with the images that may be kept: none; those with the smallest columns; and further ones."""
    seen = {frozenset[int]()}
    yield Stage(graph, levels, begin, end, (), in_tiles, work)
    sizes: dict[int, int] = {}
    middle = graph.views[end - 1].output.type.shape[WIDTH] // 2
    parts = parts_of(graph.views[begin:end], frozenset(), (middle, middle + 1), {})
    before = parts_of(graph.views[begin:end], frozenset(), (middle - 1, middle), {}) if middle else {}
    for node in range(begin, end - 1):
        tensor = graph.views[node].output
        part, other = parts.get(tensor.index), before.get(tensor.index)
        if part is not None and other is not None and part.first < other.end and can_be_kept(tensor):
            sizes[node] = tensor.type.size_bytes // tensor.type.shape[WIDTH]
    for most in sorted({*sizes.values()})[:_MOST_WAYS]:
        kept = tuple(sorted(node for node, size in sizes.items() if size <= most))
        if frozenset(kept) not in seen:
            seen.add(frozenset(kept))
            yield Stage(graph, levels, begin, end, kept, in_tiles, work)


def _last_places(each: Slices, places: Mapping[int, Ints], otherwise: Ints) -> Ints:
    """Returns for each slice the last place at which one of these nodes reads it; as it is given where none does."""
    last = otherwise
    for reader, uses in zip(each.readers, each.last_uses, strict=True):
        if reader in places:
            last = np.maximum(last, np.where(uses >= 0, places[reader][uses], -1))
    return last
