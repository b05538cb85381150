"""The first argument of Kibi's functions: what is no model and no library is refused with what to give."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import kibi
from kibi.errors import InputError

_TAKEN = {"model": "what `kibi.load` returns", "library": "what `kibi.compile` returns"}


def _functions() -> list[tuple[Callable[..., Any], str]]:
    """The public functions whose first argument is a model that was loaded, or a library, and that argument's name."""
    public = [getattr(kibi, name) for name in kibi.__all__]
    found = [(each, inspect.signature(each)) for each in public if inspect.isfunction(each)]
    firsts = [(each, next(iter(signature.parameters.values()), None)) for each, signature in found]
    return [
        (each, first.name)
        for each, first in firsts
        if first is not None and first.name in _TAKEN and "PathLike" not in str(first.annotation)
    ]


@pytest.mark.parametrize(("function", "argument"), [pytest.param(*each, id=each[0].__name__) for each in _functions()])
@pytest.mark.parametrize("wrong", ["model.tflite", None, 3], ids=["path", "nothing", "number"])
def test_what_is_no_model_is_refused(function: Callable[..., Any], argument: str, wrong: object) -> None:
    """A path that was not loaded, nothing, a number: all functions say what they were given, and what to give."""
    needed = [
        each
        for each in list(inspect.signature(function).parameters.values())[1:]
        if each.default is inspect.Parameter.empty and each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    with pytest.raises(InputError, match=_TAKEN[argument]) as refused:
        function(wrong, *("." for _ in needed))
    assert type(wrong).__name__ in str(refused.value)


def test_every_function_of_a_model_is_looked_at() -> None:
    """The list above finds those that are there."""
    names = {function.__name__ for function, _ in _functions()}
    assert {"plan", "compile", "simplify", "run", "measure", "verify", "report", "evaluate"} <= names
