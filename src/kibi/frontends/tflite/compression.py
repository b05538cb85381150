"""Compressed constants, as TFLM has them: which tensors of a subgraph are compressed, and what they hold.

There are two ways. The metadata `COMPRESSION_METADATA` say of tensors that their buffers hold indices into tables of values.
The custom operator `TFLM_DECODE` has pairs of inputs, the encoded bytes and what describes them, and an output for each pair.
Here both end as constants. `coding` has the arithmetic.

Source: TFLM `compression/metadata.fbs`, `micro_allocator.cc`, `kernels/decode.cc`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from kibi.dtypes import Array
from kibi.errors import Problem
from kibi.frontends.tflite.coding import BROKEN, CodingError, codebook, decode
from kibi.frontends.tflite.flatbuffer import CheckedTable, CorruptError
from kibi.frontends.tflite.reader import ModelReader, OperatorRecord, TensorRecord
from kibi.ir import Tensor
from kibi.ir.codebook import Codebook

DECODE = "CUSTOM:TFLM_DECODE"
"""The operator, by the name that `reader` gives it."""
DESCRIPTION = (
    "Constants stored with look-up tables, Huffman codes or without their zeros: decoded when the model is loaded."
)
"""What it does, for lists of operators."""
METADATA = "COMPRESSION_METADATA"
"""The name of the metadata. Source: TFLM `compression.h`."""

_VERSION = 1
# Places in the lists of fields of the metadata's own schema.
_SCHEMA_VERSION, _SUBGRAPHS, _LUT_TENSORS, _TENSOR, _VALUES, _BITS = 4, 6, 4, 4, 6, 8


@dataclass(frozen=True, slots=True)
class _Encoded:
    """An output of TFLM_DECODE: the operator's index, and the tensors that it is made of."""

    operator: int
    data: int
    description: int


@dataclass(slots=True)
class Compression:
    """The compressed tensors of one subgraph, by index."""

    _reader: ModelReader
    _tables: dict[int, tuple[int, int]] = field(default_factory=dict)
    _encoded: dict[int, _Encoded] = field(default_factory=dict)
    _codebooks: dict[int, Codebook] = field(default_factory=dict)

    def add(self, operator: int, record: OperatorRecord) -> Iterator[Problem]:
        """Records the outputs of a TFLM_DECODE; yields the problems of the operator."""
        if len(record.inputs) != 2 * len(record.outputs) or not record.outputs:
            what = f"TFLM_DECODE: it has {len(record.inputs)} inputs for {len(record.outputs)} outputs, not a pair for each"
            yield Problem(what, BROKEN, operator)
            return
        outside = [each for each in (*record.inputs, *record.outputs) if not 0 <= each < self._reader.tensor_count]
        if outside:
            what = f"TFLM_DECODE: an operand is tensor {outside[0]}, but there are {self._reader.tensor_count} tensors"
            yield Problem(what, BROKEN, operator)
            return
        pairs = zip(record.inputs[::2], record.inputs[1::2], record.outputs, strict=True)
        for data, description, output in pairs:
            if output in self._encoded:
                yield Problem("TFLM_DECODE: another one has the same output", BROKEN, operator, f"tensor {output}")
            self._encoded[output] = _Encoded(operator, data, description)

    def restore(self, index: int, record: TensorRecord) -> TensorRecord:
        """The tensor with its elements, where it is compressed; else the same record.

        Raises:
            CodingError: what describes it makes no sense, or is of a kind that is not known.
            CorruptError: the bytes are no sound flatbuffer.
        """
        if min(record.shape, default=1) < 1:  # which is a problem of its own
            return record
        if index in self._encoded:
            pair = self._encoded[index]
            data, description = self._reader.tensor(pair.data).data, self._reader.tensor(pair.description).data
            if data is None or description is None or record.data is not None:
                raise CodingError("TFLM_DECODE: its inputs must be constants, and its output must not be one")
            return self._restored(index, record, data, partial(decode, record, data, description))
        if index in self._tables:
            bits, values = self._tables[index]
            data, table = record.data, self._reader.buffer(values)
            if data is None or table is None:
                raise CodingError("the metadata say that it is compressed, but it has no indices or no values")
            return self._restored(index, record, data, partial(codebook, record, data, table, bits))
        return record

    def _restored(
        self, index: int, record: TensorRecord, data: Array, work: Callable[[], tuple[Array, Codebook | None]]
    ) -> TensorRecord:
        """Returns the record with its decoded data; the bytes that it reads bound the work."""
        self._reader.copied(data.size)
        elements, found = work()
        if found is not None:
            self._codebooks[index] = found
        return replace(record, data=elements)

    def remembered(self, tensor: Tensor) -> Tensor:
        """Adds the codebook to a tensor that was made from the result of `restore`."""
        found = self._codebooks.get(tensor.index)
        if found is None or tensor.data is None:
            return tensor
        return replace(tensor, codebook=replace(found, elements=tensor.data))

    def operator_of(self, index: int) -> int | None:
        """The TFLM_DECODE that makes a tensor; None: none does."""
        pair = self._encoded.get(index)
        return None if pair is None else pair.operator


def read_compression(reader: ModelReader) -> Compression:
    """Reads the metadata about compression, for the subgraph that a reader reads.

    Raises:
        CorruptError: the metadata are invalid.
    """
    compression = Compression(reader)
    for name, buffer in reader.metadata():
        if name == METADATA:
            data = reader.buffer(buffer)
            if data is None:
                raise CorruptError(f"the metadata {METADATA} are empty")
            for tensor, entry in _entries(data.tobytes(), reader):
                if tensor in compression._tables:  # noqa: SLF001 - it is being made here
                    raise CorruptError(f"the metadata {METADATA} name tensor {tensor} twice")
                compression._tables[tensor] = entry  # noqa: SLF001 - as above
            break
    return compression


def _entries(data: bytes, reader: ModelReader) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yields, for each compressed tensor of the subgraph, its index, the bits of its indices, and the buffer of its values."""
    if len(data) < 4:
        raise CorruptError(f"the metadata {METADATA} have {len(data)} bytes")
    root = reader.entered(data, int.from_bytes(data[:4], "little"))
    version = root.number(_SCHEMA_VERSION, "I", 1)
    if version > _VERSION:
        raise CorruptError(f"the metadata {METADATA} have version {version}; {_VERSION} is known")
    graphs = list(root.tables(_SUBGRAPHS))
    if not graphs:
        raise CorruptError(f"the metadata {METADATA} have no subgraph")
    if len(graphs) > reader.subgraph_count:
        raise CorruptError(f"the metadata {METADATA} have {len(graphs)} subgraphs, the model {reader.subgraph_count}")
    if reader.number < len(graphs):
        for table in graphs[reader.number].tables(_LUT_TENSORS):
            yield _entry(table, reader)


def _entry(table: CheckedTable, reader: ModelReader) -> tuple[int, tuple[int, int]]:
    tensor, values, bits = table.number(_TENSOR, "i"), table.number(_VALUES, "I"), table.number(_BITS, "B")
    if not 0 <= tensor < reader.tensor_count:
        raise CorruptError(f"the metadata {METADATA} name tensor {tensor}, but there are {reader.tensor_count} tensors")
    return tensor, (bits, values)
