"""`kibi eager`: the C library for programs by hand."""

from typing import Annotated

import typer

from kibi.cli.options.boards import BoardName, TargetName, chosen_processor
from kibi.cli.options.common import AsJson, OutputFolder
from kibi.cli.options.paths import build_commands
from kibi.cli.terminal import facts, output, print_json, say, working
from kibi.files import files_digest


def write_eager(
    *,
    directory: OutputFolder,
    target: TargetName = None,
    board: BoardName = None,
    operators: Annotated[
        list[str] | None,
        typer.Option(
            "--operator",
            metavar="NAME",
            help="An operator, such as conv2d; may be given again. Without any, all.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the C library for programs by hand: arenas, handles, tensors, operators.

    It has what `kibi.eager` has in Python, by the same names, with the same events.
    """
    import kibi  # noqa: PLC0415
    from kibi.eager_c.sources import operators as known  # noqa: PLC0415

    target = chosen_processor(target, board).target.name
    names = sorted(set(operators)) if operators else None
    with working("writing the library"):
        paths = kibi.compile_eager(directory, operators=names, target=target)
    written = list(known()) if names is None else names
    if as_json:
        digest = files_digest(directory, [path.relative_to(directory).as_posix() for path in paths])
        record = {"target": target, "directory": str(directory), "operators": written, "files": len(paths)}
        print_json(record, library=digest)
        return
    console = output()
    facts(
        console,
        [
            ("library", f"{len(paths)} files for {target}, in {directory}"),
            ("operators", ", ".join(written)),
        ],
    )
    say(console)
    say(console, f"Build it: {build_commands(directory)}")
