"""When constants may be written, as a picture in characters: time goes right, a line for each constant."""

from rich.text import Text

from kibi.reports.fences import Fence

_UNREAD, _WAITS, _FREE = "-", "#", "."
_STYLES = {_UNREAD: "yellow", _WAITS: "red", _FREE: "green"}
_LEAST_COLUMNS = 8
LEGEND = (
    f"{_UNREAD} no step has read it yet: a write changes this inference, without a mixture    "
    f"{_WAITS} read, and read again: it waits    {_FREE} the next inference alone reads it"
)
"""What the characters mean."""


def fence_bar(fence: Fence, steps: int, columns: int) -> Text:
    """Draws the time in which a constant must wait.

    Args:
        fence: the constant.
        steps: row steps of an inference; at least 1.
        columns: characters; at least 8. Each is an equal part of the steps, and shows the most that holds in it.
    """
    columns = max(columns, _LEAST_COLUMNS)
    first, end = fence.first * columns // steps, -(-(fence.last + 1) * columns // steps)
    text = Text(no_wrap=True, overflow="crop")
    for mark, count in ((_UNREAD, first), (_WAITS, end - first), (_FREE, columns - end)):
        text.append(mark * count, _STYLES[mark])
    return text
