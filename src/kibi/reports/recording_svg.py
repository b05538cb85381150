"""The timeline of a `Recording` as SVG: places, lives and moves of blocks.

Time goes right, from one moment to the next: an allocation, a move or an end of a block. Addresses go up. A box is a block in
one place, in the colour of its kind; where it moved, a line leads to its next place. Below are the bytes that live at
each moment, and the kinds with their figures.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from kibi.eager.memory import BlockArena, Kind, Recording, Span
from kibi.printable import printable
from kibi.reports.memory_colors import layer_color
from kibi.reports.memory_plot import CHARACTER, round_step
from kibi.reports.memory_shapes import (
    ALARM,
    GRID,
    INK,
    QUIET,
    SCRATCH_FILL,
    Box,
    area,
    circle,
    document,
    label,
    line,
    turned_label,
)
from kibi.text.markup import Markup

_LEFT, _RIGHT, _TOP, _HEIGHT = 120.0, 140.0, 84.0, 320.0
_NARROWEST, _WIDEST, _MOMENT_WIDTH = 720.0, 2400.0, 40.0
_PROFILE_HEIGHT, _GAP, _LINE, _FOOT = 44.0, 16.0, 18.0, 24.0
_NEAREST_LINES, _NEAREST_NUMBERS = 16.0, 40.0
_LABEL_SIZE, _SMALLEST_LABEL = 11.0, 8.0
_PAPER = "#cfd4da"
"""The profile of live bytes."""
_FILLS = {
    kind: SCRATCH_FILL if kind is Kind.SCRATCH else layer_color(number, len(Kind)) for number, kind in enumerate(Kind)
}


@dataclass(frozen=True, slots=True)
class _Plot:
    """The area in which a timeline is drawn.

    Attributes:
        box: the plot's sides: moment 0 to `moments`, and address 0 to `top_bytes`.
        moments: the number of moments, at least 1.
        top_bytes: the address at the upper side, at least 1.
    """

    box: Box
    moments: int
    top_bytes: int

    def x(self, moment: float) -> float:
        """Returns the place of a moment on the axis of time."""
        return self.box.left + self.box.width * moment / self.moments

    def y(self, address: float) -> float:
        """Returns the height of an address in the picture."""
        return self.box.bottom - self.box.height * address / self.top_bytes

    def place(self, span: Span) -> Box:
        """Returns the box of a block while it is in one place."""
        end = self.moments if span.end is None else span.end
        return Box(self.x(span.start), self.y(span.address + span.size_bytes), self.x(end), self.y(span.address))


def recording_svg(recording: Recording, title: str = "Recording") -> str:
    """Draws the timeline of a recording.

    Args:
        recording: a recording of any allocator. The picture shows all of a Kibi arena, and the used part of others.
        title: the text above the picture.

    Returns:
        The SVG text: the same for the same sequence of allocations.
    """
    spans, moments = recording.timeline(), max(recording.moment, 1)
    width = min(max(_NARROWEST, _MOMENT_WIDTH * moments), _WIDEST)
    plot = _Plot(Box(_LEFT, _TOP, _LEFT + width, _TOP + _HEIGHT), moments, _top_bytes(recording, spans))
    profile = Box(_LEFT, plot.box.bottom + _GAP, plot.box.right, plot.box.bottom + _GAP + _PROFILE_HEIGHT)
    title, words = printable(title), _words(recording)
    legend = list(_legend(recording, profile.bottom + 54))
    lines = [
        label(24, 36, title, "title"),
        label(24, 60, words, "needs quiet"),
        turned_label(_LEFT - 76, plot.box.middle[1], -90, "address (bytes)", "middle"),
        *_address_lines(plot),
        *_boxes(plot, spans),
        *_moves(plot, spans),
        *_profile(plot, profile, spans, recording.high_water_bytes),
        *_moment_numbers(plot, profile.bottom),
        *legend,
    ]
    height = profile.bottom + 54 + _LINE * len(_kinds(recording)) + _FOOT
    return document(plot.box.right + _RIGHT, height, f"{title}: {words}", lines)


def _top_bytes(recording: Recording, spans: tuple[Span, ...]) -> int:
    allocator = recording.allocator
    used = max((span.address + span.size_bytes for span in spans), default=1)
    return max(used, allocator.capacity_bytes) if isinstance(allocator, BlockArena) else used


def _words(recording: Recording) -> str:
    counts = {
        "allocation": recording.allocations,
        "move": recording.moves,
        "release": recording.deallocations,
        "refusal": recording.refusals,
    }
    said = ", ".join(f"{count:,} {name}{'' if count == 1 else 's'}" for name, count in counts.items() if count)
    return (
        f"{recording.high_water_bytes:,} bytes at most, {recording.live_bytes:,} at the end; {said or 'no allocations'}"
    )


def _boxes(plot: _Plot, spans: tuple[Span, ...]) -> list[Markup]:
    """Draws a box for each span, with a tooltip; then labels on boxes that have room."""
    boxes, labels = [], []
    for span in spans:
        box = plot.place(span)
        stroke = min(1.0, box.width / 6, box.height / 6)
        boxes.append(box.draw(_tooltip(span), class_="box", fill=_FILLS[span.kind], stroke_width=f"{stroke:.2f}"))
        labels += _label(box, span)
    return [*boxes, *labels]


def _tooltip(span: Span) -> str:
    since = f"from moment {span.start}" + (" on" if span.end is None else f" to {span.end - 1}")
    last = span.address + span.size_bytes - 1
    return f"block {span.block}, {span.kind}: {span.size_bytes:,} bytes, {span.address:,} to {last:,}, {since}"


def _label(box: Box, span: Span) -> list[Markup]:
    """The block's number and bytes, or the number alone, as large as the box allows; or nothing."""
    for words in (f"{span.block}: {span.size_bytes:,} bytes", f"{span.block}"):
        size = min(_LABEL_SIZE, box.height - 1.5, (box.width - 3) / (CHARACTER * len(words)))
        if size >= _SMALLEST_LABEL:
            return [label(box.middle[0], box.middle[1] + 0.36 * size, words, "on", "middle", size)]
    return []


