"""Layouts of parameter structs: where their fields are, and their bytes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from kibi.kernels.params.description import Params


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of a struct's fields on an ABI that aligns numbers and pointers to their sizes.

    That holds for the ABIs of Arm, RISC-V, and 64-bit x86; `checks` asks the compiler.

    Attributes:
        offsets: of each field, in bytes.
        size_bytes: of the struct.
        alignment_bytes: of the struct.
    """

    offsets: tuple[int, ...]
    size_bytes: int
    alignment_bytes: int

    @classmethod
    def of(cls, kind: type[Params], pointer_bytes: int = 4, *, with_graphs: bool = True) -> Self:
        """Returns the layout of a struct.

        Args:
            kind: the struct.
            pointer_bytes: of a pointer: 4 on a microcontroller.
            with_graphs: True if the numbers of its kernel's graphs follow, as in a plan file; the struct in C has none.
        """
        offsets, end, alignment = list[int](), 0, 1
        for each in kind.fields if with_graphs else kind.members():
            size = each.size_bytes(pointer_bytes)
            end += -end % size
            offsets.append(end)
            end += size
            alignment = max(alignment, size)
        return cls(tuple(offsets), end + -end % alignment, alignment)


def packed(params: Params, pointers: Mapping[str, int], pointer_bytes: int = 4) -> bytes:
    """Returns the bytes of the struct, little-endian; bytes between fields are 0.

    Args:
        params: of one call.
        pointers: for each pointer that is not null, by its field's name, what is stored for it: an address or an offset.
        pointer_bytes: of a pointer.
    """
    layout = Layout.of(type(params), pointer_bytes)
    data = bytearray(layout.size_bytes)
    for (each, value), offset in zip(params, layout.offsets, strict=True):
        size = each.size_bytes(pointer_bytes)
        if each.is_pointer or each.dtype is None:
            stored = pointers.get(each.name, 0).to_bytes(size, "little")
        else:
            stored = np.asarray(value, each.dtype.numpy).tobytes()
        data[offset : offset + size] = stored
    return bytes(data)
