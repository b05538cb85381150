"""`kibi compile --format plan`: plan files, and those with the layout of an older one."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from kibi.cli.options.common import DEFAULT_TARGET
from kibi.cli.terminal import byte_text, facts, output, print_json, say, working
from kibi.errors import InputError, PlanError

if TYPE_CHECKING:
    from kibi.ir import Graph
    from kibi.passes import Simplified
    from kibi.planfile.like import LikeFile
    from kibi.planfile.reader import PlanFile
    from kibi.planner import Plan, PlannedModel


def write_plan_file(
    simplified: "Simplified",
    plan: "Plan",
    path: Path,
    core: Path | None,
    *,
    is_given: bool,
    fences: bool,
    as_json: bool,
) -> None:
    """Writes a plan file, for kernels that the core has, and its layout."""
    import kibi  # noqa: PLC0415
    from kibi.planfile.core_library import load_core  # noqa: PLC0415
    from kibi.planfile.fitting import fitted  # noqa: PLC0415

    named = None if core is None else load_core(core)
    if named is not None and not is_given:
        plan = fitted(simplified.graph, plan, named, kibi.target(plan.target))
    file = kibi.compile_plan(simplified.graph, plan, path, core=named, fences=fences, simplified=simplified)
    if as_json:
        print_json(_record(file, plan.target, path))
        return
    _show(file, plan.target, path)
    source = shlex.quote(simplified.graph.source)
    say(output(), f"A core that runs it: kibi core {source} --target {plan.target} -o build/core")


def check_like(models: Sequence[Path], *, is_plan: bool, others: Sequence[str]) -> None:
    """Refuses arguments that contradict an older plan file, which decides on all of them.

    Raises:
        InputError: it is not one model, C is to be written, or an option is given that the old file decides.
    """
    if not is_plan:
        raise InputError("--like is for plan files. Add --format plan, or leave it out.")
    if len(models) > 1:
        raise InputError(f"--like makes the new file of one model; {len(models)} were given. Compile them one by one.")
    if others:
        raise InputError(f"the old file decides on {others[0]}. Leave it out, or leave out --like.")


def write_like(
    model: Path,
    old: Path,
    path: Path,
    signature: str | None,
    target: str,
    *,
    decompress: bool,
    otherwise: bool,
    as_json: bool,
) -> None:
    """Writes a plan file with the layout of an older one.

    Raises:
        PlanError: it would depart from the old one; the text says where, why, and what the two ways on cost.
        InputError: the old file is for another processor than the one that is named.
    """
    import kibi  # noqa: PLC0415
    from kibi.planfile.reader import PlanFile  # noqa: PLC0415

    graph = kibi.load(model, signature, decompress=decompress)
    with working("compiling"):
        made = kibi.compile_like(graph, old, otherwise=True)
        its = made.layout.plan.target
        if target not in (its, DEFAULT_TARGET):
            raise InputError(f"{old.name} is for {its}, not for {target}. Leave --target out, or leave out --like.")
        if made.departures and not otherwise:
            raise PlanError(_choice(graph, made, old))
        made = kibi.compile_like(graph, old, path, otherwise=True)
    file, differ = PlanFile(made.data), _differing(old, made.data)
    if as_json:
        departures = [{"where": each.where, "what": each.what} for each in made.departures]
        print_json({**_record(file, its, path), "like": str(old), "differing_bytes": differ, "departures": departures})
        return
    _show(file, its, path)
    console = output()
    if made.departures:
        say(console, f"It departs from {old.name}: {'; '.join(map(str, made.departures))}.")
    else:
        say(console, f"It has the layout of {old.name}: {differ:,} of {len(made.data):,} bytes differ.")


def _choice(graph: "Graph", made: "LikeFile", old: Path) -> str:
    """What the departures are, and what each of the two ways on costs."""
    import kibi  # noqa: PLC0415
    from kibi.planfile.writer import plan_file  # noqa: PLC0415
    from kibi.planner import PlannedModel, validate  # noqa: PLC0415

    listed = "\n".join(f"  - {each}" for each in made.departures)
    simplified = kibi.simplify(graph, made.layout.without)
    whole = validate(simplified, kibi.plan(simplified, made.layout.plan.target))
    files: list[tuple[str, PlannedModel, bytes]] = [
        ("--otherwise, which keeps what it can", made.planned, made.data),
        ("--format plan without --like, a new layout", whole, plan_file(whole)),
    ]
    ways = "\n".join(f"  - {name}: {byte_text(len(data))} of file{_instructions(each)}" for name, each, data in files)
    return f"{graph.source} cannot keep the layout of {old.name}:\n{listed}\nTwo ways on:\n{ways}"


def _instructions(planned: "PlannedModel") -> str:
    """What one inference takes, where the processor is emulated."""
    import kibi  # noqa: PLC0415
    from kibi.qemu import why_not_emulated  # noqa: PLC0415
    from kibi.reports.plan_file_costs import measure_plan_file  # noqa: PLC0415

    target = kibi.target(planned.plan.target)
    if why_not_emulated(target):
        return ""
    costs = measure_plan_file(planned, target)
    return f", {byte_text(costs.ram_bytes)} of RAM, {costs.instructions:,} instructions"


def _differing(old: Path, data: bytes) -> int:
    """How many bytes differ from those of the old file at the same places; further ones count."""
    before = old.read_bytes()
    return sum(a != b for a, b in zip(before, data, strict=False)) + abs(len(before) - len(data))


def _record(file: "PlanFile", target: str, path: Path) -> dict[str, object]:
    record = {"file": str(path), "bytes": len(file.data), "target": target, "kernels": list(file.kernels)}
    record |= {"arena_bytes": file.arena_bytes, "state_bytes": file.state_bytes}
    return {**record, "fences": [asdict(each) for each in file.fences]}


def _weight_bytes(file: "PlanFile") -> int:
    """How many bytes may be written."""
    return sum(each.size_bytes for each in file.fences)


def _show(file: "PlanFile", target: str, path: Path) -> None:
    console = output()
    facts(
        console,
        [
            ("plan file", f"{path} for {target}, {byte_text(len(file.data))}"),
            ("arena", byte_text(file.arena_bytes)),
            *([("state", byte_text(file.state_bytes))] if file.state_bytes else []),
            *(
                [("fences", f"{len(file.fences):,}, for {_weight_bytes(file):,} bytes of weights")]
                if file.fences
                else []
            ),
            ("kernels", ", ".join(name.removeprefix("kibi_") for name in file.kernels)),
        ],
    )
    say(console)
