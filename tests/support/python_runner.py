"""Runs the graphs of a quantization in Python, so that small ones need no compiler."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

from kibi.dtypes import Array
from kibi.ir import Graph
from kibi.ir.evaluation import evaluator
from kibi.planner import Granularity, plan
from kibi.runtime import Interpreter
from kibi.targets import target

_USERS = ("calibration", "improving", "loss", "noise")
"""The modules of `kibi.quantization` that run graphs."""


class PythonRunner:
    """What `GraphRunner` does, by the references."""

    def __init__(self, graph: Graph, wanted: Sequence[int]) -> None:
        self._count = len(wanted)
        self._shown = replace(graph, outputs=tuple(dict.fromkeys((*wanted, *graph.outputs))))

    def run_all(self, rows: Sequence[Sequence[Array]], *, keep_state: bool = False) -> Iterator[tuple[Array, ...]]:
        """Yields the wanted elements for each input."""
        if not self._shown.variables:
            run = evaluator(self._shown)
            for inputs in rows:
                yield tuple(run(inputs)[: self._count])
            return
        made = plan(self._shown, target("host"), granularity=Granularity.TENSOR)
        interpreter = Interpreter(self._shown, made)
        for inputs in rows:
            if not keep_state:
                interpreter = Interpreter(self._shown, made)
            yield tuple(interpreter.run(list(inputs))[: self._count])


@contextmanager
def without_compiler() -> Iterator[None]:
    """Graphs run in Python inside of this block."""
    patches = [patch(f"kibi.quantization.{name}.GraphRunner", PythonRunner) for name in _USERS]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()
