"""`kibi place`: buffers with lifetimes, from a table, get their offsets."""

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibi.cli.options.common import AsJson
from kibi.cli.options.paths import given_path
from kibi.cli.terminal import byte_text, facts, output, print_json, say, working
from kibi.errors import PlanError
from kibi.files import read_text, write_file
from kibi.text.json import with_own_keys

if TYPE_CHECKING:
    from kibi.planner.placement.placing import Solution
    from kibi.planner.placement_file import Instance

_MOST_BYTES = 64 << 20


def place(
    instance: Annotated[
        Path, typer.Argument(metavar="INSTANCE", help="A .csv file.", parser=given_path, show_default=False)
    ],
    *,
    capacity: Annotated[
        int | None,
        typer.Option(
            "--capacity", min=0, metavar="N", help="Fit N bytes. Without: as few as possible.", show_default=False
        ),
    ] = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", min=0.0, metavar="S", help="About how many seconds to search.")
    ] = 10.0,
    save_to: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the table with offsets.",
            parser=given_path,
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Place buffers, with proof.

    INSTANCE is a table in MiniMalloc's form, with columns id, lower, upper, size and, if wanted, alignment, gaps and
    offset (a fixed one). Each buffer lives from lower to before upper. The answer is checked before it is printed: the
    best placement found, and whether it is proven that none is lower, or that none fits.
    """
    from kibi.planner.placement.check import check_offsets  # noqa: PLC0415
    from kibi.planner.placement.placing import place_items  # noqa: PLC0415
    from kibi.planner.placement_file import read_instance, write_instance  # noqa: PLC0415

    problem = read_instance(
        read_text(instance, _MOST_BYTES, PlanError, "Give the path of a table of buffers."), instance.name
    )
    with working("placing"):
        started = perf_counter()
        found = place_items(problem.items, capacity=capacity, time_limit_seconds=time_limit)
        seconds = perf_counter() - started
    if found.offsets is not None:
        check_offsets(problem.items, found.offsets, found.peak_bytes)
        if save_to is not None:
            write_file(save_to, write_instance(problem, found.offsets).encode())
    if as_json:
        print_json(_record(instance.name, problem, found, capacity, seconds))
    else:
        _show(problem, found, seconds)
        if save_to is not None and found.offsets is not None:
            say(output(), f"The table with offsets is in {save_to}.")
    _refuse(found, capacity)


def _refuse(found: "Solution", capacity: int | None) -> None:
    """Raises an error if the requested placement was not found."""
    if found.offsets is None:
        raise PlanError("the fixed offsets put two buffers on the same bytes. Free one of them.")
    if capacity is not None and found.peak_bytes > capacity:
        known = "it is proven that none can" if found.lower_bound_bytes > capacity else "whether one can is not known"
        raise PlanError(
            f"no placement was found that fits {capacity} bytes; {known}. The best one takes {found.peak_bytes}: give "
            "as much, or more time."
        )


def _answer(found: "Solution") -> str:
    """One of three proven answers: optimal; feasible with a lower bound, within the capacity or not; infeasible."""
    from kibi.planner.placement.placing import Status  # noqa: PLC0415

    status = Status.FEASIBLE if found.status is Status.UNDECIDED else found.status
    return str(status.value)


def _record(name: str, problem: "Instance", found: "Solution", capacity: int | None, seconds: float) -> dict[str, Any]:
    return {
        "instance": name,
        "buffers": len(problem.items),
        "capacity_bytes": capacity,
        "status": _answer(found),
        "peak_bytes": None if found.offsets is None else found.peak_bytes,
        "lower_bound_bytes": found.lower_bound_bytes,
        "solve_seconds": seconds,
        "offsets": None if found.offsets is None else with_own_keys(zip(problem.names, found.offsets, strict=True)),
    }


def _show(problem: "Instance", found: "Solution", seconds: float) -> None:
    gap = found.peak_bytes / found.lower_bound_bytes - 1 if found.lower_bound_bytes and found.offsets else 0.0
    peak = byte_text(found.peak_bytes) + (f", {gap:.2%} above the lower bound" if gap else "")
    facts(
        output(),
        [
            ("buffers", f"{len(problem.items):,}"),
            ("status", _answer(found)),
            ("peak", peak if found.offsets is not None else "-"),
            ("lower bound", byte_text(found.lower_bound_bytes)),
            ("seconds", f"{seconds:.3f}"),
        ],
    )
