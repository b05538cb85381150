"""The inputs with the worst outputs: which they are, and files to look at."""

import io
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path

import numpy as np

from kibi.arrays.dataset import Dataset, Sample
from kibi.arrays.images import is_image_shape, real_range
from kibi.arrays.rows import fit_rows
from kibi.dtypes import Array
from kibi.files import write_folder
from kibi.ir import Graph
from kibi.reports.evaluation import WorstInput
from kibi.reports.judging import Judgements, Task
from kibi.reports.metrics import Threshold, Values
from kibi.reports.outputs import real_values
from kibi.text.file_name import FileName
from kibi.text.json import json_text

_LIST = FileName("worst.json")
_FILE = re.compile(r"\d{2,}-input-\d+\.(?:png|npy|npz)", re.ASCII)
"""The names of the inputs' files."""
_MOST_BETWEEN = 100
_LEAST_SIDE = 96
_LARGEST_ZOOM = 16


def worst_by(task: Task, judged: Judgements) -> str:
    """What inputs are the worst by, in words; empty if they cannot be told apart."""
    has_labels = bool((judged.labels >= 0).any())
    has_reference = bool((~np.isnan(judged.squares)).any())
    if task.classes and (has_labels or not has_reference):
        return "score of the label minus the best other one" if has_labels else "best score minus the second"
    if task.score:
        return "score beyond the threshold, on the wrong side" if has_labels else "score"
    return "squared difference from the reference" if has_reference else ""


@np.errstate(invalid="ignore")  # scores may be infinite
def worst_numbers(task: Task, judged: Judgements, threshold: Threshold | None, count: int) -> list[tuple[int, float]]:
    """The worst inputs, the worst first, with their figures.

    Args:
        task: what is asked of the model.
        judged: what is kept of each input.
        threshold: of a detector.
        count: how many at most.
    """
    figures, is_bad_when_high = _figures(task, judged, threshold)
    known = np.flatnonzero(~np.isnan(figures))
    keys = -figures[known] if is_bad_when_high else figures[known]
    order = known[np.argsort(keys, kind="stable")[:count]]
    return [(int(number), float(figures[number])) for number in order]


def _figures(task: Task, judged: Judgements, threshold: Threshold | None) -> tuple[Values, bool]:
    """What each input is ordered by, and whether a high figure is bad."""
    by = worst_by(task, judged)
    if by.startswith("squared"):
        return judged.squares, True
    if task.classes:
        if (judged.labels >= 0).any():
            return np.where(judged.labels >= 0, judged.margins, np.nan), False
        return judged.margins, False
    if by == "score" or threshold is None:
        return judged.scores, True
    distance = judged.scores - threshold.score
    signed = np.where(judged.labels == 1, -distance, distance)
    return np.where(judged.labels >= 0, signed, np.nan), True


def write_worst(graph: Graph, dataset: Dataset, worst: Sequence[WorstInput], folder: Path) -> tuple[WorstInput, ...]:
    """Writes the worst inputs into a folder: pictures of those that can be seen as one, arrays of all others, and a list.

    Args:
        graph: the model.
        dataset: the data, which are read again up to the last of these inputs.
        worst: the inputs, the worst first.
        folder: made if it is absent. Files of an earlier list in it are removed, and all others stay.

    Returns:
        The inputs with the names of their files.

    Raises:
        InputError: the data cannot be read again.
        OutputError: the folder cannot be written.
    """
    wanted = {each.number: place for place, each in enumerate(worst, start=1)}
    arrays = dict(_fetched(graph, dataset, wanted))
    data: dict[FileName, bytes] = {}
    named = []
    for place, each in enumerate(worst, start=1):
        stem, inputs = f"{place:02}-input-{each.number}", arrays.get(each.number)
        if inputs is None:
            named.append(each)
            continue
        name = _add(graph, inputs, stem, data)
        named.append(replace(each, file=name))
    listing = [asdict(each) for each in named]
    data[_LIST] = json_text(listing).text.encode()
    write_folder(folder, {}, _earlier(folder, data), data)
    return tuple(named)


def _earlier(folder: Path, names: Container[FileName]) -> list[FileName]:
    """The files of an earlier list in a folder, without those names."""
    if not (folder / _LIST.path).is_file():
        return []
    found = (FileName(path.name) for path in sorted(folder.iterdir()) if _FILE.fullmatch(path.name))
    return [name for name in found if name not in names]


def _fetched(graph: Graph, dataset: Dataset, wanted: Mapping[int, int]) -> Iterator[tuple[int, list[Array]]]:
    """The inputs of these numbers, as the model takes them."""
    for number, sample in _samples(dataset, sorted(wanted)):
        where = f"{dataset.source}, input {number}"
        yield (
            number,
            [fit_rows(graph, place, array[np.newaxis], where)[0] for place, array in enumerate(sample.inputs)],
        )


def _samples(dataset: Dataset, numbers: Sequence[int]) -> Iterator[tuple[int, Sample]]:
    """The inputs of these ascending numbers. Inputs between two of them are read if they are few, or if a function yields them."""
    samples, following = dataset.samples(), 0
    for number in numbers:
        if dataset.count is not None and number - following > _MOST_BETWEEN:
            samples, following = dataset.samples(number), number
        sample = next(islice(samples, number - following, None), None)
        if sample is None:  # a function has yielded fewer than before
            return
        following = number + 1
        yield number, sample


def _add(graph: Graph, inputs: Sequence[Array], stem: str, data: dict[FileName, bytes]) -> str:
    """Adds the file of an input; returns its name."""
    if len(inputs) == 1 and is_image_shape(inputs[0].shape) and min(inputs[0].shape[1:3]) > 1:
        data[FileName(f"{stem}.png")] = picture(graph, inputs[0])
        return f"{stem}.png"
    stream = io.BytesIO()
    if len(inputs) == 1:
        np.save(stream, inputs[0], allow_pickle=False)
        name = f"{stem}.npy"
    else:
        np.savez(stream, *inputs)
        name = f"{stem}.npz"
    data[FileName(name)] = stream.getvalue()
    return name


def picture(graph: Graph, array: Array) -> bytes:
    """A model's first input as a PNG file: the least value that it holds is black, the largest white, and small ones are enlarged.

    Args:
        graph: the model.
        array: `[1, H, W, 1]` or `[1, H, W, 3]` of the input's type. Of floats whose range is not known, the least and the largest
            value of the array are black and white.
    """
    from PIL import Image  # noqa: PLC0415 - only pictures pay for it

    tensor = graph.tensors[graph.inputs[0]]
    values = real_values(tensor, array)[0]
    low, high = real_range(graph, tensor) or (float(np.nanmin(values)), float(np.nanmax(values)))
    scaled = np.nan_to_num((values - low) / ((high - low) or 1.0), nan=0.0, posinf=1.0, neginf=0.0)
    pixels = np.round(np.clip(scaled, 0, 1) * 255).astype(np.uint8)
    zoom = max(1, min(_LARGEST_ZOOM, -(-_LEAST_SIDE // min(pixels.shape[:2]))))
    pixels = pixels.repeat(zoom, axis=0).repeat(zoom, axis=1)
    stream = io.BytesIO()
    Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels).save(stream, "PNG")
    return stream.getvalue()
