"""Reads what a plan file says of itself: sizes, kernels, inputs and outputs."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from kibi.dtypes import Array, DType
from kibi.errors import InputError, PlanError
from kibi.kernels.params import PARAMS
from kibi.planfile.kernel_ids import kernel_id, part_id, parts_of
from kibi.planfile.record import Record
from kibi.planfile.records import (
    DIGEST_BYTES,
    EXTERNAL,
    FENCE,
    GRAPH,
    HEADER,
    MAGIC,
    NODE,
    PORT,
    VERSION,
    Kind,
    Memory,
)
from kibi.planfile.types import TYPES

_PARTS = {part_id(part): part for part in parts_of(PARAMS)}
_REMEDY = "Make it again with `kibi compile --format plan`."


@dataclass(frozen=True, slots=True)
class Port:
    """An input or an output.

    Attributes:
        name: empty where the file has no names.
        dtype, shape: of the tensor.
        scale: real value = scale * (element - zero_point); 0: it is not quantized.
        zero_point: the element that represents 0.
        rows: how many rows it has.
        external: the number of its external buffer; None: it is elsewhere.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    scale: float
    zero_point: int
    rows: int
    external: int | None

    @property
    def size_bytes(self) -> int:
        """Bytes of all elements."""
        return prod(self.shape) * self.dtype.size_bytes


@dataclass(frozen=True, slots=True)
class FileFence:
    """Constants that may be written while the file is open.

    Attributes:
        offset, size_bytes: which bytes of the file they are.
        first: the byte of the model's runs at which the first run begins that reads some of them.
        last: the byte at which the last one ends.
        until: after so many steps of an inference the last one has ended.
    """

    offset: int
    size_bytes: int
    first: int
    last: int
    until: int


