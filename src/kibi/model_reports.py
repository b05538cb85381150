"""The function of `import kibi` that makes a report of a model: one file that works without a network."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kibi.errors import InputError, TargetError, bounded
from kibi.ir import Graph, check_graph
from kibi.targets import Board, Target
from kibi.targets import board as board_named
from kibi.targets import target as target_named

if TYPE_CHECKING:
    from kibi.passes import Simplified
    from kibi.planner.plan import Plan
    from kibi.quantization.comparing import LayerComparison
    from kibi.reports.evaluation import Evaluation
    from kibi.reports.pareto import Choice


@dataclass(frozen=True, slots=True)
class Report:
    """A report of a model.

    Attributes:
        record: all that the page shows, as plain data for JSON; the page on reports describes it.
        page: the page, HTML in UTF-8.
    """

    record: Mapping[str, Any]
    page: bytes

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file.

        Raises:
            OutputError: it cannot be written.
        """
        from kibi.files import check_path, write_file  # noqa: PLC0415 - `import kibi` starts nothing heavy, here and below

        write_file(check_path(path, "the path of the report"), self.page)

    def __repr__(self) -> str:
        model, target = self.record["model"]["name"], self.record["target"]["name"]
        return f"<Report of {model} on {target}: {len(self.page):,} bytes>"


@bounded
def report(
    model: "Graph | Simplified",
    plan: "Plan | None" = None,
    *,
    old: "Graph | Simplified | None" = None,
    old_plan: "Plan | None" = None,
    target: str | Target | None = None,
    board: str | Board | None = None,
    ram: int | None = None,
    flash: int | None = None,
    labels: Sequence[str] = (),
    choices: "Sequence[Choice]" = (),
    left_out: Sequence[str] = (),
    evaluation: "Evaluation | None" = None,
    layer_errors: "LayerComparison | None" = None,
    compiler: str = "zig",
    level: str = "s",
    seed: int = 0,
    oracle: bool = True,
) -> Report:
    """Measures a model, and makes a report of it: the answer, the plan as a live picture, costs, and the model itself in the page.

    Args:
        model: the graph; or what `kibi.passes.simplify` made of one, whose changes the report then shows. A graph without a plan is
            simplified first.
        plan: its plan; None: the default plan.
        old: an older model or version that it is compared with; None: no comparison.
        old_plan: the plan of the older one; None: its default plan.
        target: the processor, which is emulated; None: the board's or the plan's, or Cortex-M4 without both.
        board: the board, whose memories are the limits, whose flash the core waits for where it is modelled, and whose energy is
            estimated where its maker states its current; None: no limits but those given, no wait states, and no estimate.
        ram: bytes of RAM that the device has for the model; None: the board's, or not known.
        flash: bytes of flash that it has; None: as above.
        labels: the names of the classes in order, for the model that runs in the page.
        choices: other ways to plan the model, measured, to be shown beside it.
        left_out: ways that were not possible, with their reasons.
        evaluation: what `kibi.evaluate` found on a data set, whose accuracy the report then states; None: nothing.
        layer_errors: what `kibi.compare_layers` found, which the table of costs then has; None: nothing.
        compiler: `zig` (from pip) or `gcc` (`arm-none-eabi-gcc`); the page's own code is always made by zig.
        level: of the compiler: `0`, `1`, `2`, `3` or `s`.
        seed: the seed of the random input that is measured, and of the golden input of the page.
        oracle: True to compare with TFLM's build where it is installed; see `kibi.measure`.

    Returns:
        The report, which `write` writes to a file.

    Raises:
        InputError: a limit is negative, or there is a plan of an older model that is not there.
        TargetError: no such target or board, nothing emulates it, or the board has another processor.
        PlanError: a plan does not fit its model.
        ToolchainError: the compiler is missing or fails.
        EmulationError: the core stopped.
        MismatchError: the device's outputs differ from Python's or TFLM's.
    """
    from kibi.pages.answer import Limits  # noqa: PLC0415
    from kibi.pages.html import report_page  # noqa: PLC0415
    from kibi.pages.machine import machine_record  # noqa: PLC0415
    from kibi.pages.measured import measured_model  # noqa: PLC0415
    from kibi.pages.record import report_record  # noqa: PLC0415

    _check_limits(ram, flash)
    if old is None and old_plan is not None:
        raise InputError("a plan of an older model was given without that model. Give `old`, too.")
    place = board_named(board) if isinstance(board, str) else board
    processor = _processor(target, place, plan)
    memory = None if place is None else place.memory
    settings = {"compiler": compiler, "level": level, "seed": seed, "oracle": oracle, "memory": memory}
    parts = _with_plan(model, plan, processor)
    measured = measured_model(*parts, processor, **settings)  # type: ignore[arg-type]  # a dictionary of mixed types
    former = None
    if old is not None:
        former = measured_model(*_with_plan(old, old_plan, processor), processor, **settings)  # type: ignore[arg-type]  # as above
    limits = Limits(ram, flash)
    if place is not None:
        limits = Limits(place.ram_bytes if ram is None else ram, place.flash_bytes if flash is None else flash)
    record = report_record(
        measured,
        old=former,
        limits=limits,
        board=place,
        choices=choices,
        left_out=left_out,
        evaluation=evaluation,
        comparison=layer_errors,
    )
    return Report(record, report_page(record, machine_record(measured, labels, seed=seed)))


def _check_limits(ram: int | None, flash: int | None) -> None:
    """Raises an error where a limit is no number of bytes.

    Raises:
        InputError: one is negative.
    """
    for name, value in (("ram", ram), ("flash", flash)):
        if value is not None and value < 0:
            raise InputError(f"{name} is {value}, which is no number of bytes. Give 0 or more, or leave it out.")


def _processor(target: str | Target | None, board: Board | None, plan: "Plan | None") -> Target:
    """The processor that is asked for, or else that of the board, of the plan, or a Cortex-M4.

    Raises:
        TargetError: there is no such target, or the board has another one.
    """
    wanted = target or (board.target if board is not None else plan.target if plan is not None else "cortex-m4")
    found = target_named(wanted) if isinstance(wanted, str) else wanted
    if board is not None and found.name != board.target.name:
        raise TargetError(
            f"board {board.name!r} has a {board.core}, but the target is {found.name}. Leave one of the two out."
        )
    return found


def _with_plan(model: "Graph | Simplified", plan: "Plan | None", processor: Target) -> "tuple[Simplified, Plan]":
    """The model after the passes, and its plan; a plan that is given is for the graph as it was given."""
    from kibi.passes import Simplified, simplify  # noqa: PLC0415
    from kibi.planner import Granularity  # noqa: PLC0415
    from kibi.planner import plan as make  # noqa: PLC0415

    if not isinstance(model, Simplified):
        check_graph(model)
        model = simplify(model) if plan is None else Simplified(model, ())
    return model, plan or make(model.graph, processor, granularity=Granularity.ROW)
