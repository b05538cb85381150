"""Implements `--tune`: shows the kernels that were measured for each layer, and the chosen ones."""

from typing import TYPE_CHECKING

from kibi.cli.options.planning import PlanOptions
from kibi.cli.terminal import output, say, show, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kibi.cli.options.boards import Chosen
    from kibi.engines.tuning import Tuning
    from kibi.ir import Graph
    from kibi.planner import Plan


def tuned(
    graph: "Graph",
    plan: "Plan",
    options: PlanOptions,
    picked: "Chosen",
    *,
    is_given: bool,
    compiler: str = "zig",
    level: str = "s",
    gdb: str | None = None,
    load_into: str = "flash",
    serial: str | None = None,
) -> "tuple[Tuning, Plan]":
    """Tunes a model, and returns the result and the plan with the chosen kernels.

    Args:
        graph: the model.
        plan: its plan.
        options: those that the plan was made with.
        picked: the processor of the plan, and the board with whose flash cycles are estimated.
        is_given: true if the plan was read from a file: its order stays. Else the model is planned again.
        compiler: `zig`, `gcc` or `clang`.
        level: the compiler's.
        gdb: the GDB server of the board whose cycles decide, if one is to.
        load_into: where programs are loaded there.
        serial: the serial port of the board whose cycles decide, if one is to.

    Raises:
        InputError: there is no such goal.
        ToolchainError: the compiler is missing or fails.
        EmulationError: nothing emulates the target.
        BoardError: the board has no cycle counter, or something goes wrong there.
    """
    import kibi  # noqa: PLC0415
    from kibi.planner import with_kernels  # noqa: PLC0415

    memory = None if picked.board is None else picked.board.memory
    found = kibi.tune(
        graph,
        plan,
        target=picked.target,
        goal=plan.goal.value,
        compiler=compiler,
        level=level,
        memory=memory,
        board=picked.board,
        gdb=gdb,
        load_into=load_into,
        serial=serial,
    )
    if is_given:
        return found, with_kernels(graph, plan, kibi.target(plan.target), found.goal, found.kernels)
    if plan.stripes:  # a search for others would be for other operators
        options = PlanOptions(**{**options, "recompute": 1.0})
    return found, kibi.plan(
        graph, plan.target, **options, tuning=found, stripes=plan.stripes, pixel_rows=plan.pixel_rows
    )


def tuning_record(tunings: "Sequence[Tuning]") -> list[list[dict[str, object]]]:
    """Returns the layers of each model with their candidates, as plain data."""
    return [
        [
            {
                "node": layer.node,
                "operator": layer.label,
                "kernel": layer.chosen,
                "candidates": [
                    {
                        "kernel": each.kernel,
                        "instructions": each.instructions,
                        "cycles_estimate": each.cycles,
                        "board_cycles": each.board_cycles,
                        "weights_bytes": each.weights_bytes,
                    }
                    for each in layer.candidates
                ],
            }
            for layer in tuning.layers
        ]
        for tuning in tunings
    ]


def show_tunings(tunings: "Sequence[Tuning]") -> None:
    """Prints a table of each model's layers: every candidate with its counts, the chosen one marked."""
    for tuning in tunings:
        console = output()
        say(console)
        if not tuning.layers:
            say(console, "Each layer has one kernel on this core: there is nothing to choose.")
            continue
        every = [each for layer in tuning.layers for each in layer.candidates]
        has_cycles = any(each.cycles is not None for each in every)
        has_board = any(each.board_cycles is not None for each in every)
        columns = [*([">cycles"] if has_cycles else []), *([">board cycles"] if has_board else [])]
        rows = table(console, "!operator", "kernel", ">instructions", *columns, ">constants", "chosen")
        for layer in tuning.layers:
            for number, each in enumerate(layer.candidates):
                label = "" if number else layer.label
                mark = "yes" if each.kernel == layer.chosen else ""
                cycles = [] if each.cycles is None else [f"{each.cycles:,}"]
                if has_board:
                    cycles.append("-" if each.board_cycles is None else f"{each.board_cycles:,}")
                rows.add_row(label, each.kernel, f"{each.instructions:,}", *cycles, f"{each.weights_bytes:,}", mark)
        show(console, rows)
