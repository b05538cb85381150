"""A kernel's step on an emulated core with its output laid over an input row that it reads for the last time."""

from collections.abc import Iterable

import numpy as np

from kibi.dtypes import Array
from kibi.ir import KernelCall, NodeView
from tests.kernels.emulated import Bench, Kernels
from tests.ops.comparison import graph_of
from tests.support.case import Case


def check_in_place(kernels: Kernels, kernel: str, cases: Iterable[Case]) -> int:
    """Each general call at its declared distance, and one byte farther, gives what it gives apart from all rows.

    Args:
        kernels: with the kernel.
        kernel: its name; cases that another one runs, or that have no distance, are passed over.
        cases: models of one node with one row input of s8.

    Returns:
        How many distances were tried.
    """
    tried = 0
    for case in cases:
        graph = graph_of(case)
        (call,) = graph.calls
        distance = call.inplace_distance_bytes[0] if call.inplace_distance_bytes else None
        if call.kernel != kernel or distance is None:
            continue
        wrong, count = differing_distances(kernels, graph.views[0], call, case.inputs[0], [distance, distance + 1])
        assert not wrong, (graph, distance, wrong)
        tried += count
    return tried


def differing_distances(
    kernels: Kernels, view: NodeView, call: KernelCall, data: Array, distances: list[int]
) -> tuple[list[int], int]:
    """At which distances below the row the output differs from what it is apart from all rows.

    The step is the middle one, the row the first that lies inside; every row is a block of its own.

    Args:
        kernels: with the call's kernel.
        view: a node with one row input.
        call: what runs it: the general call or a variant.
        data: the input, whole.
        distances: in bytes.

    Returns:
        Those distances, and how many were tried.
    """
    (access,) = view.op.accesses(view)
    positions = access.positions(view.steps // 2)
    over = next(at for at in positions if at is not None)
    apart = _step(kernels, view, call, data, None, over)
    wrong = [each for each in distances if (_step(kernels, view, call, data, each, over) != apart).any()]
    return wrong, len(distances)


def _step(kernels: Kernels, view: NodeView, call: KernelCall, data: Array, distance: int | None, over: int) -> Array:
    bench, (access,) = Bench(kernels, np.random.default_rng(0)), view.op.accesses(view)
    kind, size = view["input"].type, len(view.made_rows(0)) * view.output.type.row_bytes
    rows = data.reshape(-1).view(np.int8).reshape(-1, kind.row_bytes)
    element = kind.dtype.numpy
    fill = bench.place("fill", np.full(kind.row_elements, access.fill or 0, element))
    below = max(distance or 0, 0)
    field_elements = -(-(below + kind.row_bytes + size + 64) // kind.dtype.size_bytes)
    field = bench.place("field", np.zeros(field_elements, element), writable=True)
    bench.write(field + below, rows[over])
    addresses = {over: field + below}
    for position in access.positions(view.steps // 2):
        if position is not None and position not in addresses:
            addresses[position] = bench.place("row", rows[position].view(element))
    pointers = [fill if at is None else addresses[at] for at in access.positions(view.steps // 2)]
    output = bench.place("output", np.zeros(size // kind.dtype.size_bytes, element), writable=True)
    if distance is not None:
        output = field + below - distance
    bench.call(call.kernel, output, bench.rows(pointers), bench.params(call), bench.scratch(call.scratch_bytes))
    return bench.read(output, size)
