"""`kibi sweep`: many models in many settings, measured by the workers of a cluster."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibi.cli.options.common import AsJson, SchedulerAddress
from kibi.cli.options.paths import given_path
from kibi.cli.terminal import output, print_json, say, show, table, working
from kibi.files import write_file

if TYPE_CHECKING:
    from kibi.sweeps.best import Objective
    from kibi.sweeps.rows import Row
    from kibi.sweeps.run import Swept
    from kibi.sweeps.spec import Spec

_MOST_REASONS = 5
_SHOWN_REASON = 200


def sweep(
    spec: Annotated[
        Path,
        typer.Argument(
            metavar="SPEC", help="A TOML file: models, settings, budget.", parser=given_path, show_default=False
        ),
    ],
    *,
    table_path: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The table, a Parquet file.",
            parser=given_path,
            show_default="SPEC.parquet",
        ),
    ] = None,
    scheduler: SchedulerAddress = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", metavar="N", help="Workers on this machine; 0: no cluster.", show_default="processors"
        ),
    ] = None,
    most: Annotated[
        int, typer.Option("--top", min=1, max=1000, metavar="N", help="How many of the best to show.")
    ] = 10,
    svg: Annotated[
        Path | None,
        typer.Option("--svg", metavar="FILE", help="Draw it as an SVG file.", parser=given_path, show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure many models in many settings.

    SPEC names models, or a generator of architectures, and targets, goals, levels. Each model in each setting is planned,
    compiled and run on the emulated core, and evaluated, by the workers of a Dask cluster. A sweep that was interrupted goes
    on where it was. Needs: pip install 'kibi[sweep]'.
    """
    from kibi.sweeps.best import best, front  # noqa: PLC0415 - verbs pay for what they use
    from kibi.sweeps.call import runner  # noqa: PLC0415 - as above
    from kibi.sweeps.run import Job, run_sweep  # noqa: PLC0415 - as above
    from kibi.sweeps.spec import load_spec  # noqa: PLC0415 - as above

    run = runner(scheduler, workers)
    given = load_spec(spec)
    path = table_path or Path(f"{spec.stem}.parquet")
    with working("measuring") as tell:
        found = run_sweep(Job(given.models(), given.grid, given.evaluate, path, run, tell))
    chosen = best(found.rows, given.budget, given.objective, most)
    if svg is not None:
        from kibi.sweeps.picture import sweep_svg  # noqa: PLC0415 - as above

        write_file(svg, sweep_svg(found.rows, given.objective, given.budget).encode())
    if as_json:
        print_json(_record(found, given, chosen, front(found.rows, given.objective)))
        return
    _show(found, given, chosen)
    if svg is not None:
        say(output(), f"It is drawn in {svg}.")


def _record(found: "Swept", spec: "Spec", chosen: "Sequence[Row]", optimal: "Sequence[Row]") -> dict[str, Any]:
    return {
        "table": str(found.path),
        "rows": len(found.rows),
        "reused": found.reused,
        **_counts(found),
        "objective": {"name": spec.objective.name, "maximize": spec.objective.is_maximized},
        "budget": dict(spec.budget.limits),
        "best": [row.record() for row in chosen],
        "pareto_optimal": [row.record() for row in optimal],
    }


def _counts(found: "Swept") -> dict[str, int]:
    from kibi.sweeps.rows import Status  # noqa: PLC0415 - as above

    return {str(status): found.count(status) for status in Status}


def _show(found: "Swept", spec: "Spec", chosen: "Sequence[Row]") -> None:
    """Prints the best, how many rows there are of each kind, and the commonest reasons of refusals."""
    console = output()
    objective, kinds = spec.objective, _counts(found)
    limits = ", ".join(f"{_label(name)} {limit:,.15g}" for name, limit in spec.budget.limits)
    goal = f"{'most' if objective.is_maximized else 'least'} {_label(objective.name)}"
    title = f"{goal}{f', at most {limits}' if limits else ''}"
    if chosen:
        parameters = list(dict.fromkeys(name for row in chosen for name, _ in row.parameters))
        own = [] if objective.name in ("ram_bytes", "flash_bytes", "instructions") else [f">{objective.name}"]
        further = [
            name for name in ("weights", "granularity") if len({getattr(row.setting, name) for row in found.rows}) > 1
        ]
        columns = ("!model", *(f">{name}" for name in parameters), "target", "goal", "level", *further, *own)
        rows = table(console, *columns, ">RAM", ">flash", ">instructions", title=title)
        for row in chosen:
            rows.add_row(*_cells(row, parameters, further, objective, has_own=bool(own)))
        show(console, rows)
    else:
        say(console, f"{title}: {'no row is in this budget' if kinds['measured'] else 'nothing was measured'}.")
    counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items() if count)
    known = f", {found.reused:,} of them by an earlier run" if found.reused else ""
    rows_found = f"{len(found.rows):,} row{'s' if len(found.rows) > 1 else ''}"
    say(console, f"\n{rows_found} in {found.path}: {counts}{known}")
    reasons = Counter(row.outcome.reason for row in found.rows if row.outcome.reason)
    for reason, count in reasons.most_common(_MOST_REASONS):
        say(console, f"  {count:,} x {' '.join(reason.split())[:_SHOWN_REASON]}")
    if len(reasons) > _MOST_REASONS:
        say(console, f"  and {len(reasons) - _MOST_REASONS:,} other reasons")


def _cells(
    row: "Row", parameters: Sequence[str], further: Sequence[str], objective: "Objective", *, has_own: bool
) -> list[str]:
    given, setting = dict(row.parameters), row.setting
    own = row.value(objective.name)
    return [
        row.model,
        *(str(given.get(name, "")) for name in parameters),
        setting.target,
        setting.goal,
        f"-O{setting.level}",
        *(getattr(setting, name) for name in further),
        *([f"{own:.4g}" if isinstance(own, float) else f"{own:,}"] if has_own else []),
        *(f"{row.value(name):,}" for name in ("ram_bytes", "flash_bytes", "instructions")),
    ]


def _label(name: str) -> str:
    return {"ram_bytes": "RAM", "flash_bytes": "flash"}.get(name, name)
