"""Data sets: many inputs of a model, with or without labels, read one after another in bounded memory.

`open_dataset` takes the path of a `.npz` or `.npy` file, a folder of images, wav files or arrays, or a Python function. All give
`Sample`s, which `kibi.arrays.rows.fit_rows` turns into inputs of a model, many at once.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from kibi.arrays.array_files import ArrayFileError, read_array
from kibi.dtypes import Array
from kibi.errors import InputError
from kibi.files import open_binary, read_text
from kibi.ir import Graph

Label = int | str
_MOST_LABEL_BYTES = 64 << 20
_MOST_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Sample:
    """One input of a data set.

    Attributes:
        inputs: an array for each model input, as it is stored: see `fit_rows`.
        label: the number or the name of its class; None if it has no label.
        name: of its file; empty if it has none of its own.
    """

    inputs: tuple[Array, ...]
    label: Label | None = None
    name: str = ""


class Dataset(Protocol):
    """Many inputs, which can be read again from the first one."""

    @property
    def source(self) -> str:
        """Its name, for people."""

    @property
    def count(self) -> int | None:
        """How many inputs there are; None if that is known at the end alone."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes in order, if they are folders; else none."""

    def labels(self) -> Iterator[Label]:
        """Yields the labels of the inputs, from the first one, if they are known before the inputs are read; else nothing.

        Raises:
            InputError: they cannot be read.
        """

    def samples(self, first: int = 0) -> Iterator[Sample]:
        """Yields the inputs from the one with that number, in the same order each time.

        Raises:
            InputError: one cannot be read, or does not fit the model.
        """


def open_dataset(
    graph: Graph, data: str | Path | Callable[[], Iterable[Any]], truth: str | Path | None = None
) -> Dataset:
    """Opens a data set, and checks what can be checked before its inputs are read.

    Args:
        graph: the model that it is for.
        data: the path of a `.npz` or `.npy` file or of a folder; `module:function` or `file.py:function`; or the function itself.
        truth: the path of a file with the label of each input, `.npy` or text with a label in each line; None: those in the data.

    Raises:
        InputError: there is no such thing, or it does not fit the model.
    """
    from kibi.arrays.dataset_arrays import ArrayDataset  # noqa: PLC0415 - they need what is in this module
    from kibi.arrays.dataset_folder import FolderDataset  # noqa: PLC0415 - as above
    from kibi.arrays.dataset_function import FunctionDataset, find_function  # noqa: PLC0415 - as above

    opened: Dataset
    if callable(data):
        opened = FunctionDataset(graph, data, getattr(data, "__name__", "the function"))
    elif Path(data).is_dir():
        opened = FolderDataset(graph, Path(data))
    elif Path(data).suffix.lower() in (".npz", ".npy"):
        opened = ArrayDataset(graph, Path(data))
    elif ":" in str(data) and not Path(data).exists():
        opened = FunctionDataset(graph, find_function(str(data)), str(data))
    else:
        what = (
            "it is neither a folder nor a .npz or .npy file"
            if Path(data).exists()
            else "there is no such file or folder"
        )
        raise InputError(f"{data}: {what}. Give one, or a Python function as module:function or file.py:function.")
    return opened if truth is None else _Labelled(opened, _read_truth(Path(truth)), str(truth))


class _Labelled:
    """A data set with other labels.

    Args:
        dataset: its inputs.
        labels: the label of each.
        source: where the labels are from, for errors.
    """

    def __init__(self, dataset: Dataset, labels: Sequence[Label], source: str) -> None:
        self._dataset = dataset
        self._labels = labels
        self._where = source
        self.source = dataset.source
        self.count = dataset.count
        self.classes: tuple[str, ...] = ()
        if self.count is not None and self.count != len(labels):
            raise self._unequal(f"{self.count:,}")

    def labels(self) -> Iterator[Label]:
        return iter(self._labels)

    def samples(self, first: int = 0) -> Iterator[Sample]:
        number = first
        for number, sample in enumerate(self._dataset.samples(first), start=first + 1):
            if number > len(self._labels):
                raise self._unequal("more")
            yield replace(sample, label=self._labels[number - 1])
        if number < len(self._labels):
            raise self._unequal(f"{number:,}")

    def _unequal(self, found: str) -> InputError:
        what = f"{self._where}: it holds {len(self._labels):,} labels, and {self._dataset.source} has {found} inputs"
        return InputError(f"{what}. Give one label for each input.")


def class_number(text: str) -> int | None:
    """The number of a class that a text is, of at most nine digits; None if it is none."""
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


def labels_of(array: Array, source: str) -> list[Label]:
    """The labels in an array.

    Args:
        array: `[N]` or `[N, 1]`, of integers, booleans or texts.
        source: the origin of the array, for errors.

    Raises:
        InputError: it is another array.
    """
    if array.ndim == 2 and array.shape[1] > 1:
        what = f"{source}: the labels have the shape {list(array.shape)}, [N] is required"
        raise InputError(f"{what}. If each row has a 1 for its class, give labels.argmax(axis=1).")
    if array.ndim not in (1, 2):
        raise InputError(f"{source}: the labels have the shape {list(array.shape)}, [N] is required.")
    if array.dtype.kind not in "biuU":
        raise InputError(f"{source}: the labels are {array.dtype}. Give the numbers of classes as integers, or names.")
    return array.reshape(-1).tolist()


def _read_truth(path: Path) -> list[Label]:
    """The labels in a file of their own."""
    if path.suffix.lower() != ".npy":
        remedy = "Give a .npy file, or a text file with a label in each line."
        lines = read_text(path, _MOST_LABEL_BYTES, InputError, remedy).rstrip().splitlines()
        return [_label_of(line.strip()) for line in lines]

    def judge(kind: Any) -> None:
        if kind.size_bytes > _MOST_LABEL_BYTES:
            raise ArrayFileError(f"its labels have {kind.size_bytes:,} bytes, at most {_MOST_LABEL_BYTES:,} are read")

    try:
        with open_binary(path) as stream:
            return labels_of(read_array(stream, judge), str(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}. Give the path of a .npy or text file with labels.") from None
    except ArrayFileError as error:
        raise InputError(f"{path}: {error}. Save it with numpy.save, as plain numbers.") from None


def _label_of(text: str) -> Label:
    """The number of a class, or its name."""
    number = class_number(text)
    return text if number is None else number


def own_array(value: object, source: str) -> Array:
    """An array of what a function yields.

    Raises:
        InputError: NumPy cannot convert it to numbers, or has no memory for them.
    """
    array: Array | None = None
    try:
        array = np.asarray(value)
    except MemoryError:
        pass
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{source}: it is no array: {error}. Yield NumPy arrays.") from None
    if array is None:
        raise InputError(
            f"{source}: there is no memory for its elements. Yield arrays of the shape of the model's inputs."
        )
    if array.dtype.kind not in "biuf":
        raise InputError(f"{source}: its elements are {array.dtype}. Yield arrays of numbers.")
    return array
