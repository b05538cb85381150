"""Runs a graph on many inputs, and gives the elements of any of its tensors: as a plan file, by a core in C in this process.

A core holds kernels and no model. So a model with other scales or weights runs at once, without a compiler.
"""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kibi.dtypes import Array
from kibi.engines.batch import BatchEngine
from kibi.engines.core import CoreEngine, core_library
from kibi.errors import InputError
from kibi.ir import Graph
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import Granularity, PlannedModel, plan
from kibi.targets import target

_cores: dict[frozenset[str], ctypes.CDLL] = {}
"""The cores of this process, by their kernels."""


class GraphRunner:
    """A graph on this machine.

    Args:
        graph: the model.
        wanted: the indices of tensors, which are made by its nodes, whose elements are asked for.

    Raises:
        ToolchainError: the compiler is missing or fails.
    """

    def __init__(self, graph: Graph, wanted: Sequence[int]) -> None:
        self._wanted = tuple(wanted)
        shown = replace(graph, outputs=tuple(dict.fromkeys((*wanted, *graph.outputs))))
        planned = PlannedModel.of(shown, plan(shown, target("host"), granularity=Granularity.TENSOR))
        self._engine: CoreEngine | BatchEngine
        try:
            file = PlanFile(plan_file(planned, with_names=False))
        except InputError:  # an operator of the user's, whose kernel no core has
            self._engine = BatchEngine(planned.graph, planned.plan, workers=1)
        else:
            self._engine = CoreEngine(file, library=_core(file.kernels))

    def run(self, inputs: Sequence[Array], *, keep_state: bool = False) -> tuple[Array, ...]:
        """The elements of the wanted tensors after one inference.

        Args:
            inputs: one array for each model input, of its shape and type.
            keep_state: True if variables keep the values of the inference before.
        """
        if not keep_state:
            self._engine.reset()
        return tuple(self._engine.run(inputs)[: len(self._wanted)])

    def run_all(self, rows: Sequence[Sequence[Array]], *, keep_state: bool = False) -> Iterator[tuple[Array, ...]]:
        """Yields what `run` gives, for each of several inputs."""
        for number, inputs in enumerate(rows):
            yield self.run(inputs, keep_state=keep_state and number > 0)


def _core(kernels: Sequence[str]) -> ctypes.CDLL:
    """A core that has these kernels: one of this process, or a new one, which has those of the others, too."""
    needed = frozenset(kernels)
    found = next((core for names, core in _cores.items() if needed <= names), None)
    if found is None:
        every = needed.union(*_cores)
        found = _cores[every] = core_library(tuple(sorted(every)))
    return found