class PlanFile:
    """A plan file in memory. Offsets that are read here are inside the file; the core checks all others.

    Args:
        data: its bytes.

    Raises:
        PlanError: it is no plan file of this version, it was cut or changed, or an offset leads outside of it.
    """

    def __init__(self, data: bytes) -> None:
        if len(data) < HEADER.size_bytes + DIGEST_BYTES or data[:4] != MAGIC.to_bytes(4, "little"):
            raise PlanError(f"these {len(data)} bytes are no plan file, which begins with KIBI. {_REMEDY}")
        self.header = {name: int(value) for name, value in HEADER.read(data, 0).items()}
        if self.header["version"] != VERSION or self.header["required"]:
            raise PlanError(
                f"the plan file is of format {self.header['version']} with features {self.header['required']:#x}; this is "
                f"{VERSION} with none. {_REMEDY}"
            )
        size = self.header["file_bytes"]
        if not HEADER.size_bytes + DIGEST_BYTES <= size <= len(data) or size % 4:
            raise PlanError(f"the plan file has {len(data)} bytes and says that it has {size}: it was cut. {_REMEDY}")
        self.data = bytes(data[:size])
        if hashlib.sha256(self.data[:-DIGEST_BYTES]).digest() != self.data[-DIGEST_BYTES:]:
            raise PlanError(f"the plan file is damaged: its SHA-256 is another one. {_REMEDY}")

    @property
    def arena_bytes(self) -> int:
        """Bytes of the arena."""
        return self.header["arena_bytes"]

    @property
    def state_bytes(self) -> int:
        """Bytes of the memory of variables."""
        return self.header["state_bytes"]

    @cached_property
    def name(self) -> str:
        """The model's name; empty where the file has none."""
        return self._text(self.header["name"])

    @cached_property
    def kernel_ids(self) -> tuple[int, ...]:
        """The ids of the kernels that it needs, and of the parts of theirs."""
        return tuple(self.words(self.header["kernels"], self.header["kernel_count"]))

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """Their names.

        Raises:
            PlanError: this version has no such kernel.
        """
        names = {kernel_id(name): name for name in PARAMS}
        unknown = [each for each in self.kernel_ids if each not in names and each not in _PARTS]
        if unknown:
            listed = ", ".join(f"{each:#010x}" for each in unknown)
            raise PlanError(f"the plan file needs kernels that this version has not: {listed}. {_REMEDY}")
        return tuple(names[each] for each in self.kernel_ids if each in names)

    @cached_property
    def parts(self) -> frozenset[str]:
        """The parts of these kernels that it needs, by their macros: a core may leave out all others."""
        return frozenset(_PARTS[each] for each in self.kernel_ids if each in _PARTS)

    @cached_property
    def inputs(self) -> tuple[Port, ...]:
        """The inputs, in order."""
        return self._ports("input")

    @cached_property
    def outputs(self) -> tuple[Port, ...]:
        """The outputs, in order."""
        return self._ports("output")

    @cached_property
    def streams(self) -> bool:
        """True if inputs arrive by the row."""
        graph = self.record(GRAPH, self.header["graphs"])
        return bool(self.record(NODE, int(graph["nodes"]))["flags"] & Kind.RECEIVES)

    @cached_property
    def externals(self) -> tuple[int, ...]:
        """Bytes of each external buffer."""
        places = (self.header["externals"] + k * EXTERNAL.size_bytes for k in range(self.header["external_count"]))
        return tuple(int(self.record(EXTERNAL, place)["bytes"]) for place in places)

    @cached_property
    def fences(self) -> tuple[FileFence, ...]:
        """The constants that may be written while the file is open, in order; none if the file was made without fences.

        Raises:
            PlanError: they are not inside the file.
        """
        count, begin, found = self.header["fences"], HEADER.size_bytes, list[FileFence]()
        for number in range(count):
            each = self.record(FENCE, len(self.data) - DIGEST_BYTES - (count - number) * FENCE.size_bytes)
            found.append(FileFence(begin, each["end"] - begin, each["first"], each["last"], each["until"]))
            begin = each["end"]
        return tuple(found)

    def record(self, record: Record, offset: int) -> dict[str, int]:
        """Returns the integers of a record.

        Raises:
            PlanError: it is not inside the file.
        """
        self._check(offset, record.size_bytes)
        return {
            name: int(value) for name, value in record.read(self.data, offset).items() if not isinstance(value, float)
        }

    def part(self, offset: int, size: int) -> bytes:
        """Returns bytes at an offset.

        Raises:
            PlanError: they are not inside the file.
        """
        self._check(offset, size)
        return self.data[offset : offset + size]

    def words(self, offset: int, count: int) -> list[int]:
        """Returns 32-bit numbers at an offset.

        Raises:
            PlanError: they are not inside the file.
        """
        self._check(offset, 4 * count)
        return [int(each) for each in np.frombuffer(self.data, "<u4", count, offset)] if count else []

    def checked(self, inputs: Sequence[Array]) -> list[Array]:
        """Returns the inputs of an inference in one piece each.

        Raises:
            InputError: there are more or fewer than the model has, or one has another shape or type.
        """
        wanted = self.inputs
        if len(inputs) != len(wanted):
            raise InputError(f"{self.name or 'the model'} has {len(wanted)} inputs; {len(inputs)} arrays were given.")
        for number, (array, port) in enumerate(zip(inputs, wanted, strict=True)):
            if array.dtype != port.dtype.numpy or array.shape != port.shape:
                raise InputError(
                    f"input {number} ({port.name or 'without a name'}) is {port.dtype} {list(port.shape)}; the array is "
                    f"{array.dtype} {list(array.shape)}. Convert it, or give another one."
                )
        return [np.ascontiguousarray(each) for each in inputs]

    def _ports(self, role: str) -> tuple[Port, ...]:
        inputs, ports = self.header["input_count"], self.header["port_count"]
        first, end = (0, inputs) if role == "input" else (inputs, ports)
        return tuple(self._port(role, index - first, index) for index in range(first, end))

    def _port(self, role: str, number: int, index: int) -> Port:
        place = self.header["ports"] + index * PORT.size_bytes
        port = self.record(PORT, place)
        if port["type"] >= len(TYPES):
            raise PlanError(
                f"{role} {number} of the plan file has the type {port['type']}, which there is not. {_REMEDY}"
            )
        one = Port(
            self._text(port["name"]),
            TYPES[port["type"]],
            tuple(self.words(port["shape"], port["rank"])),
            float(PORT.read(self.data, place)["scale"]),
            port["zero_point"],
            port["bytes"] // max(port["row_bytes"], 1),
            port["memory"] - Memory.EXTERNAL if Memory.EXTERNAL <= port["memory"] < Memory.NULL else None,
        )
        if not 0 < one.size_bytes == port["bytes"] == one.rows * port["row_bytes"]:
            raise PlanError(f"{role} {number} of the plan file is empty, or has another size than its rows. {_REMEDY}")
        return one

    def _text(self, offset: int) -> str:
        if not offset:
            return ""
        self._check(offset, 1)
        end = self.data.find(b"\0", offset)
        return self.data[offset : max(end, offset)].decode("utf-8", "replace")

    def _check(self, offset: int, size: int) -> None:
        if size and not 0 < offset <= len(self.data) - DIGEST_BYTES - size:
            raise PlanError(f"the plan file points to bytes {offset} to {offset + size}, outside of it. {_REMEDY}")
