"""Peaks and times of the search for operator orders: zoo models, then random graphs of up to a thousand operators.

Models are read from the folder that `KIBI_ZOO` names (default `../shared/zoo`); those that Kibi does not load are passed
over. Random graphs come from fixed seeds. With `--json`, one JSON list for programs.
"""

import argparse
import json
import os
import random
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import kibi
from kibi.dtypes import DType
from kibi.errors import KibiError
from kibi.ir import Graph, Node, Tensor, TensorType
from kibi.ops.add import Add
from kibi.planner.precedence import precedence
from kibi.planner.topological import smallest_peak_order

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


def main() -> None:
    """Search, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    rows = (_row(graph) for graph in (*_models(), *(random_graph(*each) for each in RANDOM)))
    if parser.parse_args().json:
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


def random_graph(operators: int, reach: int) -> Graph:
    """A graph of additions of two tensors, not verified: each reads among the last `reach` tensors; ends are outputs."""
    draw = random.Random(1000 * operators + reach)  # noqa: S311 - no secret
    tensors = [Tensor(0, "t0", TensorType((100,), DType.S8))]
    nodes = []
    for number in range(operators):
        recent = range(max(0, len(tensors) - reach), len(tensors))
        read = tuple(draw.choices(recent, k=2))
        nodes.append(Node(Add(), read, (len(tensors),), number))
        tensors.append(Tensor(len(tensors), f"t{len(tensors)}", TensorType((draw.randint(1, 100),), DType.S8)))
    read_by_someone = {index for node in nodes for index in node.inputs}
    ends = tuple(index for index in range(1, len(tensors)) if index not in read_by_someone)
    name = f"random_{operators}_{reach}"
    return Graph(name, name, tuple(tensors), tuple(nodes), (0,), ends)


def _row(graph: Graph) -> Row:
    problem = precedence(graph, scratch=False)
    own = max(problem.costs(range(problem.count), 0, problem.first_bytes), default=0)
    started = time.perf_counter()
    order = smallest_peak_order(graph, scratch=False)
    seconds = time.perf_counter() - started
    facts = (order.peak_bytes, order.lower_bound_bytes, order.proven_optimal)
    return Row(graph.name, len(graph.nodes), own, *facts, seconds)


if __name__ == "__main__":
    main()
