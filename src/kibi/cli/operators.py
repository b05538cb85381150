"""`kibi operators`: what is supported, as the registry has it."""

from typing import Any

from kibi.cli.arguments import AsJson
from kibi.cli.terminal import output, print_json, say, show, table
from kibi.ir import Operator


def operators(*, as_json: AsJson = False) -> None:
    """List the operators that are supported.

    With their element types, kernels and shapes.
    """
    from kibi.ops import operators as registered  # noqa: PLC0415

    known = registered().values()
    if as_json:
        print_json({"operators": [_record(operator) for operator in known]})
        return
    console = output()
    rows = table(console, "!operator", "!input", "kernels", "what it computes")
    for operator in known:
        types = ", ".join(str(kind) for kind in operator.types)
        rows.add_row(operator.name, types, ", ".join(operator.kernels), _description(operator))
    show(console, rows)
    say(console)
    say(console, f"{len(known)} operators, each the same bits in Python, in C, and in TensorFlow Lite Micro.")


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
