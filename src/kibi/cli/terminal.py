"""Printing: tables and colours where a person reads, plain text in a pipe, JSON for programs, progress on the side."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from kibi.cli.envelope import enveloped, enveloped_each
from kibi.printable import paragraph, printable
from kibi.text.json import json_text

_PIPE_COLUMNS = 4096
"""The width if no terminal tells its own: nothing is cut or wrapped."""
PICTURE_COLUMNS = 100
"""Width of pictures in a pipe."""
_WIDEST_PICTURE = 160
_ROOMY_COLUMNS = 96
GOOD, BAD, QUIET, TITLE, FIGURE = "green", "bold red", "dim", "bold", "bold cyan"


class _Output(Console):
    """Standard output, or standard error; where nobody reads it any more, the caller learns so.

    Whatever is printed passes through `render`: no text from a model, a file or an argument steers the terminal.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The parts of what is printed, each visible; the terminal's own controls are apart from them."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(paragraph(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Raises the error, so that `main` decides what a broken pipe means."""
        raise BrokenPipeError


def output() -> Console:
    """Standard output as it is now."""
    console = _Output()
    return console if console.is_terminal else _Output(width=_PIPE_COLUMNS)


class _Rows(Table):
    """A table whose cells have one line each for any text, and the width that the terminal shows."""

    def add_row(
        self, *cells: RenderableType | None, style: str | Style | None = None, end_section: bool = False
    ) -> None:
        """Adds a row."""
        super().add_row(*map(_cell, cells), style=style, end_section=end_section)


def _cell(content: RenderableType | None) -> RenderableType | None:
    if isinstance(content, str):
        return printable(content)
    if isinstance(content, Text) and not content.plain.isprintable():
        return Text(printable(content.plain), content.style, no_wrap=content.no_wrap)
    return content


def tell(text: str) -> None:
    """Prints a remark of the program on standard error."""
    _Output(stderr=True, soft_wrap=True).print(f"kibi: {text}", style=None)


def picture_columns(console: Console) -> int:
    """The width of pictures, in characters."""
    return min(console.width, _WIDEST_PICTURE) if console.is_terminal else PICTURE_COLUMNS


def is_roomy(console: Console) -> bool:
    """True if there is room for optional columns."""
    return console.width >= _ROOMY_COLUMNS


def print_json(
    record: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, library: str | None = None, is_of_model: bool = True
) -> None:
    """Prints one JSON document on standard output, with its origin. Numbers that JSON does not have become null.

    Args:
        record: an object, or a list with equally many objects for each model that was given.
        library: the digest of the C library that was written or measured; None: the verb made no library.
        is_of_model: False if the file that was given is no model.
    """
    told = (
        enveloped(record, library=library, is_of_model=is_of_model)
        if isinstance(record, Mapping)
        else enveloped_each(record)
    )
    sys.stdout.write(json_text(told, indent=2).text)


def table(console: Console, *columns: str, title: str = "") -> Table:
    """An empty table. A column whose name starts with `>` holds numbers, with `!` names that must be whole.

    On a terminal a line stands under the names and other cells wrap; in a pipe there are only columns of text.
    """
    is_terminal = console.is_terminal
    made = _Rows(
        box=box.SIMPLE_HEAD if is_terminal else None,
        title=printable(title) or None,
        title_justify="left",
        title_style=TITLE,
        header_style=TITLE,
        pad_edge=False,
        padding=(0, 1, 0, 0) if is_terminal else (0, 2, 0, 0),
        show_edge=False,
    )
    for column in columns:
        right, is_whole = column.startswith(">"), column.startswith(("!", ">"))
        made.add_column(column.lstrip("!>"), justify="right" if right else "left", no_wrap=is_whole)
    return made


def show(console: Console, rows: Table) -> None:
    """Prints a table; in a pipe, without blanks at the ends of lines."""
    for column in rows.columns:
        if column.no_wrap:
            column.min_width = max((len(str(cell)) for cell in (column.header, *column.cells)), default=0)
    if console.is_terminal:
        console.print(rows)
        return
    with console.capture() as captured:
        console.print(rows)
    say(console, "\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n")))


def facts(console: Console, pairs: Sequence[tuple[str, str | Text]]) -> None:
    """Names and values under one another."""
    grid = _Rows.grid(padding=(0, 2, 0, 0))
    grid.add_column(style=QUIET if console.is_terminal else "", no_wrap=True)
    grid.add_column()
    for name, value in pairs:
        grid.add_row(name, value)
    show(console, grid)


def name_of(text: str, length: int = 36) -> Text:
    """A tensor's name as people can read it: the first one of fused layers, without what steers a terminal."""
    first = printable(text).split(";")[0]
    return Text(first if len(first) <= length else f"…{first[1 - length :]}", no_wrap=True)


def say(console: Console, text: str | Text = "", style: str | Style | None = None) -> None:
    """Prints a line or a paragraph; a terminal wraps it at words, a pipe does not."""
    console.print(text, style=style, soft_wrap=not console.is_terminal)


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Shows a spinner on standard error during the with-block, if that is a terminal.

    Yields:
        A function that shows progress: a few words after the spinner's text.
    """
    console = _Output(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(Text(printable(f"{what}…")), spinner="dots") as status:
        yield lambda news: status.update(Text(printable(f"{what}: {news}…")))


@contextmanager
def counting(what: str, unit: str) -> Iterator[Callable[[int, int | None], None]]:
    """Shows a progress bar on standard error during the with-block, if that is a terminal.

    Yields:
        A function that takes how many are done, and how many there are, or None.
    """
    console = _Output(stderr=True)
    if not console.is_terminal:
        yield lambda *_: None
        return
    columns = (
        TextColumn(printable(what)), BarColumn(), MofNCompleteColumn(), TextColumn(printable(unit)), TimeRemainingColumn()
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def byte_text(count: int) -> str:
    """Bytes with their unit."""
    return f"{count:,} byte{'' if count == 1 else 's'}"
