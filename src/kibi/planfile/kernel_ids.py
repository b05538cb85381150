"""Ids of kernels: a hash of the name and of the parameters' layout, so that a file never meets a kernel of another layout."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from kibi.eager.events import fnv1a
from kibi.errors import InputError
from kibi.kernels.params import PARAMS, FieldKind, Params
from kibi.kernels.params.layout import Layout

LAYOUT_VERSION = 6
"""Of what the fields mean; it grows when a kernel packs its constants in another way without a change of its fields."""
NO_SUBGRAPHS = 255
STREAMS = "KIBI_CORE_STREAMS"
"""The part of a core that takes inputs by the row."""
STATES = "KIBI_CORE_STATES"
"""The part of a core that has variables."""
EXTERNALS = "KIBI_CORE_EXTERNALS"
"""The part of a core that takes external buffers."""
HALVES = "KIBI_CORE_HALVES"
"""The part of a core that reads runs with 16-bit entries."""
WIDE = "KIBI_CORE_WIDE"
"""The part of a core that reads runs with 32-bit entries."""
SPACED = "KIBI_CORE_SPACED"
"""The part of a core that reads runs whose pointers to inputs are evenly spaced."""
CORE_PARTS = frozenset({STREAMS, STATES, EXTERNALS, HALVES, WIDE, SPACED})


def kernel_id(kernel: str) -> int:
    """Returns the id of one of Kibi's own kernels.

    Raises:
        InputError: it is a custom operator's kernel.
    """
    return fnv1a(_signature(kernel))


def part_id(part: str) -> int:
    """Returns the id of a part that a core may leave out, by its macro: files list those that they need among their kernels."""
    return fnv1a(f"{part}/{LAYOUT_VERSION}")


def parts_of(kernels: Iterable[str]) -> frozenset[str]:
    """Returns the macros of all parts that a core with these kernels may have: those of the kernels, and its own."""
    return CORE_PARTS | {part for kernel in kernels for part in PARAMS[kernel].parts}


def _params(kernel: str) -> type[Params]:
    if kernel not in PARAMS:
        raise InputError(
            f"plan files hold Kibi's own kernels; {kernel or 'an operator without a kernel'} is none of them. "
            "Compile the model to C."
        )
    return PARAMS[kernel]


@cache
def _signature(kernel: str) -> str:
    """Returns the text whose hash is the id."""
    fields = ",".join(f"{each.name}:{each.type}{'*' * each.is_pointer}" for each in _params(kernel).fields)
    return f"{kernel}/{LAYOUT_VERSION}({fields})"


@dataclass(frozen=True, slots=True)
class ParamsForm:
    """What a core has to know of a kernel's parameters in a file.

    Attributes:
        words: 32-bit words in the file.
        first_subgraph: the first word that is the number of a graph, as all after it are; `NO_SUBGRAPHS`: none is.
        conditions: how many of these graphs only say whether another one runs: one output, of one byte.
    """

    words: int
    first_subgraph: int
    conditions: int

    @staticmethod
    def of(kernel: str) -> "ParamsForm":
        """Returns the form of a kernel's parameters.

        Raises:
            InputError: it is a custom operator's kernel.
        """
        kind = _params(kernel)
        layout = Layout.of(kind)
        words = {each.name: offset // 4 for each, offset in zip(kind.fields, layout.offsets, strict=True)}
        graphs = [words[each.name] for each in kind.fields if each.kind is FieldKind.SUBGRAPH]
        conditions = sum(each.name == "condition" for each in kind.fields)
        return ParamsForm(layout.size_bytes // 4, min(graphs, default=NO_SUBGRAPHS), conditions)
