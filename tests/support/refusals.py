"""Whether a refusal tells the truth: an operator or a type that it says is not supported really is not."""

import re

from kibi.errors import ModelError, Problem
from kibi.frontends.tflite.importers import CUSTOM, IMPORTERS, RESOLVED
from kibi.ops import operators

_OPERATOR = re.compile(r"(?P<name>[\w:\-.]+) is not supported( \(|: it is |$)")
_INPUT = re.compile(r"(?P<name>\w+): input of type (?P<type>\w+) is not supported; supported: ")
_ELEMENT = re.compile(r"element type (?P<type>\w+) is not supported; supported: (?P<known>.+)")


def is_supported(operator: str) -> bool:
    """Whether Kibi has an operator, by the name that the zoo's catalogue gives it."""
    return operator.removeprefix("CUSTOM:") in {*CUSTOM, *RESOLVED} or operator in {*IMPORTERS, *RESOLVED}


def names_what_lacks(error: ModelError) -> bool:
    """Whether a refusal names an operator, or a type, that is not supported.

    Raises:
        AssertionError: it names one that is.
    """
    lacking = list(map(_is_lacking, error.problems))  # all are looked at
    return any(lacking)


def _is_lacking(problem: Problem) -> bool:
    if found := _OPERATOR.match(problem.what):
        assert not is_supported(found["name"]), problem
    elif found := _INPUT.match(problem.what):
        assert found["type"] not in map(str, operators()[found["name"]].types), problem
    elif found := _ELEMENT.match(problem.what):
        assert found["type"] not in found["known"].split(", "), problem
    return found is not None
