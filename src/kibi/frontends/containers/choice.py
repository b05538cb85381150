"""Which of the models in a file is meant."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kibi.errors import Problem, shortened

_MOST_LISTED = 10


class ContainerError(Exception):
    """A file that may have models inside cannot be read so; the caller says of which file."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.problem = Problem(what, remedy)


@dataclass(frozen=True, slots=True)
class Found:
    """A model inside of a file.

    Attributes:
        name: of the member of an archive, or of the array in C source.
        read: returns its bytes; raises `ContainerError`.
    """

    name: str
    read: Callable[[], bytes] = field(repr=False)


def chosen(models: Sequence[Found], name: str, path: str, kind: str) -> Found:
    """The only model, or the one of that name.

    Args:
        models: all that there are, at least one.
        name: its name; empty: there must be one alone.
        path: of the file, for the remedy.
        kind: what each of them is called, one word in the plural.

    Raises:
        ContainerError: no model has that name; or there are several, and no name is given.
    """
    if not name and len(models) == 1:
        return models[0]
    named = [each for each in models if each.name == name]
    if named:
        return named[-1]  # of members with one name, an archive means the last
    listed = ", ".join(shortened(each.name) for each in models[:_MOST_LISTED])
    more = f", and {len(models) - _MOST_LISTED} more" if len(models) > _MOST_LISTED else ""
    what = (
        f"none of its {kind} with a model is named {shortened(name)!r}"
        if name
        else f"{len(models)} of its {kind} are models"
    )
    raise ContainerError(f"{what}: {listed}{more}", f"Name one of them after a slash: {path}/{models[0].name}")
