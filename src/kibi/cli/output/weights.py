"""Implements `--weights`: shows which layers' weights are coded, what that saves, and why others are left as they are."""

from typing import TYPE_CHECKING

from kibi.cli.terminal import output, say, show, table
from kibi.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kibi.cli.options.planning import PlanOptions
    from kibi.ir import Graph
    from kibi.planner import Plan
    from kibi.reports.coded_weights import CodingCost
    from kibi.reports.measurement import Measurement
    from kibi.selection import CodedWeights
    from kibi.targets import Target


def check_read(weights: str, *, is_for_c: bool, verb: str = "") -> None:
    """Checks that weights in slow memory are for C.

    Args:
        weights: the value of `--weights`.
        is_for_c: True if C is written, with the kernels that it chooses itself.
        verb: of a command that never takes them.

    Raises:
        InputError: they are in slow memory, and it is not.
    """
    if not weights.startswith("read:") or is_for_c:
        return
    what = "weights in slow memory are for C, with the kernels that it chooses."
    remedy = f"`kibi {verb}` takes --weights flash or rice." if verb else "Leave --format plan and --tune out."
    raise InputError(f"{what} {remedy}")


def codings(graphs: "Sequence[Graph]", plans: "Sequence[Plan]", options: "PlanOptions") -> "list[CodedWeights]":
    """What coding does for each model; empty where weights are to be stored as they are."""
    from kibi.planner import PlannedModel  # noqa: PLC0415
    from kibi.selection import coded_weights  # noqa: PLC0415

    if options.get("weights") != "rice":
        return []
    return [coded_weights(PlannedModel.of(graph, plan).graph) for graph, plan in zip(graphs, plans, strict=True)]


def measured_coding(
    graph: "Graph",
    coded: "CodedWeights",
    after: "Measurement",
    target: "Target",
    options: "PlanOptions",
    *,
    compiler: str,
    level: str,
) -> "CodingCost | None":
    """Measures the same model with weights as they are, and compares; None if no layer is coded.

    Args:
        graph: the model.
        coded: what coding does for it.
        after: the measurement with coded weights.
        target: the processor.
        options: of the plan.
        compiler: `zig`, `gcc` or `clang`.
        level: the compiler's.
    """
    import kibi  # noqa: PLC0415
    from kibi.files import temporary_folder  # noqa: PLC0415
    from kibi.reports.coded_weights import coding_cost  # noqa: PLC0415

    if not coded.coded:
        return None
    others = options.copy()
    others["weights"] = "flash"
    plain = kibi.plan(graph, target, **others)
    with temporary_folder() as folder:
        library = kibi.compile(graph, plain, folder, package=None)
        seed, runs = after.seeds[0], len(after.seeds)
        before = kibi.measure(library, compiler=compiler, level=level, seed=seed, runs=runs, oracle=False)
    return coding_cost(coded, before, after)


def show_codings(codings: "Sequence[CodedWeights]", cost: "CodingCost | None" = None) -> None:
    """Prints a table of each model's layers with weights."""
    for coded in codings:
        console = output()
        say(console)
        if not coded.layers:
            say(console, "No layer has weights that can be coded.")
            continue
        counts = (">before", ">instructions") if cost else ()
        rows = table(console, "!weights of", ">bytes", ">coded", ">saved", *counts, "stored")
        for layer in coded.layers:
            counted = ["", ""] if cost else []
            if cost and layer.is_coded:
                counted = [f"{each[layer.node]:,}" for each in (cost.before, cost.after)]
            figures = (f"{each:,}" for each in (layer.raw_bytes, layer.coded_bytes, layer.saved_bytes))
            rows.add_row(layer.label, *figures, *counted, "coded" if layer.is_coded else f"as they are: {layer.reason}")
        rows.add_section()
        totals = [f"{cost.total_before:,}", f"{cost.total_after:,}"] if cost else []
        figures = (f"{sum(each):,}" for each in _sums(coded))
        rows.add_row("coded layers", *figures, *totals, "", style="bold")
        show(console, rows)
        say(console)
        say(console, _summary(coded, cost))
        if again := _read_again(coded):
            say(console, again)


def _sums(coded: "CodedWeights") -> "list[list[int]]":
    layers = coded.coded
    return [
        [layer.raw_bytes for layer in layers],
        [layer.coded_bytes for layer in layers],
        [layer.saved_bytes for layer in layers],
    ]


def _read_again(coded: "CodedWeights") -> str:
    """Says why layers that read weights several times stay; empty where there are none."""
    layers = coded.read_again
    if not layers:
        return ""
    raw, saved = (
        sum(figures) for figures in zip(*((each.raw_bytes, each.saved_bytes) for each in layers), strict=True)
    )
    would = f"would save {saved:,} of {raw:,} bytes, {saved / raw:.1%}" if saved > 0 else "would save nothing"
    return (
        "Layers that read each weight several times are not coded, because each time it would be decoded again. "
        f"Coding all of them {would}."
    )


def _summary(coded: "CodedWeights", cost: "CodingCost | None") -> str:
    if not coded.coded:
        return "No weights are coded."
    text = f"Coded weights save {coded.saved_bytes:,} bytes; the code that decodes them takes {coded.decoder_bytes:,}."
    if cost is None:
        return text
    return (
        f"{text} Measured: flash {cost.flash_before:,} to {cost.flash_after:,} bytes, instructions {cost.total_before:,} to "
        f"{cost.total_after:,}."
    )
