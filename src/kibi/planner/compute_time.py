"""An estimate of the time that nodes compute, for choices between computing and reading: it needs no compiler and no emulator.

Cycles are a sum of three products: multiply-accumulates, bytes of input rows that steps read, and steps. The factors were fitted
by least squares to the cycles that `kibi measure` estimates for the nodes of three MLPerf models and person detection, some of them
divided by channels. All nodes together differ from these by 5 % with DSP instructions and by up to 13 % without.
"""

from dataclasses import dataclass

from kibi.ir import Graph, NodeView
from kibi.targets import Target

_CLOCK_HZ = 100_000_000
"""The clock of a target that names none."""


@dataclass(frozen=True, slots=True)
class _Cycles:
    """Cycles of each multiply-accumulate, of each byte that a step reads, and of each step."""

    mac: float
    byte: float
    step: float

    def of(self, view: NodeView) -> float:
        """Returns the cycles of a node; 0 for one that fills a window."""
        if view.op.fetches or view.op.waits:
            return 0.0
        read = zip(view.own.row_tensors, view.own.accesses, strict=True)
        step_bytes = sum(
            access.count * access.taken(tensor.type.row_elements)[1] * tensor.type.dtype.size_bytes
            for tensor, access in read
        )
        return self.mac * view.op.macs(view) + (self.byte * step_bytes + self.step) * view.steps


_WITH_DSP = _Cycles(1.3, 5.3, 600)
_CYCLES = {
    "armv7em": _WITH_DSP,
    "armv7m": _Cycles(4.1, 18, 135),
    "armv6m": _Cycles(5.8, 23, 480),
    "riscv": _Cycles(3.1, 9.3, 84),
}
"""By the name of the target's best kernel set, that of RISC-V from Hazard3; others are taken to have DSP instructions."""


def node_seconds(graph: Graph, target: Target) -> tuple[float, ...]:
    """Returns for each node of a graph about how long it computes at the clock of the target."""
    cycles, clock = _CYCLES.get(target.kernel_sets[0], _WITH_DSP), target.clock_hz or _CLOCK_HZ
    return tuple(cycles.of(view) / clock for view in graph.views)
