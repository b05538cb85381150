"""The records of a plan file: each field's offset, type, meaning and range. The C structs and the documents are made from them.

Numbers are little-endian, and each begins at a multiple of its size. A field that is called an offset counts bytes from the
start of the file; what it points to begins at a multiple of 4, unless its elements are larger.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, IntFlag

from kibi.errors import InternalError

MAGIC = 0x4942494B
"""The first four bytes, `KIBI`."""
VERSION = 1
"""Of the records below. A core refuses every other one."""
DIGEST_BYTES = 32
"""Of the SHA-256 at the end of a file, of all bytes before it."""
NOBODY = 0xFFFF
"""The producer of a tensor that no node makes."""
NOTHING = 0xFFFFFFFF
"""The offset of what is not there: scratch of a node that needs none."""

_FORMATS = {"u8": "B", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "f32": "f"}
_C_TYPES = {
    "u8": "uint8_t",
    "u16": "uint16_t",
    "i16": "int16_t",
    "u32": "uint32_t",
    "i32": "int32_t",
    "f32": "float",
}


@dataclass(frozen=True, slots=True)
class RecordField:
    """A field of a record.

    Attributes:
        name: in C and in Python.
        type: `u8`, `u16`, `i16`, `u32`, `i32` or `f32`.
        meaning: what it says, with unit and range.
    """

    name: str
    type: str
    meaning: str

    @property
    def size_bytes(self) -> int:
        """Its size, which is its alignment, too."""
        return struct.calcsize(_FORMATS[self.type])

    @property
    def c_type(self) -> str:
        """Its type in C."""
        return _C_TYPES[self.type]


@dataclass(frozen=True, slots=True)
class Record:
    """A record: fields one after another, without gaps.

    Attributes:
        name: in C, with `kibi_file_` before it.
        about: what it describes.
        fields: in order.
    """

    name: str
    about: str
    fields: tuple[RecordField, ...]

    def __post_init__(self) -> None:
        """Checks that no compiler leaves a gap.

        Raises:
            InternalError: a field does not begin at a multiple of its size.
        """
        end = 0
        for each in self.fields:
            if end % each.size_bytes:
                raise InternalError(f"{self.name}.{each.name} begins at {end}, no multiple of its size")
            end += each.size_bytes
        if end % max(each.size_bytes for each in self.fields):
            raise InternalError(f"{self.name} has {end} bytes, no multiple of its alignment")

    @property
    def offsets(self) -> Mapping[str, int]:
        """The offset of each field, in bytes from the record's start."""
        places, end = {}, 0
        for each in self.fields:
            places[each.name] = end
            end += each.size_bytes
        return places

    @property
    def size_bytes(self) -> int:
        """Bytes of the record."""
        return sum(each.size_bytes for each in self.fields)

    def packed(self, **values: float) -> bytes:
        """Returns the bytes of a record with these values.

        Raises:
            InternalError: a field has no value or an unknown name, or a number does not fit.
        """
        names = [each.name for each in self.fields]
        if values.keys() != set(names):
            raise InternalError(f"{self.name} has other fields: {', '.join(sorted(values.keys() ^ set(names)))}")
        try:
            return struct.pack("<" + "".join(_FORMATS[each.type] for each in self.fields), *map(values.get, names))
        except struct.error as error:
            raise InternalError(f"{self.name}: {error}") from None

    def read(self, data: bytes | memoryview, offset: int) -> dict[str, int | float]:
        """Returns the values of the record at an offset; the caller has checked that it is inside the data."""
        values = struct.unpack_from("<" + "".join(_FORMATS[each.type] for each in self.fields), data, offset)
        return dict(zip((each.name for each in self.fields), values, strict=True))


class Memory(IntEnum):
    """Where the rows of a tensor are; numbers from `EXTERNAL` on are external buffers, in their order."""

    ARENA = 0
    STATE = 1
    FILE = 2
    EXTERNAL = 3


class Placing(IntEnum):
    """How the place of a row follows from its number."""

    LINEAR = 0
    """At `row * step`."""
    RING = 1
    """At `row % period * step`."""
    BYTES = 2
    """At `table[row] * step`, where the table has bytes."""
    HALVES = 3
    """At `table[row] * step`, where the table has 16-bit numbers."""
    WORDS = 4
    """At `table[row] * step`, where the table has 32-bit numbers."""


class Reading(IntFlag):
    """How a step reads an input."""

    SHARED = 1
    """All batches of steps read the one batch of rows."""
    OUTSIDE = 2
    """Some steps reach rows outside of the input: these are replaced by the filler, or by a null pointer."""
    SINGLE = 4
    """Each step reads the one row with its own number."""


