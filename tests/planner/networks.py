"""Small graphs made by hand, of an operator that only says which rows it reads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import Graph, KernelCall, Node, NodeView, Operator, RowAccess, Rows, Tensor, TensorType
from kibi.planner import Run
from tests.support.choices import Choices


@dataclass(frozen=True, slots=True)
class Window(Operator):
    """Output row `y` reads the `height` rows from `y * stride - above` on, `dilation` apart, of its one or two inputs."""

    name: ClassVar[str] = "WINDOW"
    inputs: ClassVar[tuple[str, ...]] = ("input", "other?")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S32)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_window_s8",)

    height: int = 1
    stride: int = 1
    above: int = 0
    scratch_bytes: int = 0
    dilation: int = 1

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """Whatever the output says."""
        return view.output.type.shape, view.output.type.dtype

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """One access for each input."""
        rows, output_rows = view["input"].type.rows, view.output.type.rows
        return (RowAccess(rows, output_rows, self.height, self.stride, -self.above, self.dilation),)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Nothing here is ever computed."""
        raise NotImplementedError

    def kernel_call(self, view: NodeView) -> KernelCall:
        """A call that needs scratch."""
        del view
        return KernelCall("kibi_window_s8", scratch_bytes=self.scratch_bytes)


@dataclass(frozen=True, slots=True)
class Sum(Window):
    """Two inputs of equal rows."""

    name: ClassVar[str] = "SUM"
    inputs: ClassVar[tuple[str, ...]] = ("input", "other")
    row_inputs: ClassVar[tuple[str, ...]] = ("input", "other")

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """One access for each input."""
        return (RowAccess.same(view["input"].type.rows), RowAccess.same(view["other"].type.rows))


@dataclass(frozen=True, slots=True)
class Total(Window):
    """One output row from all input rows."""

    name: ClassVar[str] = "TOTAL"

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """One access for each input."""
        return (RowAccess.every(view["input"].type.rows, view.output.type.rows),)


@dataclass(frozen=True, slots=True)
class Tally(Window):
    """One output row from all input rows, taken one by one and added up in scratch."""

    name: ClassVar[str] = "TALLY"

    def steps(self, view: NodeView) -> int:
        """One for each input row."""
        return view["input"].type.rows

    def accumulates(self, view: NodeView) -> bool:
        """Always."""
        del view
        return True

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """One access for each input."""
        return (RowAccess.same(view["input"].type.rows),)


@dataclass(frozen=True, slots=True)
class Doubling(Window):
    """Two output rows at a time from one input row."""

    name: ClassVar[str] = "DOUBLING"

    def steps(self, view: NodeView) -> int:
        """One for each input row."""
        return view["input"].type.rows

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """One access for each input."""
        return (RowAccess.same(view["input"].type.rows),)


def graph(
    shapes: list[tuple[int, ...]],
    nodes: list[tuple[Operator, tuple[int, ...], int]],
    inputs: tuple[int, ...] = (0,),
    outputs: tuple[int, ...] | None = None,
    dtypes: dict[int, DType] | None = None,
) -> Graph:
    """A graph whose tensors are called `t0`, `t1`, …; nodes are (operator, inputs, output)."""
    kinds = [TensorType(shape, (dtypes or {}).get(index, DType.S8)) for index, shape in enumerate(shapes)]
    return Graph(
        name="net",
        source="net.tflite",
        tensors=tuple(Tensor(index, f"t{index}", kind) for index, kind in enumerate(kinds)),
        nodes=tuple(Node(op, read, (made,), index) for index, (op, read, made) in enumerate(nodes)),
        inputs=inputs,
        outputs=(nodes[-1][2],) if outputs is None else outputs,
    )


