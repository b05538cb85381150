"""What `--tune` does and shows: the kernels that were counted for each layer, and those that were chosen."""

from typing import TYPE_CHECKING

from kibi.cli.terminal import output, say, show, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kibi.engines.tuning import Tuning
    from kibi.ir import Graph
    from kibi.planner import Plan


def tunings_for(
    graphs: "Sequence[Graph]", plans: "Sequence[Plan]", goal: str, *, compiler: str = "zig", level: str = "s"
) -> "list[Tuning]":
    """What tuning finds for each model; arguments as of `kibi.tune`.

    Raises:
        InputError: there is no such goal.
        ToolchainError: the compiler is missing or fails.
        EmulationError: nothing emulates the target.
    """
    import kibi  # noqa: PLC0415

    return [
        kibi.tune(graph, plan, optimize=goal, compiler=compiler, level=level)
        for graph, plan in zip(graphs, plans, strict=True)
    ]


def tuning_record(tunings: "Sequence[Tuning]") -> list[list[dict[str, object]]]:
    """For each model its layers with their candidates, as plain data."""
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
    """Print a table of each model's layers: every candidate with its counts, the chosen one marked."""
    for tuning in tunings:
        console = output()
        say(console)
        if not tuning.layers:
            say(console, "Each layer has one kernel on this core: there is nothing to choose.")
            continue
        rows = table(console, "!operator", "kernel", ">instructions", ">constants", "chosen")
        for layer in tuning.layers:
            for number, each in enumerate(layer.candidates):
                label = "" if number else layer.label
                mark = "yes" if each.kernel == layer.chosen else ""
                rows.add_row(label, each.kernel, f"{each.instructions:,}", f"{each.weights_bytes:,}", mark)
        show(console, rows)