class Kind(IntFlag):
    """What is special about a node."""

    ACCUMULATES = 1
    """Each step is given the first row of the outputs: the last step alone writes to them."""
    EXITS = 2
    """The inference ends after its last step where the first number of its first state is not 0."""
    LOOPS = 4
    """The inference ends after its step where the first byte of its scratch is not 0: a loop reached its limit."""
    RECEIVES = 8
    """A step stores a row that the caller pushes; there is no kernel."""
    CONTROLS = 16
    """The kernel runs graphs."""


def _fields(*rows: tuple[str, str, str]) -> tuple[RecordField, ...]:
    return tuple(RecordField(*row) for row in rows)


HEADER = Record(
    "header",
    "The first record: how large everything is, and where the rest begins.",
    _fields(
        ("magic", "u32", "`KIBI`: 0x4942494B"),
        ("version", "u16", "of the format: 1. A core refuses every other one"),
        ("required", "u16", "features that a core must know, as bits: 0. A core refuses a bit that it does not know"),
        ("file_bytes", "u32", "of the whole file, digest included: a multiple of 4"),
        ("optional", "u16", "features that a core may ignore, as bits: 0"),
        ("alignment", "u16", "of the file's first byte in memory: 4, or 8 where constants have 64 bits"),
        ("arena_bytes", "u32", "of the arena"),
        ("arena_alignment", "u32", "of the arena's first byte: a power of two, 1 ... 64"),
        ("state_bytes", "u32", "of the memory of variables: a multiple of 8; 0 where there are none"),
        ("kernels", "u32", "offset of the kernels' ids, 32-bit numbers, ascending"),
        ("graphs", "u32", "offset of the graph records; the first is the model, the others run inside of operators"),
        ("inputs", "u32", "offset of the input records"),
        ("outputs", "u32", "offset of the output records"),
        ("variables", "u32", "offset of the variable records"),
        ("externals", "u32", "offset of the external records"),
        ("name", "u32", "offset of the model's name: UTF-8, ended by a zero; 0: it has none"),
        ("kernel_count", "u16", "0 ... 65535"),
        ("graph_count", "u16", "1 ... 65535"),
        ("input_count", "u16", "0 ... 65535"),
        ("output_count", "u16", "1 ... 65535"),
        ("variable_count", "u16", "0 ... 65535"),
        ("external_count", "u16", "0 ... 252"),
        ("most_slots", "u16", "the most slots that a node needs"),
        ("reserved", "u16", "0"),
    ),
)

GRAPH = Record(
    "graph",
    "A graph: the model, or one that an operator runs.",
    _fields(
        ("nodes", "u32", "offset of the node records"),
        ("tensors", "u32", "offset of the tensor records"),
        ("lines", "u32", "offset of the order's lines"),
        ("inputs", "u32", "offset of the byte of the arena at which each input begins, 32-bit numbers"),
        ("outputs", "u32", "the same for the outputs"),
        ("arena_bytes", "u32", "of the arena in which it runs"),
        ("alignment", "u32", "of that arena's first byte: 1, 2, 4 or 8"),
        ("node_count", "u16", "1 ... 65535"),
        ("tensor_count", "u16", "1 ... 65535"),
        ("line_count", "u32", "at least 1"),
        ("input_count", "u16", "of the two tables above"),
        ("output_count", "u16", "of the two tables above"),
    ),
)

NODE = Record(
    "node",
    "A node: a kernel, its parameters, and the rows of each step.",
    _fields(
        ("params", "u32", "offset of the parameter struct as on a core with pointers of 32 bits; pointers are offsets"),
        ("reads", "u32", "offset of the records of its inputs"),
        ("writes", "u32", "offset of the records of its outputs, then of its states"),
        ("steps", "u32", "how many row steps it has: 1 ... 32767"),
        ("scratch", "u32", "the byte of the arena at which its scratch begins; 0xFFFFFFFF: it has none"),
        ("scratch_bytes", "u32", "of its scratch"),
        ("kernel_id", "u32", "the id of its kernel"),
        ("rows", "u16", "pointers to rows, outputs and states that a step needs"),
        ("slots", "u16", "these, the words of its parameters, and 16 where the kernel runs graphs"),
        ("place", "u16", "where a core's table is expected to have the kernel; a core that has it elsewhere searches"),
        (
            "flags",
            "u8",
            "1 accumulates, 2 may end the inference, 4 may reach a limit, 8 receives a row, 16 runs graphs",
        ),
        ("read_count", "u8", "inputs that are read by the row, 0 ... 255"),
        ("output_count", "u8", "1 ... 255"),
        ("state_count", "u8", "variables that its kernel reads and writes, 0 ... 255"),
        ("write_count", "u16", "outputs and states, 1 ... 510"),
    ),
)

