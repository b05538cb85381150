"""Data sets in NumPy's files: an array of all inputs in `.npy`; inputs and labels by their names in `.npz`."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from kibi.arrays.array_files import Archive, ArrayFileError, ArrayType, open_archive, read_rows, read_type
from kibi.arrays.dataset import Label, Sample, labels_of
from kibi.arrays.rows import check_row_type
from kibi.dtypes import Array
from kibi.errors import InputError
from kibi.files import open_binary
from kibi.ir import Graph

LABEL_NAMES = ("y", "labels", "label")
"""The names of an array of labels."""
_MOST_NAME_CHARACTERS = 1 << 10
"""The most characters of one label; NumPy stores each in four bytes."""


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of arrays in an archive: of the inputs, in the model's order, and of the labels, or empty."""

    inputs: tuple[str, ...]
    labels: str


class ArrayDataset:
    """The inputs in a `.npy` or `.npz` file: arrays `[N, …]`, one input after another along the first axis.

    An archive has an array for each model input, by the inputs' names or else in their order. It may have one of labels, named
    `y`, `labels` or `label`.

    Args:
        graph: the model.
        path: the file; a regular one, because it may be read twice.

    Raises:
        InputError: it cannot be read, or does not fit the model.
    """

    classes: tuple[str, ...] = ()

    def __init__(self, graph: Graph, path: Path) -> None:
        self._graph = graph
        self._path = path
        self.source = path.name
        self._names: _Names | None = None
        with self._failures():
            kinds = self._archive_types() if path.suffix.lower() == ".npz" else self._array_type()
        self.count: int = self._common_count(kinds)

    def labels(self) -> Iterator[Label]:
        """Yields the labels of the archive, if it has any."""
        if self._names is None or not self._names.labels:
            return
        with self._failures(), open_binary(self._path) as stream, open_archive(stream) as archive:
            yield from self._labels(archive, self._names.labels)

    def samples(self, first: int = 0) -> Iterator[Sample]:
        """Yields the inputs from the one with that number, read in blocks.

        Those before are left out; of an archive they are read all the same.
        """
        with self._failures(), ExitStack() as held:
            stream = held.enter_context(open_binary(self._path))
            if self._names is None:
                for block in read_rows(stream, lambda kind: self._check(0, kind, ""), first):
                    yield from (Sample((row,)) for row in block)
                return
            archive, names = held.enter_context(open_archive(stream)), self._names
            rows = [self._rows(archive, number, name, first) for number, name in enumerate(names.inputs)]
            without = repeat(None, self.count - first)
            labels = self._labels(archive, names.labels, first) if names.labels else without
            for label, *arrays in zip(labels, *rows, strict=True):
                yield Sample(tuple(arrays), label)

    def _rows(self, archive: Archive, number: int, name: str, first: int) -> Iterator[Array]:
        for block in archive.rows(name, lambda kind: self._check(number, kind, name), first):
            yield from block

    def _labels(self, archive: Archive, name: str, first: int = 0) -> Iterator[Label]:
        for block in archive.rows(name, lambda _: None, first):
            yield from labels_of(block, f"{self._path}[{name!r}]")

    def _array_type(self) -> list[ArrayType]:
        if len(self._graph.inputs) != 1:
            what = f"{self._path}: {self._graph.source} has {len(self._graph.inputs)} inputs"
            raise InputError(f"{what}. Give a .npz file with an array for each.")
        with open_binary(self._path) as stream:
            kind = read_type(stream)
        self._check(0, kind, "")
        return [kind]

    def _common_count(self, kinds: Sequence[ArrayType]) -> int:
        """How many inputs all arrays have."""
        counts = [kind.shape[0] for kind in kinds]
        if len(set(counts)) > 1 and self._names is not None:
            names = (*self._names.inputs, self._names.labels)
            each = ", ".join(f"{name!r} has {count:,}" for name, count in zip(names, counts, strict=False))
            raise InputError(
                f"{self._path}: its arrays have different numbers of inputs: {each}. Save equally many of each."
            )
        return counts[0]

    def _archive_types(self) -> list[ArrayType]:
        with open_binary(self._path) as stream, open_archive(stream) as archive:
            self._names = self._found(tuple(archive.names))
            kinds = [archive.type_of(name) for name in self._names.inputs]
            for number, (kind, name) in enumerate(zip(kinds, self._names.inputs, strict=True)):
                self._check(number, kind, name)
            if self._names.labels:
                kinds.append(archive.type_of(self._names.labels))
                _check_labels(kinds[-1], f"{self._path}[{self._names.labels!r}]")
            return kinds

    def _found(self, names: tuple[str, ...]) -> _Names:
        """Which array is for what."""
        wanted = tuple(self._graph.tensors[index].name for index in self._graph.inputs)
        is_named = all(name in names for name in wanted)
        inputs = wanted if is_named else tuple(name for name in names if name not in LABEL_NAMES)
        labels = [name for name in names if name in LABEL_NAMES and name not in inputs]
        if len(inputs) != len(wanted) or len(labels) > 1:
            needed = f"{', '.join(map(repr, wanted))} or {len(wanted)} in that order, and labels as {LABEL_NAMES[0]!r}"
            raise InputError(
                f"{self._path}: it holds the arrays {', '.join(map(repr, names)) or 'none'}. Needed are {needed}."
            )
        return _Names(inputs, labels[0] if labels else "")

    def _check(self, number: int, kind: ArrayType, name: str) -> None:
        where = f"{self._path}[{name!r}]" if name else str(self._path)
        if not kind.shape:
            raise InputError(f"{where}: it holds one number, and no list of inputs. Give an array [N, …].")
        check_row_type(self._graph.tensors[self._graph.inputs[number]], kind.shape[1:], kind.dtype, where)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Turns the errors of reading into those of the user's."""
        try:
            yield
        except OSError as error:
            raise InputError(f"{self._path}: {error.strerror or error}. Give a .npy or .npz file.") from None
        except ArrayFileError as error:
            raise InputError(
                f"{self._path}: {error}. Save it with numpy.save or numpy.savez, as plain numbers."
            ) from None


def _check_labels(kind: ArrayType, where: str) -> None:
    """Checks the shape and type of an array of labels.

    Raises:
        InputError: it holds something else.
    """
    if len(kind.shape) != 1 and (len(kind.shape) != 2 or kind.shape[1] != 1):
        what = f"{where}: the labels have the shape {list(kind.shape)}, [N] is required"
        raise InputError(f"{what}. If each row has a 1 for its class, save labels.argmax(axis=1).")
    if kind.dtype.kind not in "biuU" or kind.dtype.itemsize > 4 * _MOST_NAME_CHARACTERS:
        remedy = f"Save the numbers of classes as integers, or names of at most {_MOST_NAME_CHARACTERS:,} characters."
        raise InputError(f"{where}: the labels are {kind.dtype}. {remedy}")
