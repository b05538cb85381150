"""`kibi operators`: what is supported, as the registry has it."""

from typing import TYPE_CHECKING, Any

from kibi.cli.arguments import AsJson
from kibi.cli.terminal import output, print_json, say, show, table
from kibi.ir import Operator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from kibi.ops import CustomOperator


def operators(*, as_json: AsJson = False) -> None:
    """List the operators that are supported.

    With their element types, kernels and shapes.
    """
    from kibi.frontends.tflite.compression import DECODE, DESCRIPTION  # noqa: PLC0415
    from kibi.ops import custom_operators  # noqa: PLC0415
    from kibi.ops import operators as registered  # noqa: PLC0415

    known, custom = registered().values(), custom_operators()
    decode = DECODE.partition(":")[2]
    if as_json:
        listed = [{**_record(each.operator), "name": code, "from": each.origin} for code, each in custom.items()]
        decoded = [{"name": decode, "description": DESCRIPTION}]
        records = [_record(operator) for operator in known]
        print_json({"operators": records, "decoded_operators": decoded, "custom_operators": listed})
        return
    console = output()
    rows = table(console, "!operator", "!input", "kernels", "what it computes")
    for operator in known:
        types = ", ".join(str(kind) for kind in operator.types)
        rows.add_row(operator.name, types, ", ".join(operator.kernels), _description(operator))
    show(console, rows)
    say(console)
    say(console, f"{len(known)} operators, each the same bits in Python, in C, and in TensorFlow Lite Micro.")
    say(console, f"And {decode}. {DESCRIPTION}")
    if custom:
        say(console)
        _show_custom(console, custom)


def _show_custom(console: "Console", custom: "Mapping[str, CustomOperator]") -> None:
    """Those that installed distributions add."""
    rows = table(console, "!custom operator", "!input", "kernels", "what it computes", "from")
    for code, each in custom.items():
        types = ", ".join(str(kind) for kind in each.operator.types)
        rows.add_row(code, types, ", ".join(each.operator.kernels), _description(each.operator), each.origin)
    show(console, rows)


def _description(operator: type[Operator]) -> str:
    """The first paragraph of the operator's own documentation."""
    return " ".join((operator.__doc__ or "").split("\n\n")[0].split())


def _record(operator: type[Operator]) -> dict[str, Any]:
    return {
        "name": operator.name,
        "types": [str(kind) for kind in operator.types],
        "kernels": list(operator.kernels),
        "description": _description(operator),
    }
