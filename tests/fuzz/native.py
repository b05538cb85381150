"""Mutated models as C under sanitizers, many in one program; the bits are those of the Python engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import kibi
from kibi.dtypes import Array
from kibi.ir import Graph
from kibi.planner import Plan
from kibi.runtime import Interpreter, seeded_inputs
from kibi.selection import Goal
from tests.fuzz.checks import BrokenPromiseError, is_small, load, same_bits
from tests.ops.batch import Batch


@dataclass(frozen=True, slots=True)
class NativeCase:
    """A model that loads and is small, with inputs and what Python computes."""

    graph: Graph
    plan: Plan
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


def processor_for(goal: Goal) -> str:
    """Whose kernels run: for speed the plain twins of a core's own."""
    return "cortex-m4" if goal is Goal.SPEED else "host"


def prepared(data: bytes, rng: np.random.Generator, goal: Goal) -> NativeCase | None:
    """A mutated model as far as Python takes it; None where it is refused, large, or ends early."""
    graph = load(data)
    if graph is None or not is_small(graph):
        return None
    chosen = kibi.simplify(graph) if rng.random() < 0.5 else graph
    granularity = "row" if rng.random() < 0.7 else "tensor"
    plan = kibi.plan(chosen, processor_for(goal), granularity=granularity, goal=goal.value)
    inputs = seeded_inputs(chosen, int(rng.integers(1 << 16)))
    outputs = Interpreter(chosen, plan).run(inputs)
    return NativeCase(chosen, plan, tuple(inputs), tuple(outputs)) if outputs else None


def check_batch(cases: Sequence[NativeCase], folder: Path, goal: Goal) -> None:
    """Compile all cases into one program under sanitizers, run it, and compare.

    Raises:
        BrokenPromiseError: a sanitizer stopped the program, or bits differ.
        KibiError: the C does not compile.
    """
    batch = Batch(
        [case.graph for case in cases], [case.plan for case in cases], folder,
        compiler="gcc", level="0", sanitize=True, processor=processor_for(goal),
    )  # fmt: skip
    try:
        outcomes = batch.run([case.inputs for case in cases])
    except AssertionError as error:
        raise BrokenPromiseError(f"the program did not end well: {error}") from error
    for number, (case, outcome) in enumerate(zip(cases, outcomes, strict=True)):
        for run in outcome.outputs:
            if not same_bits(list(run), list(case.outputs)):
                raise BrokenPromiseError(f"model {number} of the batch gives other bits in C than in Python")
