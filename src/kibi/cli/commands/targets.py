"""`kibi targets`: the processors that Kibi knows."""

from dataclasses import asdict
from typing import Any

from kibi.cli.options.common import DEFAULT_TARGET, AsJson
from kibi.cli.terminal import output, print_json, say, show, table
from kibi.targets import InstructionSet, Target
from kibi.targets import targets as all_targets


def targets(*, as_json: AsJson = False) -> None:
    """List the processors that Kibi knows.

    Models can be compiled for all of them, and measured on those that something runs: an emulated core, QEMU or wasmtime.
    """
    from kibi.engines.ways import why_not_run  # noqa: PLC0415 - verbs pay for what they use

    if as_json:
        print_json({"targets": [_record(target) for target in all_targets()]})
        return
    console = output()
    rows = table(console, "!target", "processor", ">clock", "kernels", "run by", "cycles", "gcc")
    for target in all_targets():
        rows.add_row(
            target.name,
            target.description,
            clock_text(target),
            target.kernel_sets[0],
            _runners(target),
            "estimated" if target.timing else "",
            "yes" if target.is_host or target.instruction_set is InstructionSet.THUMB else "no",
        )
    show(console, rows)
    say(console)
    missing = dict.fromkeys(filter(None, (why_not_run(each) for each in all_targets() if each.is_known)))
    for why in missing:
        say(console, f"Not here: {why}.")
    say(
        console,
        f"Without --target it is {DEFAULT_TARGET}. A clock is that of a common board; it converts cycles to time.",
    )


def _runners(target: Target) -> str:
    """What runs the target's code, the one first that is used without --emulator."""
    if target.is_program or target.is_host:
        return target.runner.value
    return ", ".join(filter(None, ("unicorn" if target.emulated_cpu else "", "qemu" if target.qemu else ""))) or "-"


def clock_text(target: Target) -> str:
    """Returns a clock in megahertz, as text."""
    return f"{target.clock_hz / 1e6:g} MHz" if target.clock_hz else ""


def _record(target: Target) -> dict[str, Any]:
    from kibi.engines.ways import why_not_run  # noqa: PLC0415

    timing = target.timing.value if target.timing else None
    found = target.qemu
    qemu = found and {"machine": found.machine.name, "cpu": found.cpu, "replaces": found.replaces}
    return {
        **asdict(target),
        "timing": timing,
        "qemu": qemu,
        "missing": why_not_run(target),
        "runner": target.runner.value,
        "is_default": target.name == DEFAULT_TARGET,
    }
