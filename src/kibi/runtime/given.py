"""The inputs of one inference: a list or named arrays, and what may be left out."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.errors import InputError
from kibi.ir import Graph
from kibi.runtime.inputs import check_input

Inputs = Sequence[Array | None] | Mapping[str, Array]
"""The inputs of one inference: an array for each, in order, or arrays by name."""
Registered = Mapping[int, NDArray[Any]]
"""The inputs that are in registered buffers: for each tensor an array over its bytes, of its shape and type."""


def given_inputs(graph: Graph, inputs: Inputs, registered: Registered) -> dict[int, Array]:
    """The arrays of the inputs that are not in registered buffers, by tensor, of exactly the model's shapes and types.

    Args:
        graph: the model.
        inputs: one array for each input; or arrays by the names of inputs, or by those in the model's signatures. Inputs in
            registered buffers are left out: None in a list, no name. A list may be empty if all are.
        registered: the inputs in registered buffers, which are never written.

    Raises:
        InputError: an input is missing, unknown, named twice, or of another shape or type; or another array is given for one
            that is in a registered buffer.
    """
    values = _named(graph, inputs) if isinstance(inputs, Mapping) else _listed(graph, inputs, registered)
    missing = [
        number for number, index in enumerate(graph.inputs) if values.get(number) is None and index not in registered
    ]
    if missing:
        what = ", ".join(shown(graph, number) for number in missing)
        raise InputError(
            f"{graph.source}: {what} {'is' if len(missing) == 1 else 'are'} missing. Give an array for each."
        )
    checked = {}
    for number, value in values.items():
        index = graph.inputs[number]
        if value is None:
            continue
        array = check_input(graph, number, value)
        if index not in registered:
            checked[index] = array
        elif not _is_same_memory(array, registered[index]):
            raise InputError(
                f"{shown(graph, number)} is in a registered buffer, which is read in place and never overwritten. Write into the "
                "buffer, and leave this input out."
            )
    _check_registered(graph, registered)
    return checked


def input_number(graph: Graph, which: int | str) -> int:
    """The number of an input, by its number or name.

    Raises:
        InputError: there is no such input, or several have that name.
    """
    return _number(graph, which, "input")


def output_number(graph: Graph, which: int | str) -> int:
    """The number of an output, by its number or name.

    Raises:
        InputError: there is no such output, or several have that name.
    """
    return _number(graph, which, "output")


def shown(graph: Graph, number: int) -> str:
    """An input for messages: its number and name."""
    return f"input {number} ({graph.tensors[graph.inputs[number]].name!r})"


def _named(graph: Graph, inputs: Mapping[str, Array]) -> dict[int, Array | None]:
    """The values by the number of their input."""
    names: dict[int, object] = {}
    values: dict[int, Array | None] = {}
    for name, value in inputs.items():
        key: object = name
        if not isinstance(key, str):
            raise InputError(f"{graph.source}: {key!r} is no name of an input. {_known(graph, 'input')}")
        number = _number(graph, name, "input")
        if number in names:
            raise InputError(f"{graph.source}: {names[number]!r} and {name!r} both name input {number}. Give it once.")
        names[number], values[number] = name, value
    return values


def _listed(graph: Graph, inputs: Sequence[Array | None], registered: Registered) -> dict[int, Array | None]:
    """The values by the number of their input."""
    is_empty_allowed = all(index in registered for index in graph.inputs)
    try:  # a generator may have no end, so that only what has a length is asked for its elements
        count = len(inputs)
        given = list(inputs) if count == len(graph.inputs) else [None] * len(graph.inputs)
    except TypeError:
        what = f"{graph.source} takes a list of {len(graph.inputs)} arrays, or arrays by name"
        raise InputError(f"{what}; {type(inputs).__name__} was given, which is neither. Give a list.") from None
    if count != len(graph.inputs) and not (count == 0 and is_empty_allowed):
        remedy = " Give None for those in registered buffers." if registered else ""
        raise InputError(f"{graph.source} takes {len(graph.inputs)} inputs, {count} were given.{remedy}")
    return dict(enumerate(given))


def _number(graph: Graph, which: object, role: str) -> int:
    tensors = graph.inputs if role == "input" else graph.outputs
    if isinstance(which, str):
        found = sorted(_numbers(graph, role).get(which, ()))
        if len(found) > 1:
            several = " and ".join(map(str, found))
            raise InputError(f"{graph.source}: {which!r} names {role}s {several}. Give the number of one, or a list.")
        if found:
            return found[0]
    elif isinstance(which, int | np.integer) and not isinstance(which, bool) and 0 <= which < len(tensors):
        return int(which)
    raise InputError(f"{graph.source} has no {role} {which!r}. {_known(graph, role)}")


def _numbers(graph: Graph, role: str) -> dict[str, set[int]]:
    """The numbers of the inputs or outputs that have a name: a tensor's own, or one in a signature of this graph."""
    is_input = role == "input"
    tensors = graph.inputs if is_input else graph.outputs
    own = 0 if graph.signature is None else graph.signature.subgraph
    pairs = [(graph.tensors[index].name, index) for index in tensors]
    for signature in graph.signatures:
        if signature.subgraph == own:
            pairs += signature.inputs if is_input else signature.outputs
    numbers: dict[str, set[int]] = {}
    for name, index in pairs:
        if index in tensors:
            numbers.setdefault(name, set()).add(tensors.index(index))
    return numbers


def _known(graph: Graph, role: str) -> str:
    """A sentence that lists the inputs or outputs by number and names."""
    names: dict[int, list[str]] = {}
    for name, numbers in _numbers(graph, role).items():
        for number in numbers:
            names.setdefault(number, []).append(repr(name))
    listed = [f"{number} ({' or '.join(names[number])})" for number in sorted(names)]
    return f"Its {role}s are {', '.join(listed)}." if listed else f"It has no {role}s."


def _is_same_memory(array: Array, buffer: Array) -> bool:
    """True if an array shows exactly the bytes of a registered buffer."""
    return array.flags.c_contiguous and array.ctypes.data == buffer.ctypes.data


def _check_registered(graph: Graph, registered: Registered) -> None:
    """Checks that the booleans in registered buffers are 0 or 1, as C wants them."""
    for number, index in enumerate(graph.inputs):
        if index in registered and graph.tensors[index].type.dtype is DType.BOOL:
            largest = int(registered[index].view(np.uint8).max(initial=0))
            if largest > 1:
                raise InputError(
                    f"the buffer of {shown(graph, number)} holds {largest}. A boolean is a byte of 0 or 1."
                )
