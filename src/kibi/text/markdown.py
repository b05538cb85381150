"""Text in Markdown: escapes text so that, as code in a line or in a table's cell, it has no special meaning."""

import re

from kibi.printable import printable


def code_span(text: str) -> str:
    """Foreign text as code in a line or a cell: no backtick or bar ends it."""
    shown = printable(text).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{space}{shown or ' '}{space}{fence}"
