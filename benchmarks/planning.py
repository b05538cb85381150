"""CPU seconds and memory of planning synthetic graphs: `python benchmarks/planning.py [NAME…]`, or with `--json`.

Chains, branches as of Inception, dense residuals, attention with hundreds of thousands of row steps, and single layers of a
million rows: what no model of the zoo is, but some model will be. Each graph is planned in a process of its own, so that
its peak of memory is its own; the seconds are those of the process, start-up included.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from rich.console import Console
from rich.table import Table

import kibi
from kibi.dtypes import Array, DType
from kibi.ir import Graph, Node, Operator, Quantization, Tensor, TensorType, verify
from kibi.ops.attributes import Padding
from kibi.ops.elementwise.add import Add
from kibi.ops.linear.batch_matmul import BatchMatmul
from kibi.ops.movement.concatenation import Concatenation
from kibi.ops.movement.reshape import Reshape
from kibi.ops.normalization.softmax import Softmax
from kibi.ops.windows.conv2d import Conv2D
from kibi.ops.windows.depthwise_conv2d import DepthwiseConv2D
from kibi.planner import validate
from kibi.planner.limits import row_work

_SCALE = 0.05


@dataclass
class _Network:
    """A graph that grows."""

    tensors: list[Tensor] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)

    def tensor(
        self,
        shape: tuple[int, ...],
        data: Array | None = None,
        dtype: DType = DType.S8,
        scale: float = _SCALE,
        zero: int = 0,
    ) -> int:
        """A further tensor; returns its index."""
        index = len(self.tensors)
        kind = TensorType(shape, dtype, Quantization((scale,), (zero,)))
        self.tensors.append(Tensor(index, f"t{index}", kind, data))
        return index

    def shape(self, index: int) -> tuple[int, ...]:
        """Returns the shape of a tensor."""
        return self.tensors[index].type.shape

    def apply(
        self, op: Operator, inputs: tuple[int, ...], shape: tuple[int, ...], scale: float = _SCALE, zero: int = 0
    ) -> int:
        """A further operator; returns the index of its output."""
        output = self.tensor(shape, scale=scale, zero=zero)
        self.nodes.append(Node(op, inputs, (output,), len(self.nodes)))
        return output

    def conv(self, source: int, channels: int, size: int) -> int:
        """A convolution of stride 1."""
        batch, height, width, depth = self.shape(source)
        weights = self.weights((channels, size, size, depth))
        op = Conv2D(padding=Padding.SAME)
        return self.apply(op, (source, weights, self.bias(channels)), (batch, height, width, channels))

    def depthwise(self, source: int) -> int:
        """A depthwise convolution of 3 rows and 3 columns."""
        depth = self.shape(source)[-1]
        op = DepthwiseConv2D(padding=Padding.SAME)
        return self.apply(op, (source, self.weights((1, 3, 3, depth)), self.bias(depth)), self.shape(source))

    def add(self, first: int, second: int) -> int:
        """A sum, with a scale of its own."""
        return self.apply(Add(), (first, second), self.shape(first), _SCALE + 0.0001 * (len(self.nodes) % 97))

    def weights(self, shape: tuple[int, ...]) -> int:
        """Seeded weights."""
        rng = np.random.default_rng(len(self.tensors))
        return self.tensor(shape, rng.integers(-127, 128, shape).astype(np.int8), scale=0.004)

    def bias(self, channels: int) -> int:
        """A bias of zeros."""
        return self.tensor((channels,), np.zeros(channels, np.int32), DType.S32, _SCALE * 0.004)

    def graph(self, name: str, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Graph:
        """The verified graph."""
        return verify(Graph(name, name, tuple(self.tensors), tuple(self.nodes), inputs, outputs))


def chain(operators: int, rows: int) -> Graph:
    """Convolutions one after another."""
    network = _Network()
    first = last = network.tensor((1, rows, 4, 4))
    for number in range(operators):
        last = network.conv(last, 4 + 4 * (number % 3), 1) if number % 2 else network.depthwise(last)
    return network.graph(f"chain_{operators}_{rows}", (first,), (last,))


def branches(blocks: int, rows: int) -> Graph:
    """Blocks of four branches that are joined, as of Inception."""
    network = _Network()
    first = last = network.tensor((1, rows, 4, 8))
    for _ in range(blocks):
        ends = [
            network.conv(last, 2, 1),
            network.conv(network.conv(last, 3, 1), 4, 3),
            network.conv(network.conv(network.conv(last, 2, 1), 3, 3), 3, 3),
            network.conv(network.depthwise(last), 1, 1),
        ]
        depth = sum(network.shape(end)[-1] for end in ends)
        last = network.apply(Concatenation(axis=3), tuple(ends), (1, rows, 4, depth))
    return network.graph(f"branches_{len(network.nodes)}_{rows}", (first,), (last,))


def residuals(operators: int, rows: int, reach: int) -> Graph:
    """Sums of what was made last and of what was made before, all with scales of their own."""
    network = _Network()
    first = network.tensor((1, rows, 4, 4))
    made = [first, network.conv(first, 4, 3)]
    for number in range(operators // 2):
        made.append(network.depthwise(made[-1]))
        made.append(network.add(made[-1], made[max(0, len(made) - 2 - number % reach)]))
    return network.graph(f"residuals_{len(network.nodes)}_{rows}_{reach}", (first,), (made[-1],))


def conformer(blocks: int, frames: int) -> Graph:
    """Attention over frames, which reads all of them for each, and convolutions along them."""
    network = _Network()
    first = last = network.tensor((1, frames, 1, 16))
    for _ in range(blocks):
        for _ in range(2):
            last = network.add(network.conv(network.conv(last, 32, 1), 16, 1), last)
        query, key, value = (network.apply(Reshape(), (network.conv(last, 8, 1),), (1, frames, 8)) for _ in range(3))
        scores = network.apply(BatchMatmul(adj_y=True), (query, key), (1, frames, frames))
        shares = network.apply(Softmax(), (scores,), (1, frames, frames), 1 / 256, -128)
        mixed = network.apply(BatchMatmul(), (shares, value), (1, frames, 8))
        joined = network.conv(network.apply(Reshape(), (mixed,), (1, frames, 1, 8)), 16, 1)
        last = network.add(joined, last)
        last = network.add(network.conv(network.depthwise(last), 16, 1), last)
    return network.graph(f"conformer_{len(network.nodes)}_{frames}", (first,), (last,))


GRAPHS: Mapping[str, Callable[[], Graph]] = {
    "chain_200_150": lambda: chain(200, 150),
    "chain_2000_16": lambda: chain(2000, 16),
    "chain_2000_500": lambda: chain(2000, 500),
    "branches_300_20": lambda: branches(30, 20),
    "branches_1200_20": lambda: branches(120, 20),
    "branches_2000_16": lambda: branches(220, 16),
    "branches_2000_500": lambda: branches(200, 500),
    "residuals_200_20": lambda: residuals(200, 20, 7),
    "residuals_1200_20": lambda: residuals(1200, 20, 30),
    "residuals_2000_16": lambda: residuals(2000, 16, 200),
    "residuals_2000_499": lambda: residuals(2000, 499, 7),
    "conformer_140_256": lambda: conformer(7, 256),
    "conformer_140_2048": lambda: conformer(7, 2048),
    "layer_1000000": lambda: chain(1, 1_000_000),
    "layers_4_250000": lambda: chain(4, 250_000),
}
"""By name, with operators and rows."""


def main() -> None:
    """Plan, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", metavar="NAME", help=f"which: {', '.join(GRAPHS)}")
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    parser.add_argument("--one", action="store_true", help="in this process, as one line of JSON")
    arguments = parser.parse_args()
    names = arguments.graphs or list(GRAPHS)
    if arguments.one:
        print(json.dumps(_planned(names[0])))
        return
    rows = [_in_a_process(name) for name in names]
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()))
    Console(width=150).print(table)


def _in_a_process(name: str) -> dict[str, object]:
    command = [sys.executable, __file__, "--one", name]
    found: dict[str, object] = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    return found


def _planned(name: str) -> dict[str, object]:
    """What planning costs: making the graph is left out, start-up is not."""
    startup = time.process_time()
    graph = GRAPHS[name]()
    began = time.process_time()
    plan = kibi.plan(graph, target="cortex-m4")
    planned = time.process_time()
    validate(graph, plan)
    validated = time.process_time()
    return {
        "graph": name,
        "operators": len(graph.nodes),
        "steps": row_work(graph)[0],
        "arena": plan.arena_bytes,
        "bound": plan.least_bytes,
        "start": round(startup, 2),
        "plan": round(planned - began, 2),
        "validate": round(validated - planned, 2),
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "limited": plan.limited,
    }


if __name__ == "__main__":
    main()
