"""Peaks and times of the search for orders: zoo models, then random graphs of up to a thousand operators.

Orders of whole operators, or with `--rows` of row steps; random graphs have twenty rows in each tensor then.

Models are read from the folder that `KIBI_ZOO` names (default `../shared/zoo`); those that Kibi does not load are passed
over. Random graphs come from fixed seeds. With `--json`, one JSON list for programs.
"""

import argparse
import json
import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from rich.console import Console
from rich.table import Table

import kibi
from kibi.dtypes import Array, DType
from kibi.errors import KibiError
from kibi.ir import Graph, KernelCall, Node, NodeView, Operator, RowAccess, Rows, Tensor, TensorType
from kibi.planner.order.precedence import precedence
from kibi.planner.order.row_order import row_order, whole_order
from kibi.planner.order.topological import smallest_peak_order

ROOT = Path(__file__).resolve().parent.parent
ZOO = Path(os.environ.get("KIBI_ZOO", ROOT.parent / "shared" / "zoo"))
RANDOM = ((20, 20), (50, 10), (50, 100), (100, 10), (300, 10), (300, 40), (1000, 10), (1000, 30), (1000, 2000))
"""Operators, and how far back the tensors that one reads were made."""


@dataclass(frozen=True, slots=True)
class Row:
    """One graph's figures, in bytes and seconds."""

    graph: str
    operators: int
    own_bytes: int
    peak_bytes: int
    lower_bound_bytes: int
    proven_optimal: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Pair(Operator):
    """Some row from the same row of two inputs; nothing is ever computed."""

    name: ClassVar[str] = "PAIR"
    inputs: ClassVar[tuple[str, ...]] = ("input", "other")
    row_inputs: ClassVar[tuple[str, ...]] = ("input", "other")
    types: ClassVar[tuple[DType, ...]] = (DType.S8,)
    kernels: ClassVar[tuple[str, ...]] = ()

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """Whatever the output says."""
        return view.output.type.shape, view.output.type.dtype

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """The same row of both."""
        return (RowAccess.same(view.output.type.rows),) * 2

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """There is none."""
        raise NotImplementedError

    def kernel_call(self, view: NodeView) -> KernelCall:
        """A call without scratch."""
        del view
        return KernelCall("")


def main() -> None:
    """Search, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    parser.add_argument("--rows", action="store_true", help="order row steps, rows dying one by one, scratch included")
    options = parser.parse_args()
    figures, height = (_by_row, 20) if options.rows else (_by_operator, 1)
    rows = (figures(graph) for graph in (*_models(), *(random_graph(*each, height) for each in RANDOM)))
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
        return
    table = Table("graph", "operators", "own order", "best", "lower bound", "proven", "seconds")
    table.columns[0].no_wrap = True
    for row in rows:
        seconds = f"{row.seconds:.3f}"
        table.add_row(*(str(value) for value in list(asdict(row).values())[:-1]), seconds)
    Console().print(table)


def _models() -> Iterator[Graph]:
    for path in sorted((ZOO / "models").glob("*.tflite")):
        try:
            yield kibi.load(path)
        except KibiError:
            continue


def random_graph(operators: int, reach: int, height: int = 1) -> Graph:
    """A graph of additions of two tensors, not verified: each reads among the last `reach` tensors; ends are outputs.

    Tensors have `height` rows of 1 to 100 bytes.
    """
    draw = random.Random(1000 * operators + reach)  # noqa: S311 - no secret
    tensors = [Tensor(0, "t0", TensorType((1, height, 1, 100), DType.S8))]
    nodes = []
    for number in range(operators):
        recent = range(max(0, len(tensors) - reach), len(tensors))
        read = tuple(draw.choices(recent, k=2))
        nodes.append(Node(Pair(), read, (len(tensors),), number))
        kind = TensorType((1, height, 1, draw.randint(1, 100)), DType.S8)
        tensors.append(Tensor(len(tensors), f"t{len(tensors)}", kind))
    read_by_someone = {index for node in nodes for index in node.inputs}
    ends = tuple(index for index in range(1, len(tensors)) if index not in read_by_someone)
    name = f"random_{operators}_{reach}"
    return Graph(name, name, tuple(tensors), tuple(nodes), (0,), ends)


def _by_operator(graph: Graph) -> Row:
    problem = precedence(graph, scratch=False)
    own = max(problem.costs(range(problem.count), 0, problem.first_bytes), default=0)
    started = time.perf_counter()
    order = smallest_peak_order(graph, scratch=False)
    seconds = time.perf_counter() - started
    facts = (order.peak_bytes, order.lower_bound_bytes, order.proven_optimal)
    return Row(graph.name, len(graph.nodes), own, *facts, seconds)


def _by_row(graph: Graph) -> Row:
    started = time.perf_counter()
    order = row_order(graph)
    seconds = time.perf_counter() - started
    facts = (order.peak_bytes, order.lower_bound_bytes, order.peak_bytes == order.lower_bound_bytes)
    return Row(graph.name, len(graph.nodes), whole_order(graph).peak_bytes, *facts, seconds)


if __name__ == "__main__":
    main()
