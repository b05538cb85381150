"""`kibi schema`: what the JSON of a verb looks like."""

import sys
from typing import Annotated

import typer

from kibi.cli.terminal import output, say, show, table


def schema(
    verb: Annotated[
        str, typer.Argument(metavar="VERB", help="The verb. Without: all that have one.", show_default=False)
    ] = "",
) -> None:
    """Print the JSON Schema of what a verb prints with --json.

    The schemas are of draft 2020-12. Their version is `schema_version` in each object: it rises when a key goes away or changes
    its meaning. New keys may come at any time.
    """
    from kibi.schemas import schema_text, schema_titles  # noqa: PLC0415 - verbs pay for what they use

    if verb:
        sys.stdout.write(schema_text(verb))
        return
    console = output()
    rows = table(console, "!verb", "what its JSON is about")
    for name, title in schema_titles().items():
        rows.add_row(name, title.partition(": ")[2])
    show(console, rows)
    say(console)
    say(console, "Print one: kibi schema plan")
