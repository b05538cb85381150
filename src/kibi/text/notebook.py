"""HTML for notebooks, which show what the last line of a cell gives: tables of text and numbers."""

from collections.abc import Iterable, Sequence

from kibi.text.markup import Markup, element_text, markup

MOST_ROWS = 60
"""The most rows of a table; of more, the last line says how many are left out."""

Cell = str | int


def titled(title: str, *parts: Markup) -> str:
    """HTML of a title in bold and what follows it."""
    return markup(
        "<div><strong>$title</strong>$parts</div>", title=element_text(title), parts=markup("").join(parts)
    ).text


def facts_table(facts: Iterable[tuple[str, Cell]]) -> Markup:
    """A table of names and values."""
    rows = markup("").join(
        markup("<tr><th style='text-align:left'>$name</th>$value</tr>", name=element_text(name), value=_cell(value))
        for name, value in facts
    )
    return markup("<table>$rows</table>", rows=rows)


def rows_table(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Markup:
    """A table with a header, of at most `MOST_ROWS` rows; numbers are to the right."""
    head = markup("").join(markup("<th>$name</th>", name=element_text(name)) for name in header)
    body = markup("").join(
        markup("<tr>$cells</tr>", cells=markup("").join(_cell(cell) for cell in row)) for row in rows[:MOST_ROWS]
    )
    left = len(rows) - MOST_ROWS
    more = markup("<p>$count more</p>", count=left) if left > 0 else markup("")
    return markup(
        "<table><thead><tr>$head</tr></thead><tbody>$body</tbody></table>$more", head=head, body=body, more=more
    )


def _cell(value: Cell) -> Markup:
    if isinstance(value, int):
        return markup("<td style='text-align:right'>$value</td>", value=element_text(f"{value:,}"))
    return markup("<td style='text-align:left'>$value</td>", value=element_text(value))
