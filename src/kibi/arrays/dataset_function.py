"""Data sets from a Python function of the user's, which yields one input after another."""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from kibi.arrays.dataset import Label, Sample, own_array
from kibi.arrays.rows import check_row_type
from kibi.dtypes import Array
from kibi.errors import InputError, KibiError
from kibi.ir import Graph
from kibi.runtime.given import input_number

_MOST_BITS = 32
"""The bits of a class's number."""


class FunctionDataset:
    """What a function yields: for each input its array, or a pair of array and label.

    A model with several inputs gets a list of arrays, or arrays by the names of the inputs, in place of the array. The function is
    called without arguments, each time that the inputs are read, and must yield the same ones.

    Args:
        graph: the model.
        function: the function.
        source: its name, for errors.
    """

    count: int | None = None
    classes: tuple[str, ...] = ()

    def __init__(self, graph: Graph, function: Callable[[], Iterable[Any]], source: str) -> None:
        self._graph = graph
        self._function = function
        self.source = source

    def labels(self) -> Iterator[Label]:
        """Yields nothing: labels come with the inputs."""
        return iter(())

    def samples(self, first: int = 0) -> Iterator[Sample]:
        """Yields the inputs from the one with that number; the function yields those before, too.

        Raises:
            InputError: the function raises an error, or yields what does not fit the model.
        """
        for number, item in islice(enumerate(self._items()), first, None):
            yield self._sample(item, f"{self.source}, input {number}")

    def _items(self) -> Iterator[object]:
        try:
            yield from self._function()
        except KibiError:
            raise
        except Exception as error:
            what = f"{self.source} raised {type(error).__name__}: {error}"
            raise InputError(f"{what}. It is called without arguments, and yields one input after another.") from error

    def _sample(self, item: object, where: str) -> Sample:
        inputs, label = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
        arrays = self._arrays(inputs, where)
        for index, array in zip(self._graph.inputs, arrays, strict=True):
            check_row_type(self._graph.tensors[index], array.shape, array.dtype, where)
        return Sample(arrays, _label(label, where))

    def _arrays(self, inputs: object, where: str) -> tuple[Array, ...]:
        count = len(self._graph.inputs)
        if isinstance(inputs, Mapping):
            named = {input_number(self._graph, name): value for name, value in inputs.items()}
            values = [named[number] for number in range(count) if number in named]
        elif count > 1 and isinstance(inputs, list | tuple):
            values = list(inputs)
        else:
            values = [inputs]
        if len(values) != count:
            raise InputError(f"{where}: it has {len(values)} arrays, {self._graph.source} takes {count}.")
        return tuple(own_array(value, where) for value in values)


def find_function(name: str) -> Callable[[], Iterable[Any]]:
    """The function that a text names.

    Args:
        name: `module:function`, with the working folder on the path of modules, or `file.py:function`.

    Raises:
        InputError: the module cannot be imported, or has no such function.
    """
    place, _, function = name.rpartition(":")
    try:
        module = _of_file(Path(place)) if place.endswith(".py") else _of_name(place)
    except KibiError:
        raise
    except Exception as error:
        raise InputError(f"{name}: {place} cannot be imported: {type(error).__name__}: {error}.") from error
    found = getattr(module, function, None)
    if not callable(found):
        raise InputError(f"{name}: {place} has no function {function!r}. Give module:function or file.py:function.")
    made: Callable[[], Iterable[Any]] = found
    return made


def _of_name(name: str) -> Any:
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(here)


def _of_file(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InputError(f"{path}: there is no such file of Python. Give module:function or file.py:function.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _label(value: object, where: str) -> Label | None:
    if isinstance(value, np.ndarray | np.generic) and value.size == 1:
        value = value.item()
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and value.bit_length() < _MOST_BITS:
        return int(value)
    what = f"{where}: the label is {type(value).__name__}, and no number or name of a class"
    raise InputError(f"{what}. Yield (array, number or name of its class).")
