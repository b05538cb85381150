"""`kibi pareto`: RAM against instructions and flash."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibi.cli.options.boards import BoardName, Chosen, TargetName, chosen_processor
from kibi.cli.options.checks import compiler_named, emulated_target
from kibi.cli.options.common import AsJson, CompilerName, ModelPath, Seed, SignatureName, WithoutPasses
from kibi.cli.options.models import load_simplified
from kibi.cli.options.paths import given_path
from kibi.cli.options.planning import PlanOptions
from kibi.cli.options.variants import MEASURED
from kibi.cli.terminal import GOOD, QUIET, output, print_json, say, show, table, working
from kibi.errors import MismatchError, PlanError, ToolchainError
from kibi.files import temporary_folder, write_file

if TYPE_CHECKING:
    from kibi.ir import Graph
    from kibi.reports.pareto import Choice
    from kibi.targets import Memory, Target

_LEVELS = "s"
_LIMITS = 4
"""Limits of the arena that are tried between the smallest and the largest one."""
_KNOWN_LEVELS = "0123s"


def pareto(
    model: ModelPath,
    *,
    target: TargetName = None,
    board: BoardName = None,
    compiler: CompilerName = "zig",
    levels: Annotated[
        str, typer.Option("--levels", "-O", metavar="L", help="The compiler's levels to try, of 0, 1, 2, 3 and s.")
    ] = _LEVELS,
    seed: Seed = 0,
    signature: SignatureName = None,
    without_pass: WithoutPasses = None,
    as_json: AsJson = False,
    svg: Annotated[
        Path | None,
        typer.Option("--svg", metavar="FILE", help="Draw it as an SVG file.", parser=given_path, show_default=False),
    ] = None,
) -> None:
    """Weigh a model's RAM against instructions and flash.

    Each way of planning it, at each of the compiler's levels, is compiled and run on the emulated core. Those that no
    other beats in all three are marked.
    """
    from kibi.reports.pareto import pareto_record  # noqa: PLC0415

    setup = Setup(chosen_processor(target, board), compiler_named(compiler), seed)
    emulated_target(setup.target.name)
    _check_levels(levels)
    graph = load_simplified(model, without_pass, signature=signature)
    choices, left_out = measured_choices(graph, setup, levels)
    if not choices:
        raise PlanError(f"{graph.source} cannot be planned in any way. {left_out[0]}")
    if svg is not None:
        from kibi.reports.pareto_svg import pareto_svg  # noqa: PLC0415

        write_file(svg, pareto_svg(graph.name, setup.target.name, choices).encode())
    if as_json:
        print_json({**pareto_record(graph.name, setup.target.name, choices), "left_out": left_out})
        return
    _show(graph, setup.target, choices, left_out)
    if svg is not None:
        say(output(), f"\nIt is drawn in {svg}.")


@dataclass(frozen=True, slots=True)
class Setup:
    """How choices are measured.

    Attributes:
        chosen: the processor, and the board whose flash the core waits for.
        compiler: its name.
        seed: of the random input.
    """

    chosen: Chosen
    compiler: str
    seed: int

    @property
    def target(self) -> "Target":
        """The processor, at its clock."""
        return self.chosen.target

    @property
    def memory(self) -> "Memory | None":
        """How the core reads its flash; None for a flash without wait states."""
        return None if self.chosen.board is None else self.chosen.board.memory


def measured_choices(graph: "Graph", setup: Setup, levels: str) -> "tuple[list[Choice], list[str]]":
    """Each way of planning at each level, and the ways that are not possible, with their reasons.

    Raises:
        MismatchError: the device's bits differ.
    """
    choices: list[Choice] = []
    left_out: list[str] = []
    for variant, options in MEASURED.items():
        with working(f"measuring {variant}"):
            try:
                choices += _measured(graph, setup, variant, options, levels)
            except PlanError as error:
                left_out.append(f"{variant}: {error}")
    return choices, left_out


def swept_choices(graph: "Graph", setup: Setup, choices: "Sequence[Choice]") -> "list[Choice]":
    """The fastest plans within several limits of the arena, between the smallest and the largest arena of choices.

    Raises:
        MismatchError: the device's bits differ.
    """
    arenas = [choice.arena_bytes for choice in choices]
    least, most = min(arenas, default=0), max(arenas, default=0)
    found: list[Choice] = []
    known = {choice.costs for choice in choices}
    for number in range(1, _LIMITS + 1 if least else 0):
        limit = round(least * (most / least) ** (number / (_LIMITS + 1)))
        with working(f"measuring the fastest plan within {limit:,} bytes"):
            variant = f"the fastest within {limit:,} bytes of arena"
            for choice in _measured(graph, setup, variant, PlanOptions(ram=limit), _LEVELS):
                found += [] if choice.costs in known else [choice]
                known.add(choice.costs)
    return found


def _check_levels(levels: str) -> None:
    """Refuses levels that compilers do not have.

    Raises:
        ToolchainError: there is one, or none at all.
    """
    wrong = [level for level in levels if level not in _KNOWN_LEVELS]
    if wrong or not levels:
        raise ToolchainError(f"unknown level {''.join(wrong)!r}. Give some of {', '.join(_KNOWN_LEVELS)}, as in -O s3.")


def _measured(graph: "Graph", setup: Setup, variant: str, options: PlanOptions, levels: str) -> "list[Choice]":
    """A variant at each level.

    Raises:
        PlanError: the model cannot be planned like that.
        MismatchError: the device's bits differ.
    """
    import kibi  # noqa: PLC0415
    from kibi.reports.pareto import Choice  # noqa: PLC0415

    plan = kibi.plan(graph, setup.target, **options)
    choices = []
    with temporary_folder() as folder:
        library = kibi.compile(graph, plan, folder, target=setup.target, package=None)
        for level in dict.fromkeys(levels):
            found = kibi.measure(
                library,
                compiler=setup.compiler,
                level=level,
                seed=setup.seed,
                oracle=False,
                memory=setup.memory,
            )
            if not found.bit_exact:
                raise MismatchError(
                    f"{graph.source}, {variant}: the device's bits differ. Run `kibi verify` to find why."
                )
            choices.append(
                Choice(
                    variant=variant,
                    level=level,
                    arena_bytes=plan.arena_bytes,
                    lower_bound_bytes=plan.lower_bound_bytes,
                    proven_optimal=plan.proven_optimal,
                    ram_bytes=found.ram_bytes,
                    flash_bytes=found.flash_bytes,
                    instructions=found.instructions,
                    cycles_estimate=found.cycles_estimate,
                    solve_seconds=plan.solve_seconds,
                )
            )
    return choices


def _show(graph: "Graph", target: "Target", choices: "Sequence[Choice]", left_out: Sequence[str]) -> None:
    """Prints a line for each choice, marks those that no other dominates, and names the choices that failed."""
    from rich.text import Text  # noqa: PLC0415

    from kibi.reports.pareto import pareto_optimal  # noqa: PLC0415

    console = output()
    columns = ("!", "!plan", "level", ">RAM", ">flash", ">instructions", ">arena", ">above the least")
    rows = table(console, *columns, title=f"{graph.name} on {target.name}")
    for choice, is_best in zip(choices, pareto_optimal(choices), strict=True):
        rows.add_row(
            Text("*" if is_best else "", GOOD),
            choice.variant,
            f"-O{choice.level}",
            f"{choice.ram_bytes:,}",
            f"{choice.flash_bytes:,}",
            f"{choice.instructions:,}",
            f"{choice.arena_bytes:,}",
            "0%"
            if choice.proven_optimal
            else f"{choice.arena_bytes / max(choice.lower_bound_bytes, 1) - 1:.1%} or less",
            style="" if is_best or not console.is_terminal else QUIET,
        )
    show(console, rows)
    say(
        console,
        "\n* Pareto-optimal: nothing else needs less RAM, flash or instructions without needing more of another",
    )
    for reason in left_out:
        say(console, f"left out: {reason}")