READ = Record(
    "read",
    "An input of a node.",
    _fields(
        ("tensor", "u16", "number of the tensor"),
        (
            "flags",
            "u8",
            "1 all batches read the same rows, 2 rows may be outside, 4 the row of the step, without a window",
        ),
        ("reserved", "u8", "0"),
        ("window", "u32", "offset of the window record; 0 with flag 4"),
    ),
)

WINDOW = Record(
    "window",
    "The rows that a step reads of an input: `start + stride * step + dilation * k` for each k below `count`. Inputs may share it.",
    _fields(
        ("count", "u32", "rows that a step reads, at least 1"),
        ("start", "i32", "of step 0"),
        ("stride", "i32", "rows from one step to the next"),
        ("dilation", "i32", "rows from one row of a step to the next: at least 0"),
        ("rows", "u32", "of one batch, or parts of rows"),
        ("steps", "u32", "of one batch: at least 1"),
        ("parts", "u32", "into which each row is divided: at least 1"),
        ("filler", "u32", "offset of the row that replaces those outside; 0: a null pointer does"),
    ),
)

WRITE = Record(
    "write",
    "An output of a node, or a state.",
    _fields(
        ("tensor", "u16", "number of the tensor"),
        ("rows", "u16", "rows that a step makes, one after another; of a state 0"),
    ),
)

TENSOR = Record(
    "tensor",
    "A tensor whose rows nodes read or make.",
    _fields(
        ("base", "u32", "the byte of its memory from which places count"),
        ("step", "u32", "what a row's number, or its entry in the table, is multiplied by"),
        ("table", "u32", "offset of the table of places; 0: there is none"),
        ("rows", "u32", "at least 1"),
        ("row_bytes", "u32", "at least 1"),
        ("period", "u16", "of a ring: the rows after which places repeat; else 0"),
        ("producer", "u16", "the node that makes it; 0xFFFF: an input, a constant or a variable"),
        ("made", "u16", "rows that a step of that node makes; 0: all of them with its last step"),
        ("memory", "u8", "0 arena, 1 state, 2 this file, 3 and more: external buffer 0 and more"),
        ("placing", "u8", "0 linear, 1 ring, 2 table of bytes, 3 table of 16-bit numbers, 4 table of 32-bit numbers"),
    ),
)

LINE = Record(
    "line",
    "A line of the order: neighbouring nodes, each from one step on; or a repetition of the lines above.",
    _fields(
        ("start", "u16", "the first node; of a repetition the number of nodes"),
        ("last", "u16", "the last node; of a repetition how many lines it repeats"),
        ("step", "i16", "the first step, in the first turn; steps below 0 and after a node's last are left out"),
        ("steps", "u16", "of each node; of a repetition how often its lines run"),
        ("further", "i16", "by how much `step` grows with each turn"),
        ("reserved", "u16", "0"),
    ),
)

PORT = Record(
    "port",
    "An input or an output of the model.",
    _fields(
        ("tensor", "u16", "number of the tensor in the model's graph"),
        ("type", "u8", "0 s8, 1 u8, 2 s16, 3 s32, 4 u32, 5 s64, 6 u64, 7 f32, 8 bool"),
        ("rank", "u8", "how many axes it has"),
        ("shape", "u32", "offset of its sizes, 32-bit numbers"),
        ("scale", "f32", "real value = scale * (element - zero_point); 0: it is not quantized"),
        ("zero_point", "i32", "the element that represents 0"),
        ("name", "u32", "offset of its name: UTF-8, ended by a zero; 0: it has none"),
    ),
)

VARIABLE = Record(
    "variable",
    "A variable, which keeps its elements from one inference to the next.",
    _fields(
        ("place", "u32", "byte of the state at which it begins: a multiple of 8"),
        ("bytes", "u32", "of it"),
        ("initial", "u32", "offset of its first bytes; 0: all of them are `fill`"),
        ("fill", "u32", "the value of each byte, 0 ... 255"),
        ("name", "u32", "offset of its name: UTF-8, ended by a zero; 0: it has none"),
    ),
)

EXTERNAL = Record(
    "external",
    "A buffer that the caller owns: an input, an output, or another tensor.",
    _fields(
        ("bytes", "u32", "of it"),
        ("alignment", "u32", "of its first byte"),
    ),
)

RECORDS = (HEADER, GRAPH, NODE, READ, WINDOW, WRITE, TENSOR, LINE, PORT, VARIABLE, EXTERNAL)
"""All of them, in the order in which the documents show them."""
