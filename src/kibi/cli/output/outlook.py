"""The line about float32 models: what they would take as int8, and the command."""

from pathlib import Path
from typing import TYPE_CHECKING

from kibi.cli.terminal import output, say

if TYPE_CHECKING:
    from kibi.ir import Graph


def show_outlook(path: Path, graph: "Graph", target: str | None = None) -> None:
    """Prints the line if a model multiplies float32, after an empty one.

    Args:
        path: of the model.
        graph: the model.
        target: the processor of a plan; None: RAM is left out.
    """
    from kibi.quantization.outlook import outlook  # noqa: PLC0415 - verbs pay for what they use
    from kibi.targets import target as target_named  # noqa: PLC0415 - as above

    found = outlook(path, graph, None if target is None else target_named(target))
    if found is not None:
        console = output()
        say(console)
        say(console, found.line)
