"""Entry points of a model file by name: returns the graph of a signature, with the signature's names of inputs and outputs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePath

from kibi.errors import ModelError, Problem
from kibi.frontends.naming import identifier
from kibi.frontends.tflite.flatbuffer import CorruptError, OverlapError
from kibi.frontends.tflite.reader import ModelReader
from kibi.ir import Graph, Signature

_FIRST = "leave the name out for the first graph, which TFLM runs"


def listed(reader: ModelReader) -> tuple[Signature, ...]:
    """The entry points of a file whose first graph is wanted, which needs none: none where they are broken."""
    try:
        return reader.signatures()
    except (CorruptError, OverlapError):
        return ()


def by_signature(graphs: Callable[[int], Graph], signatures: Sequence[Signature], key: str, source: str) -> Graph:
    """Returns the graph of a signature; inputs and outputs have the signature's names.

    Args:
        graphs: returns a graph by its number.
        signatures: the signatures of the file.
        key: the name of the wanted signature.
        source: the file's name.

    Raises:
        ModelError: no signature has that name, its names do not fit the graph, or the graph cannot be imported.
        CorruptError: there is no such graph.
    """
    found = next((each for each in signatures if each.key == key), None)
    if found is None:
        known = ", ".join(repr(each.key) for each in signatures)
        what = f"there is no signature {key!r}; {f'there are: {known}' if known else 'the file has none'}"
        raise ModelError(source, [Problem(what, f"Give one that there is, or {_FIRST}")])
    graph = graphs(found.subgraph)
    names: dict[int, str] = {}
    for role, pairs, tensors in (("input", found.inputs, graph.inputs), ("output", found.outputs, graph.outputs)):
        for name, index in pairs:
            if index not in tensors:
                what = f"signature {key!r}: its {role} {name!r} is tensor {index}, which is no {role} of the graph"
                raise ModelError(source, [Problem(what, f"Export the model again, or {_FIRST}")])
            names.setdefault(index, name)
    renamed = (replace(tensor, name=names.get(tensor.index) or tensor.name) for tensor in graph.tensors)
    return replace(
        graph,
        name=identifier(f"{PurePath(source).stem}_{key}"),
        source=source,
        tensors=tuple(renamed),
        signatures=tuple(signatures),
        signature=found,
    )
