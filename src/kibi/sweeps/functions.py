"""Functions of the user's, named in a specification: `file.py:function`, or `package.module:function`.

A function is not sent to workers; its name is. Each process imports it itself, from the same text: the digest of the source is
part of what results depend on.
"""

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from kibi.errors import InputError
from kibi.files import read_bytes
from kibi.printable import printable

_MOST_SOURCE_BYTES = 16 << 20
USER_ERRORS = (Exception, SystemExit)
"""What code of the user's may raise where a sweep calls it; `sys.exit` in it must not end the sweep, or a worker."""


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """A function by its name, with the digest of its source.

    Attributes:
        path: the absolute path of its file; empty for one of an installed module.
        module: the name of its module; empty for one of a file.
        name: its own name, with dots for what is inside of a class.
        sha256: the digest of its file, and of the other Python files beside it.
    """

    path: str
    module: str
    name: str
    sha256: str

    @property
    def text(self) -> str:
        """The name for people."""
        return printable(f"{Path(self.path).name if self.path else self.module}:{self.name}")

    def load(self) -> Callable[..., Any]:
        """Imports it.

        Raises:
            InputError: it cannot be imported, is no function, or its source is another one here.
        """
        found: Any = _module(self)
        for part in self.name.split("."):
            found = getattr(found, part, None)
        if not callable(found):
            raise InputError(f"{self.text}: there is no such function. Check the name after the colon.")
        return found  # type: ignore[no-any-return]  # a callable is all that is known of it


def named_function(text: str, folder: Path) -> NamedFunction:
    """Finds the function of that name.

    Args:
        text: `file.py:function`, the path relative to the folder; or `package.module:function`.
        folder: of the specification.

    Raises:
        InputError: there is no such file or module, or the text has another form.
    """
    place, colon, name = text.rpartition(":")
    if not (colon and place and all(part.isidentifier() for part in name.split("."))):
        raise InputError(f"{text!r} names no function. Write file.py:function, or package.module:function.")
    if place.endswith(".py"):
        path = (folder / place).absolute()
        return NamedFunction(str(path), "", name, _digest(path))
    try:
        spec = importlib.util.find_spec(place)
    except (ImportError, ValueError):
        spec = None
    except USER_ERRORS as error:  # packages that the module is in are imported
        raise InputError(
            f"{text!r}: {type(error).__name__}: {error}. Correct the module, or name another one."
        ) from error
    if spec is None or spec.origin is None:
        raise InputError(f"{text!r}: there is no module {place!r}. Install it, or write file.py:function.")
    return NamedFunction("", place, name, _digest(Path(spec.origin)))


def function_of(function: Callable[..., Any]) -> NamedFunction:
    """Returns the name of a function that is defined in a file.

    Raises:
        InputError: it is defined elsewhere, such as in an interactive session or inside of another function.
    """
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    path, name = getattr(module, "__file__", None), getattr(function, "__qualname__", "<none>")
    if path is None or "<" in name:
        what = f"{name}: workers cannot import it, since it is not at the top of a Python file"
        raise InputError(f"{what}. Move it into a file, or name it as 'file.py:function'.")
    return named_function(f"{Path(path).absolute()}:{name}", Path())


@lru_cache(maxsize=64)
def _module(function: NamedFunction) -> object:
    if not function.path:
        try:
            return import_module(function.module)
        except USER_ERRORS as error:
            raise InputError(
                f"{function.text}: {type(error).__name__}: {error}. Install it for all workers."
            ) from error
    path = Path(function.path)
    if _digest(path) != function.sha256:
        raise InputError(f"{function.text}: {path} has another text here. Give all workers the same files.")
    name = f"kibi_sweep_{function.sha256[:16]}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{function.text}: {path} is no Python file. Give one.")
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # it may import what is beside it
    try:
        spec.loader.exec_module(made)
    except USER_ERRORS as error:
        del sys.modules[name]
        raise InputError(f"{function.text}: {type(error).__name__}: {error}. Correct the file.") from error
    return made


def _digest(path: Path) -> str:
    """The SHA-256 of a Python file and of those beside it, each with its name.

    Raises:
        InputError: it cannot be read.
    """
    total = sha256()
    try:
        for each in [path, *sorted(other for other in path.parent.glob("*.py") if other != path)]:
            data = read_bytes(each, _MOST_SOURCE_BYTES)
            total.update(f"{each.name} {len(data)} ".encode("utf-8", "surrogateescape"))
            total.update(data)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}. Give the path of a Python file with the function.") from None
    return total.hexdigest()
