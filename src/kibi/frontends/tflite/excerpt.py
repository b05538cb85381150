"""One operator of a model file alone, for asking other tools about it."""

import numpy as np
from flatbuffers import number_types

from kibi.frontends.tflite.flatbuffer import CheckedTable
from kibi.frontends.tflite.model_tables import ModelSlot, ModelTables, OperatorSlot, SubgraphSlot, TensorSlot, located


def single_operator(data: bytes, source: str, operator: int) -> bytes:
    """A copy of a `.tflite` file with its first subgraph only, which has one operator, and neither inputs nor outputs.

    Tensors that it does not name lose their elements, so that they take no memory; but those keep them that share their
    shape's bytes with one that it does name. All else stays. The copy is not meant to be run.

    Args:
        data: the contents of the file.
        source: its name, for messages.
        operator: index of the operator that stays.

    Raises:
        ModelError: the file is corrupt.
    """
    with located(data, source):
        tables = ModelTables(data)
        subgraph = tables.children(tables.model, ModelSlot.SUBGRAPHS)[0]
        entries = tables.entries(subgraph, SubgraphSlot.OPERATORS)
        # References lead forward: the operator is referred to from its own entry, and the list ends before the others.
        distance = subgraph.Indirect(entries[operator]) - entries[0]
        body = bytearray(data)
        body[entries[0] : entries[0] + 4] = distance.to_bytes(4, "little")
        vectors = {tables.reference(subgraph, slot): 0 for slot in (SubgraphSlot.INPUTS, SubgraphSlot.OUTPUTS)}
        vectors |= {tables.reference(subgraph, SubgraphSlot.OPERATORS): 1}
        vectors |= {tables.reference(tables.model, ModelSlot.SUBGRAPHS): 1}
        for vector, count in vectors.items():
            if vector is not None:
                body[vector : vector + 4] = count.to_bytes(4, "little")
        tensors = tables.children(subgraph, SubgraphSlot.TENSORS)
        shapes = [tables.reference(tensor, TensorSlot.SHAPE) for tensor in tensors]
        table = tables.child(subgraph, entries[operator])
        named = {*_numbers(table, OperatorSlot.INPUTS), *_numbers(table, OperatorSlot.OUTPUTS)}
        kept = {shape for index, shape in enumerate(shapes) if index in named}
        for shape in {*shapes} - kept:
            if shape is not None and int.from_bytes(data[shape : shape + 4], "little"):
                body[shape + 4 : shape + 8] = bytes(4)
        return bytes(body)


def _numbers(table: CheckedTable, slot: int) -> list[int]:
    """The integers in a field that is a vector of them."""
    offset = table.Offset(slot)
    numbers = table.GetVectorAsNumpy(number_types.Int32Flags, offset) if offset else np.zeros(0, np.int32)
    return [int(number) for number in numbers]