def chain(*heights: int, rows: int = 8, width: int = 4, scratch_bytes: int = 0) -> Graph:
    """Windows of the given heights, one after another, on images of equal size."""
    shape = (1, rows, width, 1)
    ops = [Window(height, 1, height // 2, scratch_bytes) for height in heights]
    return graph([shape] * (len(ops) + 1), [(op, (index,), index + 1) for index, op in enumerate(ops)])


def residual(rows: int = 16, row_bytes: int = 32, scratch_bytes: int = 0) -> Graph:
    """Three 3-row convolutions; the first one's output is added to the third's; a total reads the sum.

    t0 → conv → t1 → conv → t2 → conv → t3; t1 + t3 → t4 → total → t5.
    """
    image, ops = (1, rows, row_bytes, 1), Window(3, 1, 1, scratch_bytes)
    nodes: list[tuple[Operator, tuple[int, ...], int]] = [
        (ops, (0,), 1),
        (ops, (1,), 2),
        (ops, (2,), 3),
        (Sum(), (1, 3), 4),
        (Total(), (4,), 5),
    ]
    return graph([image] * 5 + [(1, row_bytes)], nodes)


def tallied(*heights: int, rows: int = 8, width: int = 4, scratch_bytes: int = 0) -> Graph:
    """A chain of windows whose last rows are added up into one of `width` bytes."""
    net = chain(*heights, rows=rows, width=width, scratch_bytes=scratch_bytes)
    shapes = [tensor.type.shape for tensor in net.tensors]
    nodes: list[tuple[Operator, tuple[int, ...], int]]
    nodes = [(view.op, (index,), index + 1) for index, view in enumerate(net.views)]
    nodes.append((Tally(scratch_bytes=4 * width), (len(nodes),), len(nodes) + 1))
    return graph([*shapes, (1, width)], nodes)


def random_network(c: Choices, nodes: int, rows: int, scratch: Sequence[int] = (0,)) -> Graph:
    """Windows, additions and tallies: branches, strides, dilations, several inputs, outputs and readers, rows unread.

    Args:
        c: where decisions come from.
        nodes: how many operators there are.
        rows: the most rows of a model input.
        scratch: bytes of scratch of windows and additions, to choose from.
    """
    high = c.integer(2, rows)
    shapes: list[tuple[int, ...]] = [(1, high, 1, c.integer(1, 9)) for _ in range(c.one_of((1, 1, 2)))]
    inputs = tuple(range(len(shapes)))
    made: list[tuple[Operator, tuple[int, ...], int]] = []
    for _ in range(nodes):
        images = [index for index, shape in enumerate(shapes) if len(shape) == 4]
        read = c.one_of(images[-3:])
        its_rows, scratch_bytes = shapes[read][1], c.one_of(scratch)
        equal = [index for index in images if shapes[index][1] == its_rows and index != read]
        kind = c.integer(0, 9)
        if kind == 0:
            made.append((Tally(scratch_bytes=c.integer(1, 8)), (read,), len(shapes)))
            shapes.append((1, c.integer(1, 9)))
        elif kind < 4 and equal:
            made.append((Sum(scratch_bytes=scratch_bytes), (read, c.one_of(equal)), len(shapes)))
            shapes.append((1, its_rows, 1, c.integer(1, 9)))
        else:
            height, stride, dilation = c.integer(1, 3), c.one_of((1, 1, 2)), c.one_of((1, 1, 2))
            above = c.one_of((height // 2 * dilation, 0))
            made.append((Window(height, stride, above, scratch_bytes, dilation), (read,), len(shapes)))
            shapes.append((1, -(-its_rows // stride), 1, c.integer(1, 9)))
    used = {index for _, read_by, _ in made for index in read_by}
    ends = [index for _, _, index in made if index not in used]
    more = [index for _, _, index in made if index in used and c.integer(0, 9) == 9]
    return graph(shapes, made, inputs, tuple(ends + more))


def by_row(net: Graph) -> tuple[Run, ...]:
    """An interleaved order: each step belongs to the last node whose next row step can run."""
    made = [net.tensors[index].type.rows if index in net.inputs else 0 for index in range(len(net.tensors))]
    done = [0] * len(net.nodes)
    runs: list[Run] = []
    while True:
        for index in reversed(range(len(net.nodes))):
            view, step = net.views[index], done[index]
            if step < view.steps and all(
                tensor.is_constant or made[tensor.index] > max(access.needs(step), default=-1)
                for tensor, access in zip(view.row_tensors, view.op.accesses(view), strict=True)
            ):
                runs.append(Run(index, step, 1))
                done[index] += 1
                made[view.output.index] += len(view.made_rows(step))
                break
        else:
            return joined(runs)


def joined(runs: list[Run]) -> tuple[Run, ...]:
    """The same steps in as few runs as possible."""
    short: list[Run] = []
    for run in runs:
        last = short[-1] if short else None
        if last is not None and last.node == run.node and last.first_step + last.steps == run.first_step:
            short[-1] = Run(run.node, last.first_step, last.steps + run.steps)
        else:
            short.append(run)
    return tuple(short)


def constant(net: Graph, index: int) -> Graph:
    """The same graph with a tensor that the model file holds."""
    kind = net.tensors[index].type
    data = np.zeros(kind.shape, kind.dtype.numpy)
    tensors = list(net.tensors)
    tensors[index] = Tensor(index, net.tensors[index].name, kind, data)
    inputs = tuple(each for each in net.inputs if each != index)
    return Graph(net.name, net.source, tuple(tensors), net.nodes, inputs, net.outputs)
