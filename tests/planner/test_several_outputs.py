"""Nodes with several outputs: each has rows, a lifetime and a place of its own."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from kibi.dtypes import Array, DType
from kibi.errors import ModelError, PlanError
from kibi.ir import Graph, KernelCall, Node, NodeView, Operator, RowAccess, Rows, Tensor, TensorType, verify
from kibi.planner import Run, lifetimes, plan, validate
from kibi.planner.granularity import Granularity
from kibi.runtime import Interpreter
from kibi.targets import target

M4 = target("cortex-m4")
_ROWS, _WIDTH = 6, 8


@dataclass(frozen=True, slots=True)
class Halves(Operator):
    """Input [1, H, W, 1] s8 → output [1, H, W / 2, 1] s8, the first half of each row, and rest [1, 2 * H, W / 4, 1] s8.

    Attributes:
        distance: the kernel's, in bytes.
    """

    name: ClassVar[str] = "HALVES"
    inputs: ClassVar[tuple[str, ...]] = ("input",)
    outputs: ClassVar[tuple[str, ...]] = ("output", "rest")
    kernels: ClassVar[tuple[str, ...]] = ("kibi_packed_pairs_s8",)
    types: ClassVar[tuple[DType, ...]] = (DType.S8,)

    distance: int | None = None

    def infer(self, view: NodeView) -> list[TensorType]:
        """Half of each row, and the other half as two rows."""
        _, rows, width, _ = view["input"].type.shape
        shapes = ((1, rows, width // 2, 1), (1, 2 * rows, width // 4, 1))
        return [TensorType(shape, DType.S8) for shape in shapes]

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Row by row."""
        return (RowAccess.same(view["input"].type.rows),)

    def reference(self, view: NodeView) -> Callable[[Rows], list[Array]]:
        """Both halves."""
        half = view["input"].type.row_elements // 2

        def row(rows: Rows) -> list[Array]:
            data = np.asarray(rows[0][0])
            return [data[:half], data[half:]]

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """A kernel that nobody runs."""
        del view
        return KernelCall("kibi_packed_pairs_s8", inplace_distance_bytes=(self.distance,))


def _net(*, distance: int | None = None, outputs: tuple[int, ...] = (1, 2)) -> Graph:
    shapes = ((1, _ROWS, _WIDTH, 1), (1, _ROWS, _WIDTH // 2, 1), (1, 2 * _ROWS, _WIDTH // 4, 1))
    tensors = tuple(Tensor(index, f"t{index}", TensorType(shape, DType.S8)) for index, shape in enumerate(shapes))
    return verify(Graph("net", "net.tflite", tensors, (Node(Halves(distance), (0,), (1, 2), 0),), (0,), outputs))


def test_each_output_has_the_rows_that_each_step_makes() -> None:
    """A step makes one row of the first output and two of the second."""
    (view,) = _net().views
    assert view.output_names == ("output", "rest")
    assert [view.made_rows(2, output) for output in (0, 1)] == [range(2, 3), range(4, 6)]


def test_output_that_nobody_reads_lives_while_it_is_made() -> None:
    """The kernel writes it, so that it has bytes until the node is done."""
    buffers = lifetimes(_net(outputs=(1,)), (Run(0, 0, _ROWS),))
    spans = {each.tensor: (each.first_row, each.rows, each.start, each.end) for each in buffers}
    assert spans[2] == (0, 2 * _ROWS, 0, _ROWS)


@pytest.mark.parametrize("granularity", Granularity)
def test_plan_with_several_outputs_runs(granularity: Granularity) -> None:
    """Every output has its elements, whatever is planned."""
    net = _net()
    made = plan(net, M4, granularity=granularity)
    validate(net, made)
    data = np.arange(_ROWS * _WIDTH, dtype=np.int8).reshape(1, _ROWS, _WIDTH, 1)
    seen: dict[int, Array] = {}
    found = Interpreter(net, made).run([data], lambda index, array: seen.update({index: array}))
    rows = data.reshape(_ROWS, 2, _WIDTH // 2)
    for array, wanted, index in zip(found, (rows[:, 0], rows[:, 1]), (1, 2), strict=True):
        assert array.tobytes() == wanted.tobytes() == seen[index].tobytes()


def test_either_output_may_take_the_place_of_the_input() -> None:
    """With distance 0 one of both outputs is made in the input's bytes; without leave neither is."""
    size_bytes = _ROWS * _WIDTH
    assert plan(_net(), M4).arena_bytes == 2 * size_bytes
    net = _net(distance=0)
    made = plan(net, M4)
    validate(net, made)
    assert made.arena_bytes == size_bytes + size_bytes // 2


def test_output_over_an_input_row_that_is_still_read_is_refused() -> None:
    """The distance holds for the second output as for the first."""
    net = _net(distance=None)
    made = plan(net, M4)
    source = next(each for each in made.buffers if each.tensor == 0)
    moved = tuple(replace(each, offset=source.offset) if each.tensor == 2 else each for each in made.buffers)
    with pytest.raises(PlanError, match=r"overwrites row 0 of 't0'.*while it is read; it never may"):
        validate(net, replace(made, buffers=moved))


def test_wrong_shape_of_an_output_is_told_by_its_name() -> None:
    """Every output is compared with the operator's rule."""
    net = _net()
    wrong = replace(net.tensors[2], type=TensorType((1, 3, 2, 1), DType.S8))
    with pytest.raises(ModelError, match=r"HALVES: rest has shape \[1, 3, 2, 1\], its inputs give \[1, 12, 2, 1\]"):
        verify(replace(net, tensors=(*net.tensors[:2], wrong)))


def test_node_with_too_few_outputs_is_refused() -> None:
    """An output is left out only where the operator says that it may be."""
    net = _net(outputs=(1,))
    with pytest.raises(ModelError, match="HALVES takes input and gives output, rest; here are 1 inputs and 1 outputs"):
        verify(replace(net, nodes=(replace(net.nodes[0], outputs=(1,)),)))
