"""Earlier names, which one more version accepts, each with a warning that says the new name."""

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


def renamed_keywords(**names: str) -> Callable[[Callable[Arguments, Returned]], Callable[Arguments, Returned]]:
    """Returns a decorator whose function also takes earlier names of its keywords, each with a `DeprecationWarning`.

    Args:
        names: the new name of each earlier one.
    """

    def decorate(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
        @wraps(function)
        def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
            for old, new in names.items():
                if old in kwargs:
                    if new in kwargs:
                        raise TypeError(
                            f"{function.__qualname__}() takes {new!r} or its earlier name {old!r}, not both"
                        )
                    warn_of_rename(f"{old}=", f"{new}=", stack_level=3)
                    kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate


def renamed_value(value: str, names: Mapping[str, str]) -> str:
    """Returns the new name of a value where it is an earlier one, with a `DeprecationWarning`; else the value itself."""
    if value not in names:
        return value
    warn_of_rename(repr(value), repr(names[value]), stack_level=4)
    return names[value]


def warn_of_rename(old: str, new: str, *, stack_level: int = 2) -> None:
    """Warns a programmer that a name is an earlier one."""
    text = f"{old} is now {new}; the next version does not take the earlier name"
    warnings.warn(text, DeprecationWarning, stacklevel=stack_level)
