"""`kibi.sweep`: the function of `import kibi` for sweeps."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from kibi.clusters.cluster import OnCluster, local_cluster, on_scheduler
from kibi.clusters.tasks import InThisProcess, Runner
from kibi.errors import InputError, bounded
from kibi.files import check_path
from kibi.sweeps.functions import NamedFunction, function_of, named_function
from kibi.sweeps.models import Item, Model, generated, models_of_items, models_of_patterns
from kibi.sweeps.run import Job, Swept, run_sweep
from kibi.sweeps.settings import Grid

_MOST_WORKERS = 1024


@bounded
def sweep(
    models: str | os.PathLike[str] | Iterable[Item] | Callable[[], Iterable[Item]],
    targets: str | Iterable[str] = "cortex-m4",
    *,
    output: str | os.PathLike[str],
    goals: str | Iterable[str] = "balanced",
    levels: str | Iterable[str] = "s",
    weights: str | Iterable[str] = "flash",
    granularities: str | Iterable[str] = "row",
    compiler: str = "zig",
    seed: int = 0,
    evaluate: str | Callable[[bytes], Mapping[str, float]] | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    watch: Callable[[str], None] | None = None,
) -> Swept:
    """Measures many models in many settings on the workers of a cluster, and writes one table.

    A script that calls it does so under `if __name__ == "__main__":`, since the workers of this machine import the script.

    Args:
        models: a path or a pattern of paths; or a list, a generator, or a function that returns one, of paths, and of tuples of a
            name, the bytes or the path of a model, and a dict of parameters.
        targets: one or several, as of all axes here; every combination is measured.
        output: the path of the table, a Parquet file. If it exists, its rows are not measured again.
        goals: as for `kibi.plan`.
        levels: of the compiler.
        weights: how they are stored: `flash` or `rice`.
        granularities: `row` or `tensor`.
        compiler: `zig`, `gcc` or `clang`.
        seed: the seed of the random inputs.
        evaluate: a function from the bytes of a model to figures by their names, at the top of a file; or its name,
            `file.py:function` or `package.module:function`.
        scheduler: the address of a Dask scheduler, such as `tcp://host:8786`; None: workers are started on this machine.
        workers: how many; None: one for each processor; 0: all is measured in this process, without Dask.
        watch: is told in a few words how far it is.

    Returns:
        The rows, in the order of models and settings. A model that is refused has a row with the reason.

    Raises:
        InputError: a value does not exist, a pattern matches nothing, a generator gives something else, or the table is damaged.
        OutputError: the table cannot be written.
        ToolchainError: an extra or a compiler is missing, or there are no workers.
    """
    path = check_path(output, "output")
    grid = Grid(_each(targets), _each(goals), _each(levels), _each(weights), _each(granularities), compiler, seed)
    function = _function(evaluate)
    job = Job(_models(models), grid, function, path, runner(scheduler, workers), watch or (lambda _: None))
    return run_sweep(job)


def runner(scheduler: str | None, workers: int | None) -> Callable[[], contextlib.AbstractContextManager[Runner]]:
    """Returns what makes the runner of a sweep.

    Raises:
        InputError: the number of workers is out of range, both are given, or the address has another form.
    """
    if workers is not None and (scheduler is not None or not 0 <= workers <= _MOST_WORKERS):
        what = f"workers is {workers}"
        remedy = "A scheduler has its own workers" if scheduler is not None else f"Give 0 to {_MOST_WORKERS}"
        raise InputError(f"{what}. {remedy}, or leave it out.")
    return on_scheduler(scheduler) if scheduler is not None else lambda: _here(workers)


@contextlib.contextmanager
def _here(workers: int | None) -> Iterator[Runner]:
    if workers == 0:
        yield InThisProcess()
        return
    with local_cluster(workers) as client:
        yield OnCluster(client)


def _each(values: str | Iterable[str]) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else tuple(values)


def _models(models: str | os.PathLike[str] | Iterable[Item] | Callable[[], Iterable[Item]]) -> Iterator[Model]:
    if isinstance(models, str | os.PathLike):
        yield from models_of_patterns([models], Path())
        return
    if isinstance(models, list | tuple):
        yield from models_of_items(models, "the list of models", Path(), has_patterns=True)
        return
    source = "the generator of models"
    yield from models_of_items(generated(models, source, {}) if callable(models) else models, source, Path())


def _function(evaluate: str | Callable[[bytes], Mapping[str, float]] | None) -> NamedFunction | None:
    if evaluate is None:
        return None
    found = named_function(evaluate, Path()) if isinstance(evaluate, str) else function_of(evaluate)
    found.load()
    return found
