"""Outputs as files: `.npy`, `.npz`, or raw bytes."""

from collections.abc import Sequence
from io import BytesIO

import numpy as np

from kibi.dtypes import Array
from kibi.errors import InputError
from kibi.ir import Graph


def output_bytes(graph: Graph, outputs: Sequence[Array], suffix: str) -> bytes:
    """A file's contents.

    Args:
        graph: the model.
        outputs: one array for each output.
        suffix: the suffix of the file: `.npz` holds all outputs by name, `.npy` and any other hold one output.

    Raises:
        InputError: several outputs, and a form that holds one.
    """
    form = suffix.lower()
    if form != ".npz" and len(outputs) != 1:
        raise InputError(f"{graph.source} has {len(outputs)} outputs. Give a file name that ends in .npz for them.")
    stream = BytesIO()
    if form == ".npz":
        arrays = dict(zip(output_names(graph), outputs, strict=True))
        np.savez(stream, allow_pickle=False, **arrays)
    elif form == ".npy":
        np.save(stream, outputs[0], allow_pickle=False)
    else:
        stream.write(np.ascontiguousarray(outputs[0]).tobytes())
    return stream.getvalue()


def stacked(graph: Graph, runs: Sequence[Sequence[Array]]) -> list[Array]:
    """The outputs of several inferences, one array `[N, *shape]` for each output.

    Raises:
        InputError: an inference has no outputs.
    """
    for number, outputs in enumerate(runs):
        if not outputs:
            what = f"{graph.source}: inference {number} has no outputs, because an operator waits for further inputs"
            raise InputError(f"{what}. Give more inputs, or write no file.")
    return [np.stack(arrays) for arrays in zip(*runs, strict=True)]


def output_names(graph: Graph) -> tuple[str, ...]:
    """The outputs' names; their numbers where names are empty, twice the same, or not fit for an archive's member."""
    names = tuple(graph.tensors[index].name for index in graph.outputs)
    plain = all(name and name.isprintable() and not name.startswith("/") and ".." not in name for name in names)
    reserved = {"file", "allow_pickle"}  # parameters of numpy.savez
    if plain and len(set(names)) == len(names) and not reserved & set(names):
        return names
    return tuple(f"output_{number}" for number in range(len(names)))
