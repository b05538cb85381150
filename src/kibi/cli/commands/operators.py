"""`kibi operators`: what is supported, as the registry has it."""

from typing import TYPE_CHECKING, Any

from kibi.cli.options.common import AsJson
from kibi.cli.terminal import output, print_json, say, show, table
from kibi.ir import Operator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from kibi.ops import CustomOperator

_SHOWN = 2
"""Kernels in a line of the list."""


def operators(*, as_json: AsJson = False) -> None:
    """List the operators that are supported.

    With their element types, kernels and shapes.
    """
    from kibi.frontends.tflite.importers import RESOLVED  # noqa: PLC0415
    from kibi.ops import custom_operators  # noqa: PLC0415
    from kibi.ops import operators as registered  # noqa: PLC0415

    known, custom = registered().values(), custom_operators()
    if as_json:
        listed = [{**_record(each.operator), "name": code, "from": each.origin} for code, each in custom.items()]
        resolved = [{"name": name, "description": text} for name, text in RESOLVED.items()]
        print_json(
            {
                "operators": [_record(operator) for operator in known],
                "resolved_operators": resolved,
                "custom_operators": listed,
            }
        )
        return
    console = output()
    rows = table(console, "!operator", "!input", "kernels", "what it computes")
    for operator in known:
        types = ", ".join(str(kind) for kind in operator.types)
        rows.add_row(operator.name, types, _few(operator.kernels), _description(operator))
    for name, text in RESOLVED.items():
        rows.add_row(name, "", "", text)
    show(console, rows)
    say(console)
    say(
        console,
        f"{len(known) + len(RESOLVED)} operators, each the same bits in Python, in C, and in TensorFlow Lite Micro.",
    )
    if custom:
        say(console)
        _show_custom(console, custom)


def _show_custom(console: "Console", custom: "Mapping[str, CustomOperator]") -> None:
    """Shows the operators that installed distributions add."""
    rows = table(console, "!custom operator", "!input", "kernels", "what it computes", "from")
    for code, each in custom.items():
        types = ", ".join(str(kind) for kind in each.operator.types)
        rows.add_row(code, types, _few(each.operator.kernels), _description(each.operator), each.origin)
    show(console, rows)


def _few(names: "Sequence[str]") -> str:
    """The first names, and how many more there are; `--json` has them all."""
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def _description(operator: type[Operator]) -> str:
    """The first paragraph of the operator's own documentation."""
    return " ".join((operator.__doc__ or "").split("\n\n")[0].split())


def _record(operator: type[Operator]) -> dict[str, Any]:
    return {
        "name": operator.name,
        "types": [str(kind) for kind in operator.types],
        "kernels": list(operator.kernels),
        "ulps": operator.ulps,
        "description": _description(operator),
    }
