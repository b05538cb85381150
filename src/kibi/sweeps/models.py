"""The models of a sweep: files, patterns of paths, and what a generator of architectures gives, one after the other."""

import glob
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path

from kibi.errors import InputError, KibiError
from kibi.frontends.model_file import read_model
from kibi.sweeps.functions import USER_ERRORS
from kibi.sweeps.rows import Value

_MOST_TEXT = 1000
_INT64 = 1 << 63

Item = str | os.PathLike[str] | tuple[str, "bytes | str | os.PathLike[str]", Mapping[str, Value]]
"""What a generator gives: a path; or a name, the bytes of a `.tflite` file or a path, and parameters."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model, read into memory.

    Attributes:
        name: for the table.
        parameters: of its architecture, by name.
        data: the bytes of a `.tflite` file; empty if it could not be read.
        refusal: why not, or empty.
    """

    name: str
    parameters: tuple[tuple[str, Value], ...] = ()
    data: bytes = field(default=b"", repr=False)
    refusal: str = ""

    @property
    def sha256(self) -> str:
        """The digest of the bytes; empty if there are none."""
        return sha256(self.data).hexdigest() if self.data else ""


def models_of_patterns(patterns: Iterable[str | os.PathLike[str]], folder: Path) -> Iterator[Model]:
    """Yields the models at paths and patterns, each in the order of the names; one that cannot be read has the reason.

    Args:
        patterns: paths; `*`, `?`, `[…]` and `**` match parts of names. The name of a model in an archive may follow a path.
        folder: what relative paths are relative to.

    Raises:
        InputError: patterns match nothing; the text lists them all. It is raised before the first model.
    """
    found: list[str] = []
    problems: list[str] = []
    for pattern in patterns:
        try:
            found += _matches(os.fspath(pattern), folder)
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))
    for path in found:
        yield _read(path, folder / path, ())


def models_of_items(items: Iterable[Item], source: str, folder: Path, *, has_patterns: bool = False) -> Iterator[Model]:
    """Yields the models that a generator or a list gives.

    Args:
        items: of the generator.
        source: its name, for errors.
        folder: what relative paths are relative to.
        has_patterns: True if paths that are not in tuples may be patterns.

    Raises:
        InputError: an item has another form, a pattern matches nothing, or the generator raised an error; the text says which
            item it is.
    """
    if not isinstance(items, Iterable):
        raise InputError(f"{source} is a {type(items).__name__}. Give paths or tuples, in a list or from a generator.")
    iterator = iter(items)
    for number in count(1):
        try:
            item = next(iterator)
        except StopIteration:
            return
        except KibiError:
            raise
        except USER_ERRORS as error:
            what = f"{source}: {type(error).__name__} instead of item {number}: {error}"
            raise InputError(f"{what}. Correct the generator.") from error
        if has_patterns and isinstance(item, str | os.PathLike):
            yield from models_of_patterns([item], folder)
        else:
            yield _of_item(item, f"{source}, item {number}", folder)


def generated(function: Callable[..., object], source: str, arguments: Mapping[str, object]) -> Iterable[Item]:
    """Calls a generator of architectures.

    Raises:
        InputError: it takes other arguments, fails, or gives nothing that can be iterated over.
    """
    try:
        made = function(**arguments)
    except USER_ERRORS as error:
        what = f"{source}: {type(error).__name__}: {error}"
        raise InputError(f"{what}. Correct the generator, or its [arguments].") from error
    if isinstance(made, str | bytes) or not isinstance(made, Iterable):
        what = f"{source} gave a {type(made).__name__}"
        raise InputError(f"{what}. Let it yield tuples: a name, the bytes or the path of a model, its parameters.")
    return made


def check_name(name: object, what: str) -> str:
    """Returns the name of a parameter or a figure.

    Raises:
        InputError: it is no identifier of at most 64 letters.
    """
    if not (isinstance(name, str) and name.isidentifier() and name.isascii() and len(name) <= 64):
        raise InputError(f"{what} is called {str(name)[:40]!r}. Take letters, digits and underscores, at most 64.")
    return name


def _matches(pattern: str, folder: Path) -> list[str]:
    if not pattern:
        raise InputError("the path of a model is empty. Give a path, or a pattern such as models/*.tflite.")
    if not glob.has_magic(pattern) or os.path.lexists(folder / pattern):
        return [pattern]
    found = sorted(glob.glob(pattern, root_dir=folder, recursive=True))  # noqa: PTH207 - takes absolute patterns, too
    files = [path for path in found if not (folder / path).is_dir()]
    if not files:
        raise InputError(f"no file matches {pattern!r} in {folder.absolute()}. Correct the pattern, or give paths.")
    return files


def _read(name: str, path: Path, parameters: tuple[tuple[str, Value], ...]) -> Model:
    try:
        return Model(name, parameters, read_model(path))
    except KibiError as error:
        return Model(name, parameters, refusal=str(error))


def _of_item(item: object, where: str, folder: Path) -> Model:
    if isinstance(item, str | os.PathLike):
        return _read(os.fspath(item), folder / item, ())
    if not (isinstance(item, tuple) and len(item) == 3):
        what = f"{where}: it is a {type(item).__name__}"
        raise InputError(
            f"{what}. Give a path; or a tuple of a name, the bytes or the path of a model, and parameters."
        )
    name, content, given = item
    if not (isinstance(name, str) and name and len(name) <= _MOST_TEXT):
        raise InputError(f"{where}: the name is {str(name)[:40]!r}. Give a text of 1 to {_MOST_TEXT} characters.")
    if not isinstance(given, Mapping):
        raise InputError(f"{where}: the parameters are a {type(given).__name__}. Give a dict, which may be empty.")
    parameters = tuple(
        (check_name(key, f"{where}: a parameter"), _value(value, f"{where}: {key}")) for key, value in given.items()
    )
    if isinstance(content, bytes | bytearray):
        empty = "" if content else "the model has no bytes. Let the generator give the contents of a .tflite file."
        return Model(name, parameters, bytes(content), empty)
    if not isinstance(content, str | os.PathLike):
        raise InputError(
            f"{where}: the model is a {type(content).__name__}. Give the bytes of a .tflite file, or a path."
        )
    return _read(name, folder / os.fspath(content), parameters)


def _value(value: object, where: str) -> Value:
    """Returns a parameter's value; NumPy's numbers as Python's.

    Raises:
        InputError: it is none that a table can hold.
    """
    plain = getattr(value, "item", lambda: value)()
    if isinstance(plain, bool) or (isinstance(plain, int) and -_INT64 <= plain < _INT64):
        return plain
    if (isinstance(plain, float) and math.isfinite(plain)) or (isinstance(plain, str) and len(plain) <= _MOST_TEXT):
        return plain
    raise InputError(
        f"{where} is {str(value)[:40]!r}. Parameters are whole numbers of 64 bits, finite numbers, true, false, "
        f"or texts of at most {_MOST_TEXT} characters."
    )
