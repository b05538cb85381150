"""The memory plan that a model file may carry: TFLM's metadata `OfflineMemoryAllocation`.

Its buffer holds little-endian 32-bit integers: a version and a number of subgraphs, which TFLM ignores; the number of
tensors of all subgraphs; and for each of them, subgraph after subgraph, the offset in bytes from the start of the section
for what need not persist, or -1 where the runtime is to find a place.

Source: TFLM `docs/memory_management.md` and `micro_allocation_info.cc`.
"""

import struct
from collections.abc import Iterator, Sequence

from flatbuffers import number_types

from kibi.errors import ModelError, Problem
from kibi.frontends.tflite.flatbuffer import CheckedTable
from kibi.frontends.tflite.model_tables import MetadataSlot, ModelSlot, ModelTables, SubgraphSlot, TensorSlot, located

METADATA_NAME = b"OfflineMemoryAllocation"
ONLINE = -1
"""The value of an offset that the runtime chooses."""
_HEAD_BYTES = 12
_REMEDY = "Make the plan again with `kibi plan --write-embedded-plan`, or with the tool that wrote it"


def read_offline_plan(data: bytes, source: str, *, first_graph: bool = False) -> tuple[int, ...] | None:
    """The offsets that a `.tflite` file asks for.

    Args:
        data: the contents of the file.
        source: the file's name, for messages.
        first_graph: true if only the offsets of the first subgraph are wanted.

    Returns:
        For each tensor of all subgraphs, or of the first one, in the order of the file, its offset in bytes or -1; None where
        the file has no such plan. Of several plans the last counts, as for TFLM.

    Raises:
        ModelError: the file is corrupt, or the plan does not fit its tensors; with all problems that were found.
    """
    with located(data, source):
        tables = ModelTables(data)
        plans = [
            entry
            for entry in tables.children(tables.model, ModelSlot.METADATA)
            if tables.text(entry, MetadataSlot.NAME) == METADATA_NAME
        ]
        if not plans:
            return None
        number = tables.number(plans[-1], MetadataSlot.BUFFER, number_types.Uint32Flags)
        buffers = tables.entries(tables.model, ModelSlot.BUFFERS)
        if number >= len(buffers):
            what = f"the offline plan is in buffer {number}, but there are {len(buffers)} buffers"
            raise ModelError(source, [Problem(what, _REMEDY)])
        raw = tables.bytes_of(tables.child(tables.model, buffers[number]))
        tensors = _tensors(tables)
        wanted = len(_tensors(tables, 1)) if first_graph else len(tensors)
        problems = list(_problems(tables, raw, tensors))
    if problems:
        raise ModelError(source, problems)
    return _offsets(raw, wanted)


def offline_plan_bytes(offsets: Sequence[int], subgraphs: int) -> bytes:
    """The contents of the metadata's buffer.

    Args:
        offsets: for each tensor of all subgraphs its offset in bytes, or -1.
        subgraphs: how many subgraphs there are.
    """
    return struct.pack(f"<{3 + len(offsets)}i", 1, subgraphs, len(offsets), *offsets)


def _tensors(tables: ModelTables, most: int | None = None) -> list[CheckedTable]:
    """The tensors of all subgraphs, or of that many."""
    subgraphs = tables.children(tables.model, ModelSlot.SUBGRAPHS)[:most]
    return [tensor for subgraph in subgraphs for tensor in tables.children(subgraph, SubgraphSlot.TENSORS)]


def _offsets(raw: bytes, count: int) -> tuple[int, ...]:
    return struct.unpack_from(f"<{count}i", raw, _HEAD_BYTES)


def _problems(tables: ModelTables, raw: bytes, tensors: Sequence[CheckedTable]) -> Iterator[Problem]:
    """Yields the problems of the plan itself; the planner checks whether tensors overlap."""
    if len(raw) < _HEAD_BYTES:
        yield Problem(f"the offline plan has {len(raw)} bytes; its head alone has {_HEAD_BYTES}", _REMEDY)
        return
    _, _, count = struct.unpack_from("<iii", raw)
    if count != len(tensors):
        what = f"the offline plan has {count} offsets, but the model has {len(tensors)} tensors"
        yield Problem(what, _REMEDY)
        return
    if len(raw) < _HEAD_BYTES + 4 * count:
        what = (
            f"the offline plan announces {count} offsets, but its {len(raw)} bytes hold {(len(raw) - _HEAD_BYTES) // 4}"
        )
        yield Problem(what, _REMEDY)
        return
    for index, (tensor, offset) in enumerate(zip(tensors, _offsets(raw, count), strict=True)):
        if offset < ONLINE:
            name = tables.text(tensor, TensorSlot.NAME).decode("utf-8", errors="replace") or f"tensor_{index}"
            what = f"the offline plan gives it the offset {offset}; offsets are not negative, and -1 means none"
            yield Problem(what, _REMEDY, tensor=name)
