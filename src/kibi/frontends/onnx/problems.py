"""What an ONNX file asks for and Kibi does not have: collected, and grouped so that one reason is one line."""

from collections.abc import Sequence

from kibi.errors import Problem
from kibi.frontends.onnx.graph import Node

_SHOWN = 3


class Unsupported(Exception):  # noqa: N818 - it is caught within the reader, and becomes a problem
    """A node cannot be converted.

    Attributes:
        what: the fact.
        remedy: what the user can do.
    """

    def __init__(self, what: str, remedy: str) -> None:
        self.what = what
        self.remedy = remedy
        super().__init__(what)


def unsupported() -> Unsupported:
    """The reason for an operator that has no conversion."""
    return Unsupported("it is not supported", "Replace it; Kibi's page on operators of ONNX lists what is")


def grouped(found: Sequence[tuple[Node, Unsupported]]) -> list[Problem]:
    """One problem for each operator and reason, with the names of some of its nodes."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for node, reason in found:
        groups.setdefault((node.title, reason.what, reason.remedy), []).append(
            node.name or next((name for name in node.outputs if name), "without a name")
        )
    problems = []
    for (title, what, remedy), names in groups.items():
        others = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        where = f"{title} ({', '.join(names[:_SHOWN])}{others})"
        problems.append(Problem(f"{where}: {what}", remedy))
    return problems
