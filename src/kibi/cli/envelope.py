"""What every JSON object of the command line says of its origin: versions, and the digests of models and libraries."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from kibi.used_tools import noting_tools, used_tools
from kibi.version import SCHEMA_VERSION, __version__

_MODEL_ARGUMENTS = ("model", "models", "file")
"""The names of the arguments that are models; `file` of `kibi inspect` may be something else."""
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Run:
    """A verb that runs.

    Attributes:
        verb: its name.
        models: the paths of the models that it was given.
    """

    verb: str
    models: tuple[Path, ...]


_running: ContextVar[_Run | None] = ContextVar("running", default=None)


def told_of(verb: str, function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Returns the function of a verb such that JSON which it prints tells the verb, its models and its compilers.

    Args:
        verb: its name.
        function: it is called with its arguments by name, as Typer does.
    """

    @wraps(function)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with _run(verb, kwargs):
            return function(*args, **kwargs)

    return run


@contextmanager
def _run(verb: str, arguments: Mapping[str, Any]) -> Iterator[None]:
    given = next((arguments[name] for name in _MODEL_ARGUMENTS if arguments.get(name)), ())
    token = _running.set(_Run(verb, (given,) if isinstance(given, Path) else tuple(given)))
    try:
        with noting_tools():
            yield
    finally:
        _running.reset(token)


def enveloped(record: Mapping[str, Any], *, library: str | None = None, is_of_model: bool = True) -> dict[str, Any]:
    """Returns a record after what it says of its origin; Kibi's page on JSON explains each key.

    Nothing of it changes from run to run on one machine: equal inputs give equal bytes.

    Args:
        record: what a verb found.
        library: the digest of the C library that was written or measured; None: the verb made no library.
        is_of_model: False if the file that was given is no model.
    """
    run = _running.get()
    return {**_origin(run, run.models if run and is_of_model else (), library), **record}


def enveloped_each(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns records, each after what it says of its origin. There are equally many for each model, in the order of the models."""
    run = _running.get()
    models = run.models if run else ()
    share = max(len(records) // len(models), 1) if models else 1
    return [
        {**_origin(run, models[number // share : number // share + 1], None), **record}
        for number, record in enumerate(records)
    ]


def _origin(run: _Run | None, models: Sequence[Path], library: str | None) -> dict[str, Any]:
    compilers = used_tools()
    digests = [_digest(path) for path in models]
    return {
        "schema_version": SCHEMA_VERSION,
        **({"verb": run.verb} if run else {}),
        "kibi_version": __version__,
        **({"compiler_version": ", ".join(compilers)} if compilers else {}),
        **({"model_sha256": digests[0]} if len(digests) == 1 else {"models_sha256": digests} if digests else {}),
        **({"library_sha256": library} if library else {}),
    }


def _digest(path: Path) -> str:
    """The SHA-256 of the file that a model is in; of a folder that of the names and contents of its files."""
    from hashlib import file_digest  # noqa: PLC0415 - verbs without models do without

    from kibi.frontends.exporters import contents_digest  # noqa: PLC0415 - as above
    from kibi.frontends.model_file import divided  # noqa: PLC0415 - as above

    place, _ = divided(path)
    if place.is_dir():
        return contents_digest(place)
    with place.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()
