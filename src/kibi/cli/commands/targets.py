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
            target.runner.value,
            "estimated" if target.timing else "",
            "yes" if target.is_host or target.instruction_set is InstructionSet.THUMB else "no",
        )
    show(console, rows)
    say(console)
    say(
        console,
        f"Without --target it is {DEFAULT_TARGET}. A clock is that of a common board; it converts cycles to time.",
    )


def clock_text(target: Target) -> str:
    """Returns a clock in megahertz, as text."""
    return f"{target.clock_hz / 1e6:g} MHz" if target.clock_hz else ""


def _record(target: Target) -> dict[str, Any]:
    timing = target.timing.value if target.timing else None
    return {
        **asdict(target),
        "timing": timing,
        "runner": target.runner.value,
        "is_default": target.name == DEFAULT_TARGET,
    }
