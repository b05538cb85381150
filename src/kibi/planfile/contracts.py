"""What Kibi's own kernels take, and the contract of each as bytes."""

import re
from functools import cache

from kibi.dtypes import DType
from kibi.errors import InternalError
from kibi.kernels import find, header_of
from kibi.kernels.params import PARAMS, FieldKind
from kibi.kernels.params.contract import contract_bytes
from kibi.kernels.params.contract_operations import ANY_ELEMENTS, Op, marked, operations
from kibi.kernels.params.contract_text import has_contract
from kibi.kernels.params.layout import Layout
from kibi.planfile.records import Kind

_PARAMETER = re.compile(r"(?:const\s+)?(?P<type>\w+)[\s*]+(?:const\s*\*\s*)?(?P<name>\w+)\s*$")
"""A parameter of a kernel: what it points to, and its name."""
NEVER_KEPT = bytes((4, Op.NEVER))
"""The contract to which no node keeps."""
_SIZES = {dtype.c: dtype.size_bytes for dtype in DType}


@cache
def kernel_parameters(kernel: str) -> tuple[tuple[str, str], ...]:
    """Returns what a kernel's parameters point to, and their names, as its header declares them.

    Raises:
        InternalError: no header declares it.
    """
    text = find(header_of(kernel), ("portable", "host")).read_text(encoding="utf-8")
    found = re.search(rf"^void {kernel}\((?P<parameters>[^)]*)\);", text, re.MULTILINE)
    if found is None:
        raise InternalError(f"{header_of(kernel)} declares no {kernel}")
    each = (_PARAMETER.search(part) for part in found["parameters"].split(","))
    return tuple((match["type"], match["name"]) for match in each if match is not None)


@cache
def contract_of(kernel: str, without: frozenset[str] = frozenset()) -> bytes:
    """Returns the contract of one of Kibi's own kernels, as bytes.

    Args:
        kernel: its name.
        without: the parts of the kernel's files that a core leaves out, by their macros.
    """
    if not has_contract(PARAMS[kernel]):
        return NEVER_KEPT
    types = {name: kind for kind, name in kernel_parameters(kernel)}
    read, made = (_SIZES.get(types.get(name, "void"), 1) for name in ("rows", "output"))
    found = contract_bytes(kernel, PARAMS[kernel], read, made, without & PARAMS[kernel].parts.keys())
    runs_graphs = any(each.kind is FieldKind.SUBGRAPH for each in PARAMS[kernel].fields)
    return found if runs_graphs else marked(found)  # a core looks at what goes into graphs and out of them


@cache
def any_elements(kernel: str) -> frozenset[str]:
    """Returns the arrays of a kernel's parameters that may have any elements: the check of a file looks at none of them."""
    arrays = {
        data[0] % ANY_ELEMENTS: True for operation, data in operations(contract_of(kernel)) if operation is Op.ARRAY
    }
    for operation, data in operations(contract_of(kernel)):
        words = data if operation in (Op.EACH, Op.MOST_SUM) else data[: operation is Op.ARRAY]
        for each in words:
            arrays[each % ANY_ELEMENTS] &= operation is Op.ARRAY and bool(each & ANY_ELEMENTS)
    kind = PARAMS[kernel]
    places = zip(kind.fields, Layout.of(kind).offsets, strict=True)
    return frozenset(each.name for each, place in places if each.is_pointer and arrays.get(place // 4, False))


@cache
def needs_given(kernel: str) -> bool:
    """True if a kernel writes what the pointers that are not null give in a step."""
    return any(operation is Op.TABLE_OUTPUT for operation, _ in operations(contract_of(kernel)))


@cache
def kind_of(kernel: str) -> Kind:
    """Returns the flags that each node of a kernel must have."""
    kind = Kind.COUNTS | Kind.ACCUMULATES if "step" in {name for _, name in kernel_parameters(kernel)} else Kind(0)
    return kind | (Kind.GIVES if needs_given(kernel) else Kind(0))
