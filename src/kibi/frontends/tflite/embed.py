"""Writes a copy of a model file that carries a memory plan for TFLM, with its operators in the plan's order.

Only what must change is written again. A new root table comes before the old bytes and refers into them, so that weights,
options and all else that a converter stored stay unchanged, at the same alignment. In the old bytes only the references in
the list of operators change places. The new part comes first because references of a flatbuffer always lead forward.
"""

from collections.abc import Sequence

import flatbuffers
import tflite
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
from kibi.frontends.tflite.offline_plan import METADATA_NAME, ONLINE, offline_plan_bytes
from kibi.frontends.tflite.reader import IDENTIFIER

# Converters align weights to 16 bytes, some to a cache line: the old bytes move by a multiple of it.
_ALIGNMENT_BYTES = 64
_NEWER_FIELDS = 32
"""So many fields of a newer schema are looked for."""
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
    if any(tables.model.Offset(slot) for slot in range(ModelSlot.BEHIND, ModelSlot.BEHIND + 2 * _NEWER_FIELDS, 2)):
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
    body += bytes(-len(body) % _ALIGNMENT_BYTES)
    size = len(body)
    builder = flatbuffers.Builder(0)
    builder.Bytes = bytearray(_ALIGNMENT_BYTES) + body  # the builder counts from the end, and goes on in front
    builder.head = _ALIGNMENT_BYTES
    builder.Prep(_ALIGNMENT_BYTES, 0)
    model = tables.model
    buffers = [size - model.Indirect(entry) for entry in tables.entries(model, ModelSlot.BUFFERS)]
    metadata = [
        size - model.Indirect(entry)
        for entry in tables.entries(model, ModelSlot.METADATA)
        if tables.text(tables.child(model, entry), MetadataSlot.NAME) != METADATA_NAME
    ]
    metadata.append(_metadata(builder, len(buffers)))
    buffers.append(_buffer(builder, plan))
    places = {
        slot: _references(builder, entries)
        for slot, entries in ((ModelSlot.BUFFERS, buffers), (ModelSlot.METADATA, metadata))
    }
    for slot in ModelSlot:
        place = tables.reference(model, slot) if ModelSlot.VERSION < slot < ModelSlot.BEHIND else None
        if place is not None and slot not in places:
            places[slot] = size - place
    tflite.ModelStart(builder)
    tflite.ModelAddVersion(builder, tables.number(model, ModelSlot.VERSION, number_types.Uint32Flags))
    for slot, place in places.items():
        builder.PrependUOffsetTRelativeSlot((slot - ModelSlot.VERSION) // 2, place, 0)
    builder.Finish(tflite.ModelEnd(builder), IDENTIFIER)
    return bytes(builder.Output())


def _buffer(builder: flatbuffers.Builder, contents: bytes) -> int:
    """Writes a buffer's table, with its data aligned as all buffers are, and returns its place."""
    builder.StartVector(1, len(contents), 16)
    for byte in reversed(contents):
        builder.PrependByte(byte)
    vector = builder.EndVector()
    tflite.BufferStart(builder)
    tflite.BufferAddData(builder, vector)
    place: int = tflite.BufferEnd(builder)
    return place


def _metadata(builder: flatbuffers.Builder, buffer: int) -> int:
    """Writes the table that names the buffer with the plan, and returns its place."""
    name = builder.CreateString(METADATA_NAME)
    tflite.MetadataStart(builder)
    tflite.MetadataAddName(builder, name)
    tflite.MetadataAddBuffer(builder, buffer)
    place: int = tflite.MetadataEnd(builder)
    return place


def _references(builder: flatbuffers.Builder, places: Sequence[int]) -> int:
    """Writes a vector of references to tables, and returns its place."""
    builder.StartVector(4, len(places), 4)
    for place in reversed(places):
        builder.PrependUOffsetTRelative(place)
    vector: int = builder.EndVector()
    return vector