def _moves(plot: _Plot, spans: tuple[Span, ...]) -> list[Markup]:
    """A line from each place of a block to its next one."""
    lines = []
    before: dict[int, Span] = {}
    for span in spans:
        old = before.get(span.block)
        before[span.block] = span
        if old is not None and old.address != span.address:
            x, (start, end) = plot.x(span.start), (plot.place(each).middle[1] for each in (old, span))
            lines.append(line((x, start), (x, end), INK))
            lines.append(circle((x, end), 3, "move", fill=INK))
    return lines


def _profile(plot: _Plot, box: Box, spans: tuple[Span, ...], high_water_bytes: int) -> list[Markup]:
    """Draws the number of live bytes at each moment."""
    changes = [0] * (plot.moments + 1)
    for span in spans:
        changes[span.start] += span.size_bytes
        if span.end is not None:
            changes[span.end] -= span.size_bytes
    scale = box.height / plot.top_bytes
    points = [f"M{box.left:.1f} {box.bottom:.1f}"]
    for moment, live in enumerate(list(accumulate(changes))[: plot.moments]):
        points.append(f"V{box.bottom - scale * live:.1f}H{plot.x(moment + 1):.1f}")
    y = box.bottom - scale * high_water_bytes
    return [
        area(f"{''.join(points)}V{box.bottom:.1f}Z", _PAPER),
        label(box.left - 8, box.middle[1] + 4, "bytes live", "quiet", "end"),
        line((box.left, y), (box.right, y), ALARM, "2 3"),
        label(box.right + 8, y + 4, f"{high_water_bytes:,} at most", "peak"),
    ]


def _address_lines(plot: _Plot) -> Iterator[Markup]:
    """Lines at round numbers of bytes, numbered, up to the upper side."""
    step = round_step(plot.top_bytes)
    while plot.box.height * step / plot.top_bytes < _NEAREST_LINES:
        step *= 2
    inner = (at for at in range(0, plot.top_bytes, step) if plot.y(at) - plot.box.top >= _LABEL_SIZE + 3)
    for address in (*inner, plot.top_bytes):
        y = plot.y(address)
        yield line((plot.box.left, y), (plot.box.right, y), GRID if address else INK)
        yield label(plot.box.left - 8, y + 4, f"{address:,}", anchor="end")


def _moment_numbers(plot: _Plot, top: float) -> Iterator[Markup]:
    """Draws the numbers of moments below their starts, and the definition of a moment."""
    step = round_step(plot.moments)
    while plot.box.width * step / plot.moments < _NEAREST_NUMBERS:
        step *= 2
    for moment in range(0, plot.moments, step):
        yield line((plot.x(moment), top), (plot.x(moment), top + 4), QUIET)
        yield label(plot.x(moment), top + 16, f"{moment:,}", "quiet", "middle")
    words = "time: each allocation, move and release of a block is one moment"
    yield label(plot.box.left, top + 34, words, "quiet")


def _kinds(recording: Recording) -> list[Kind]:
    return [kind for kind, usage in recording.usage().items() if usage.allocations]


def _legend(recording: Recording, top: float) -> Iterator[Markup]:
    """A line for each kind that was allocated: colour, name, figures."""
    usage = recording.usage()
    for number, kind in enumerate(_kinds(recording)):
        y, figures = top + _LINE * number, usage[kind]
        yield Box(_LEFT, y - 11, _LEFT + 24, y + 2).draw(rx="2", fill=_FILLS[kind])
        yield label(_LEFT + 32, y, kind)
        count = f"{figures.allocations:,} allocation{'' if figures.allocations == 1 else 's'}"
        words = f"{count}, {figures.peak_bytes:,} bytes at most, {figures.live_bytes:,} at the end"
        yield label(_LEFT + 140, y, words, "quiet")
