"""`kibi plan`: the memory of a model, to the byte."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibi.cli.arguments import DEFAULT_TARGET, AsJson, GranularityName, ModelPath, TargetName
from kibi.cli.terminal import output, picture_columns, print_json, say, working

if TYPE_CHECKING:
    from kibi.ir import Graph
    from kibi.planner import Plan


def plan(
    model: ModelPath,
    *,
    target: TargetName = DEFAULT_TARGET,
    granularity: GranularityName = "tensor",
    as_json: AsJson = False,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw the plan as an SVG file.", show_default=False)
    ] = None,
) -> None:
    """Plan a model's memory to the byte.

    The arena, its lower bound, who holds the peak, and a picture: in it time goes down and addresses go right. What
    --json prints can be given to `kibi compile --plan`.
    """
    import kibi  # noqa: PLC0415
    from kibi.reports.memory_picture import memory_picture  # noqa: PLC0415

    processor = kibi.target(target)
    graph = kibi.load(model)
    with working("planning"):
        made = kibi.plan(graph, processor, granularity=granularity)
    if svg is not None:
        _draw(svg, graph, made)
    if as_json:
        from kibi.reports.plan_record import plan_record  # noqa: PLC0415

        print_json(plan_record(graph, made))
        return
    console = output()
    say(console, memory_picture(graph, made, width=picture_columns(console)))
    if svg is not None:
        say(console, f"\nThe plan is drawn in {svg}.")


def _draw(path: Path, graph: "Graph", made: "Plan") -> None:
    from kibi.codegen.output import write_file  # noqa: PLC0415
    from kibi.reports.memory_svg import memory_svg  # noqa: PLC0415

    write_file(path, memory_svg(graph, made).encode())
