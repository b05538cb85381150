"""Writes a copy of a model file that carries a memory plan for TFLM, with its operators in the plan's order.

In the old bytes only the references in the list of operators change places; see `new_root` for all else.
"""

from collections.abc import Sequence

from flatbuffers import number_types

from kibi.errors import ModelError, Problem
from kibi.frontends.tflite.flatbuffer import CheckedTable
from kibi.frontends.tflite.model_tables import (
    BufferSlot,
    MetadataSlot,
    ModelSlot,
    ModelTables,
    SubgraphSlot,
    TensorSlot,
    located,
)
from kibi.frontends.tflite.new_root import NewRoot, has_newer_fields
from kibi.frontends.tflite.offline_plan import METADATA_NAME, ONLINE, offline_plan_bytes

_EXPORT_AGAIN = "Export the model again without it"


def embed_offline_plan(data: bytes, source: str, offsets: Sequence[int], order: Sequence[int] | None = None) -> bytes:
    """A copy of a `.tflite` file with offsets for its tensors as TFLM's metadata `OfflineMemoryAllocation`.

    A plan that the file carries already is replaced. Tensors of further subgraphs get -1: TFLM places them around the others.

    Args:
        data: the contents of the file.
        source: its name, for messages.
        offsets: for each tensor of the first subgraph its offset in bytes, or -1.
        order: for each place, the index of the operator of the first subgraph that goes there; None: as they are.

    Raises:
        ModelError: the file is corrupt, or of a form that cannot be copied so; or the offsets are too few or too many, or
            the order does not name each operator once.
    """
    with located(data, source):
        tables = ModelTables(data)
        subgraphs = tables.children(tables.model, ModelSlot.SUBGRAPHS)
        problem = _problem(tables, subgraphs, offsets, order)
        if problem is not None:
            raise ModelError(source, [problem])
        counts = [len(tables.entries(subgraph, SubgraphSlot.TENSORS)) for subgraph in subgraphs]
        own = _without_variables_of_others(tables, subgraphs, offsets)
        plan = offline_plan_bytes([*own, *[ONLINE] * sum(counts[1:])], len(subgraphs))
        body = bytearray(data)
        if order is not None:
            _reorder(tables, source, order, body)
        return _with_metadata(tables, body, plan)


def _problem(
    tables: ModelTables, subgraphs: Sequence[CheckedTable], offsets: Sequence[int], order: Sequence[int] | None
) -> Problem | None:
    """Returns why a file cannot be copied, or why the plan or the order does not fit it; None if there is no problem."""
    if not subgraphs:
        return Problem("the model has no subgraph, so there is nothing to plan", "Export the model again")
    if has_newer_fields(tables):
        return Problem("the model has fields of a newer schema, which a copy would lose", _EXPORT_AGAIN)
    for buffer in tables.children(tables.model, ModelSlot.BUFFERS):
        if tables.number(buffer, BufferSlot.OFFSET, number_types.Uint64Flags) > 1:
            return Problem("the model's data are stored after the flatbuffer, which is not supported", _EXPORT_AGAIN)
    tensors = len(tables.entries(subgraphs[0], SubgraphSlot.TENSORS))
    if len(offsets) != tensors:
        what = f"{len(offsets)} offsets were given for {tensors} tensors"
        return Problem(what, "Give one for each tensor of the first subgraph, -1 where TFLM is to place it")
    operators = len(tables.entries(subgraphs[0], SubgraphSlot.OPERATORS))
    if order is not None and sorted(order) != list(range(operators)):
        return Problem(f"the order does not name each of the {operators} operators once", "Give a permutation")
    return None


def _without_variables_of_others(
    tables: ModelTables, subgraphs: Sequence[CheckedTable], offsets: Sequence[int]
) -> list[int]:
    """The offsets, with -1 where TFLM would mistake one for that of another subgraph's variable.

    Source: TFLM `micro_allocator.cc`, `AllocateVariables`: it looks up the variables of every subgraph as if the offsets
    began with that subgraph's own.
    """
    own = list(offsets)
    for subgraph in subgraphs[1:]:
        for index, tensor in enumerate(tables.children(subgraph, SubgraphSlot.TENSORS)):
            if index < len(own) and tables.number(tensor, TensorSlot.IS_VARIABLE, number_types.BoolFlags):
                own[index] = ONLINE
    return own


def _reorder(tables: ModelTables, source: str, order: Sequence[int], body: bytearray) -> None:
    """Reorders the references in the first subgraph's list of operators.

    Raises:
        ModelError: an operator is stored before the list, where no reference can lead.
    """
    subgraph = tables.children(tables.model, ModelSlot.SUBGRAPHS)[0]
    entries = tables.entries(subgraph, SubgraphSlot.OPERATORS)
    places = [subgraph.Indirect(entry) for entry in entries]
    for entry, number in zip(entries, order, strict=True):
        distance = places[number] - entry
        if distance <= 0:
            what = "its bytes are stored before the list of operators, so that the order cannot change"
            raise ModelError(source, [Problem(what, "Export the model again", operator=number)])
        body[entry : entry + 4] = distance.to_bytes(4, "little")


def _with_metadata(tables: ModelTables, body: bytearray, plan: bytes) -> bytes:
    """The file with a new root table in front, whose metadata hold the plan."""
    new, model = NewRoot(tables, body), tables.model
    buffers = [new.place_of(table) for table in tables.children(model, ModelSlot.BUFFERS)]
    metadata = [
        new.place_of(table)
        for table in tables.children(model, ModelSlot.METADATA)
        if tables.text(table, MetadataSlot.NAME) != METADATA_NAME
    ]
    metadata.append(new.metadata(METADATA_NAME.decode(), len(buffers)))
    buffers.append(new.buffer(plan))
    return new.finished({ModelSlot.BUFFERS: buffers, ModelSlot.METADATA: metadata})
