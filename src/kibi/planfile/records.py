"""The records of a plan file: each field's offset, type, meaning and range. The C structs and the documents are made from them.

Numbers are little-endian, and each begins at a multiple of its size. A field that is called an offset counts bytes from the
start of the file; what it points to begins at a multiple of 4, unless its elements are larger.
"""

from enum import IntEnum, IntFlag

from kibi.planfile.record import Record, fields

MAGIC = 0x4942494B
"""The first four bytes, `KIBI`."""
VERSION = 3
"""Of the records below. A core refuses every other one."""
DIGEST_BYTES = 32
"""Of the SHA-256 at the end of a file, of all bytes before it."""


class Memory(IntEnum):
    """Where bytes are; numbers from `EXTERNAL` on are external buffers, in their order."""

    ARENA = 0
    STATE = 1
    FILE = 2
    EXTERNAL = 3
    NULL = 255
    """Nowhere: a null pointer."""


class Bytes(IntFlag):
    """What is special about the pointers of a group."""

    NULLABLE = 1
    """Some of them may be null."""
    REACHES = 2
    """One of them at least is not null in each step."""


class Kind(IntFlag):
    """What is special about a node."""

    ACCUMULATES = 1
    """The last step alone writes to the outputs; its scratch keeps its bytes from the first step to the last."""
    EXITS = 2
    """The inference ends after its last step where the first number of its first state is not 0."""
    LOOPS = 4
    """The inference ends after its step where the first byte of its scratch is not 0: a loop reached its limit."""
    RECEIVES = 8
    """A step stores a row that the caller pushes; there is no kernel."""
    CONTROLS = 16
    """The kernel runs graphs."""
    COUNTS = 32
    """Its runs say the number of their first step; its steps come once each, in ascending order."""
    GIVES = 64
    """What the pointers of its inputs that are not null give in a step fits into its output."""
    LEAVES = 128
    """Some of its pointers lead out of the arena, or nowhere."""


MANY = 1
"""In the first number of a run: it has several steps, and says how many. The other bits are its node."""
TABLE_NUMBERS = 256
"""16-bit numbers before the runs of a graph whose runs have bytes: each byte that is an entry or a distance names one of them."""
TABLE_BYTES = 2 * TABLE_NUMBERS
"""Bytes of these numbers."""


HEADER = Record(
    "header",
    "The first record: how large everything is, and where the rest begins.",
    fields(
        ("magic", "u32", "`KIBI`: 0x4942494B"),
        ("version", "u16", "of the format: 3. A core refuses every other one"),
        ("required", "u16", "features that a core must know, as bits: 0. A core refuses a bit that it does not know"),
        ("file_bytes", "u32", "of the whole file, digest included: a multiple of 4"),
        ("fences", "u16", "how many fence records the file ends with, before its digest; a core may ignore them"),
        ("alignment", "u16", "of the file's first byte in memory: 4, or 8 where constants have 64 bits"),
        ("arena_bytes", "u32", "of the arena: at most 2^31 - 1"),
        ("state_bytes", "u32", "of the memory of variables: a multiple of 8, at most 2^31 - 1; 0 where there are none"),
        (
            "kernels",
            "u32",
            "offset of the ids of kernels, and of parts of theirs that are needed: 32-bit numbers, ascending",
        ),
        ("graphs", "u32", "offset of the graph records; the first is the model, the others run inside of operators"),
        ("ports", "u32", "offset of the port records: inputs, then outputs"),
        ("variables", "u32", "offset of the variable records"),
        ("externals", "u32", "offset of the external records"),
        ("name", "u32", "offset of the model's name: UTF-8, ended by a zero; 0: it has none"),
        ("kernel_count", "u16", "0 ... 65535"),
        ("graph_count", "u16", "1 ... 65535"),
        ("port_count", "u16", "inputs and outputs: more than inputs"),
        ("variable_count", "u16", "0 ... 65535"),
        ("external_count", "u16", "0 ... 252"),
        ("input_count", "u16", "0 ... 65534"),
        (
            "most_slots",
            "u16",
            "the most slots of a step: pointers, and 12 where the kernel runs graphs",
        ),
        ("arena_alignment", "u8", "of the arena's first byte: a power of two, 1 ... 64"),
        ("reserved", "u8", "0"),
    ),
)

