"""The picture of the states of a device's models while updates arrive."""  # noqa: INP001

from dataclasses import dataclass

from kibi.reports.memory_shapes import INK, Box, document, label, line
from kibi.text.markup import Markup

_FILL, _EDGE = "#e8eef7", "#6688aa"
_WIDTH, _HEIGHT = 220.0, 60.0


@dataclass(frozen=True, slots=True)
class _State:
    """A box: its upper left corner, its name, and what the journal says."""

    corner: tuple[float, float]
    name: str
    journal: str

    @property
    def box(self) -> Box:
        """The box."""
        left, top = self.corner
        return Box(left, top, left + _WIDTH, top + _HEIGHT)

    def drawn(self) -> list[Markup]:
        """The box with its texts."""
        middle = self.box.middle
        return [
            self.box.draw(fill=_FILL, stroke=INK),
            label(middle[0], middle[1] - 4, self.name, anchor="middle"),
            label(middle[0], middle[1] + 14, self.journal, anchor="middle", size=11),
        ]


_NONE = _State((20, 60), "no model", "no record, or no whole file")
_WRITTEN = _State((340, 60), "a package is written", "which package, and how far")
_TRIAL = _State((680, 60), "on trial", "the new slot is active; starts left")
_CONFIRMED = _State((340, 260), "confirmed", "the active slot; no starts to count")


def update_states_picture() -> str:
    """Returns the picture: a box for each state, and an arrow for each change, with what makes it."""
    lines = [text for state in (_NONE, _WRITTEN, _TRIAL, _CONFIRMED) for text in state.drawn()]
    arrows = (
        ((_NONE.box.right, 90.0), (_WRITTEN.box.left, 90.0), (290.0, 80.0), "first package"),
        ((_WRITTEN.box.right, 90.0), (_TRIAL.box.left, 90.0), (620.0, 80.0), "digest is right"),
        ((400.0, _CONFIRMED.box.top), (400.0, _WRITTEN.box.bottom), (392.0, 196.0), "head is right"),
        ((440.0, _WRITTEN.box.bottom), (440.0, _CONFIRMED.box.top), (448.0, 176.0), "digest is wrong"),
        ((730.0, _TRIAL.box.bottom), (_CONFIRMED.box.right, 275.0), (630.0, 186.0), "confirm"),
        (
            (840.0, _TRIAL.box.bottom),
            (_CONFIRMED.box.right, 305.0),
            (680.0, 262.0),
            "no start is left, reject, or damaged:",
        ),
    )
    for start, end, place, text in arrows:
        anchor = "end" if text in ("head is right", "confirm") else "start" if place[0] in (448.0, 680.0) else "middle"
        lines += [*_arrow(start, end), label(*place, text, anchor=anchor, size=11)]
    lines.append(label(680, 277, "back to the older model", size=11))
    loop = ((370.0, 60.0), (370.0, 40.0), (470.0, 40.0), (470.0, 60.0))
    lines += [line(loop[0], loop[1], _EDGE), line(loop[1], loop[2], _EDGE), *_arrow(loop[2], loop[3])]
    lines.append(label(420, 32, "cut: goes on at the last record", anchor="middle", size=11))
    return document(920, 350, "The states of a device's models", lines)


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> list[Markup]:
    """A line with a head at its end."""
    x, y = end[0] - start[0], end[1] - start[1]
    length = (x * x + y * y) ** 0.5
    x, y = 8 * x / length, 8 * y / length
    sides = ((end[0] - x - y / 2, end[1] - y + x / 2), (end[0] - x + y / 2, end[1] - y - x / 2))
    return [line(start, end, _EDGE), *(line(end, side, _EDGE) for side in sides)]
