"""The registry: each operator by its name."""

from collections.abc import Mapping
from types import MappingProxyType

from kibi.errors import InternalError
from kibi.ir import Operator

_OPERATORS: dict[str, type[Operator]] = {}


def register(operator: type[Operator]) -> None:
    """Add an operator; the last line of its file.

    Raises:
        InternalError: the name is taken.
    """
    if operator.name in _OPERATORS:
        raise InternalError(f"operator {operator.name} is registered twice")
    _OPERATORS[operator.name] = operator


def operators() -> Mapping[str, type[Operator]]:
    """All operators by name, in alphabetical order."""
    return MappingProxyType(dict(sorted(_OPERATORS.items())))