GRAPH = Record(
    "graph",
    "A graph: the model, or one that an operator runs.",
    fields(
        ("nodes", "u32", "offset of the node records"),
        ("runs", "u32", "offset of the runs: a multiple of 2, at least 512 where `width` is 1; see above"),
        ("runs_end", "u32", "offset of the first byte after them"),
        ("places", "u32", "offset of the place records: what is not in the arena"),
        (
            "ends",
            "u32",
            "offset of 32-bit numbers: where in its arena each input and each output begins, then the bytes of each; 0: see ports",
        ),
        ("arena_bytes", "u32", "of the arena in which it runs"),
        ("node_count", "u16", "1 ... 32767"),
        ("place_count", "u16", "0 ... 65535"),
        ("input_count", "u16", "inputs in that table; 0 for the model"),
        ("output_count", "u16", "outputs in that table"),
        ("alignment", "u16", "of that arena's first byte: 1, 2, 4 or 8"),
        ("width", "u16", "bytes of an entry in a run: 1, 2 or 4"),
    ),
)

NODE = Record(
    "node",
    "A node: a kernel, its parameters, and what each of its steps is given.",
    fields(
        (
            "params",
            "u32",
            "offset of the parameter struct; it stores each pointer as the distance in bytes from the struct to the constants",
        ),
        ("groups", "u32", "offset of the group records of its inputs, then of its states, then of its outputs"),
        ("kernel_id", "u32", "the id of its kernel"),
        ("scratch", "u32", "the byte of the arena at which its scratch begins"),
        ("scratch_bytes", "u32", "of its scratch; 0: it has none"),
        ("steps", "u16", "how many row steps it has: 1 ... 32767"),
        ("place", "u16", "where a core's table is expected to have the kernel; a core that has it elsewhere searches"),
        ("pointers", "u16", "of a step: the sum of the counts of its groups"),
        ("rows", "u16", "of these the pointers to inputs, which come first"),
        (
            "flags",
            "u8",
            "1 accumulates, 2 may end early, 4 may loop too long, 8 gets a row, 16 runs graphs, 32 counts, 64 gives, 128 leaves",
        ),
        ("read_count", "u8", "groups of inputs, 0 ... 255"),
        ("state_count", "u8", "variables that its kernel reads and writes, 0 ... 255"),
        ("output_count", "u8", "1 ... 255"),
    ),
)

GROUP = Record(
    "group",
    "The pointers of a step to one input, state or output.",
    fields(
        ("bytes", "u32", "that may be used at each of them"),
        ("count", "u16", "of pointers; 1 of a state or an output"),
        ("alignment", "u8", "of each of them: a power of two, at least 1"),
        ("flags", "u8", "1 some may be null, 2 in each step one at least is not"),
    ),
)

PLACE = Record(
    "place",
    "Bytes that a step is given and that are not in the arena; or a null pointer.",
    fields(
        ("offset", "u32", "of the first byte in its memory"),
        ("memory", "u32", "1 state, 2 this file, 3 and more: external buffer 0 and more; 255: a null pointer"),
    ),
)

PORT = Record(
    "port",
    "An input or an output of the model.",
    fields(
        ("place", "u32", "the byte of its memory at which it begins; of an input that arrives by the row 0"),
        ("row_bytes", "u32", "of one row"),
        ("bytes", "u32", "of all rows, one after another"),
        ("shape", "u32", "offset of its sizes, 32-bit numbers"),
        ("scale", "f32", "real value = scale * (element - zero_point); 0: it is not quantized"),
        ("zero_point", "i32", "the element that represents 0"),
        ("name", "u32", "offset of its name: UTF-8, ended by a zero; 0: it has none"),
        (
            "memory",
            "u8",
            "0 arena, 1 state, 2 this file, 3 and more: external buffer 0 and more; 255: it arrives by the row",
        ),
        ("type", "u8", "0 s8, 1 u8, 2 s16, 3 s32, 4 u32, 5 s64, 6 u64, 7 f32, 8 bool"),
        ("rank", "u8", "how many axes it has"),
        ("reserved", "u8", "0"),
    ),
)

VARIABLE = Record(
    "variable",
    "A variable, which keeps its elements from one inference to the next.",
    fields(
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
    fields(
        ("bytes", "u32", "of it"),
        ("alignment", "u32", "of its first byte"),
    ),
)

FENCE = Record(
    "fence",
    "Constants that may be written while the file is open: from the end of the fence before it on, or from that of the header.",
    fields(
        ("first", "u32", "byte of the model's runs at which the first run begins that reads some of them"),
        ("last", "u32", "byte of the model's runs at which the last run ends that reads some of them"),
        ("until", "u32", "after so many steps of an inference this run has ended"),
        ("end", "u32", "offset of the first byte after them: less than 2^24, so that the byte before the digest is 0"),
    ),
)

RECORDS = (HEADER, GRAPH, NODE, GROUP, PLACE, PORT, VARIABLE, EXTERNAL, FENCE)
"""All of them, in the order in which the documents show them."""
