"""Copies of a model file of which only what must change is written again.

A new root table comes before the old bytes and refers into them, so that weights, options and all else that a converter
stored stay unchanged, at the same alignment. The new part comes first because references of a flatbuffer always lead forward.
"""

from collections.abc import Mapping, Sequence

import flatbuffers
import tflite
from flatbuffers import number_types

from kibi.frontends.tflite.flatbuffer import CheckedTable
from kibi.frontends.tflite.model_tables import ModelSlot, ModelTables
from kibi.frontends.tflite.reader import IDENTIFIER
from kibi.ir import Signature

# Converters align weights to 16 bytes, some to a cache line: the old bytes move by a multiple of it.
_ALIGNMENT_BYTES = 64
_DATA_ALIGNMENT_BYTES = 16
"""Of the data of buffers: the schema's `force_align`."""
_NEWER_FIELDS = 32
"""So many fields of a newer schema are looked for."""


def has_newer_fields(tables: ModelTables) -> bool:
    """True if the root table has fields that a copy would lose, because the schema did not have them when this was written."""
    return any(tables.model.Offset(slot) for slot in range(ModelSlot.BEHIND, ModelSlot.BEHIND + 2 * _NEWER_FIELDS, 2))


class NewRoot:
    """A copy that is being written. Places count bytes from the end of the file, as the library's builder does."""

    def __init__(self, tables: ModelTables, body: bytes | bytearray) -> None:
        """Begins a copy.

        Args:
            tables: those of the original.
            body: its bytes; some may have changed, none may have moved. What comes after the last table may be left out.
        """
        self._tables = tables
        padded = bytes(body) + bytes(-len(body) % _ALIGNMENT_BYTES)
        self._size = len(padded)
        self._builder = flatbuffers.Builder(0)
        self._builder.Bytes = (
            bytearray(_ALIGNMENT_BYTES) + padded
        )  # the builder counts from the end, and goes on in front
        self._builder.head = _ALIGNMENT_BYTES
        self._builder.Prep(_ALIGNMENT_BYTES, 0)

    def place_of(self, table: CheckedTable) -> int:
        """The place of a table of the original."""
        return self._size - int(table.Pos)

    def buffer(self, contents: bytes) -> int:
        """Writes a table `Buffer` with its data, and returns its place."""
        builder, count = self._builder, len(contents)
        builder.StartVector(1, count, _DATA_ALIGNMENT_BYTES)
        builder.head -= count
        builder.Bytes[builder.head : builder.head + count] = contents
        vector = builder.EndVector()
        tflite.BufferStart(builder)
        tflite.BufferAddData(builder, vector)
        place: int = tflite.BufferEnd(builder)
        return place

    def metadata(self, name: str, buffer: int) -> int:
        """Writes a table `Metadata` that names a buffer by its index, and returns its place."""
        text = self._builder.CreateString(name)
        tflite.MetadataStart(self._builder)
        tflite.MetadataAddName(self._builder, text)
        tflite.MetadataAddBuffer(self._builder, buffer)
        place: int = tflite.MetadataEnd(self._builder)
        return place

    def signature(self, signature: Signature) -> int:
        """Writes a table `SignatureDef`, and returns its place."""
        builder = self._builder
        lists = [
            self._references([self._named(name, index) for name, index in pairs])
            for pairs in (signature.inputs, signature.outputs)
        ]
        key = builder.CreateString(signature.key)
        tflite.SignatureDefStart(builder)
        tflite.SignatureDefAddInputs(builder, lists[0])
        tflite.SignatureDefAddOutputs(builder, lists[1])
        tflite.SignatureDefAddSignatureKey(builder, key)
        tflite.SignatureDefAddSubgraphIndex(builder, signature.subgraph)
        place: int = tflite.SignatureDefEnd(builder)
        return place

    def _named(self, name: str, index: int) -> int:
        """Writes a table `TensorMap`, and returns its place."""
        text = self._builder.CreateString(name)
        tflite.TensorMapStart(self._builder)
        tflite.TensorMapAddName(self._builder, text)
        tflite.TensorMapAddTensorIndex(self._builder, index)
        place: int = tflite.TensorMapEnd(self._builder)
        return place

    def finished(self, lists: Mapping[ModelSlot, Sequence[int]]) -> bytes:
        """The contents of the new file.

        Args:
            lists: the places of the tables in each field of the root that changes; all others stay as they are.
        """
        places = {slot: self._references(each) for slot, each in lists.items()}
        model = self._tables.model
        for slot in ModelSlot:
            place = self._tables.reference(model, slot) if ModelSlot.VERSION < slot < ModelSlot.BEHIND else None
            if place is not None and slot not in places:
                places[slot] = self._size - place
        tflite.ModelStart(self._builder)
        tflite.ModelAddVersion(self._builder, self._tables.number(model, ModelSlot.VERSION, number_types.Uint32Flags))
        for slot, place in places.items():
            self._builder.PrependUOffsetTRelativeSlot((slot - ModelSlot.VERSION) // 2, place, 0)
        self._builder.Finish(tflite.ModelEnd(self._builder), IDENTIFIER)
        return bytes(self._builder.Output())

    def _references(self, places: Sequence[int]) -> int:
        """Writes a vector of references to tables, and returns its place."""
        self._builder.StartVector(4, len(places), 4)
        for place in reversed(places):
            self._builder.PrependUOffsetTRelative(place)
        vector: int = self._builder.EndVector()
        return vector
