"""What is done with a mutated model that loads, and what must hold."""

import json
from xml.etree import ElementTree as ET

import numpy as np

import kibi
from kibi.codegen import generate
from kibi.dtypes import Array
from kibi.errors import InternalError, KibiError, ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from kibi.passes import simplify
from kibi.planner import Plan, PlannedModel, validate
from kibi.reports.inspection import inspect, passes_record
from kibi.reports.memory_svg import memory_svg
from kibi.runtime import Interpreter, seeded_inputs

MOST_MACS = 2_000_000
MOST_BYTES = 1_000_000
MOST_STEPS = 1 << 14
"""A sound model may take long and much; a case that has more than this to compute or to keep is loaded and planned, not run."""
_LONGEST_ERROR = 64 * 1024
_TARGETS = ("cortex-m4", "cortex-m0plus", "cortex-m3", "host")


class BrokenPromiseError(Exception):
    """Something came to an end that should not have, or came out wrong."""


def load(data: bytes) -> Graph | None:
    """The graph of a file; None where it is refused as it should be."""
    try:
        return parse_tflite(data, "mutated.tflite")
    except InternalError:
        raise
    except KibiError as error:
        if not isinstance(error, ModelError):
            raise BrokenPromiseError(f"load raised {type(error).__name__}, not ModelError: {error}") from error
        if len(str(error)) > _LONGEST_ERROR:
            raise BrokenPromiseError(f"an error of {len(str(error))} characters") from error
        if "the schema's reader failed" in str(error):
            raise BrokenPromiseError("the schema's reader was let near a position that was not checked") from error
        return None


def is_small(graph: Graph) -> bool:
    """Whether a graph can be run in a moment."""
    sizes = [tensor.type.size_bytes for tensor in graph.tensors]
    is_short = graph.macs < MOST_MACS and sum(view.steps for view in graph.views) < MOST_STEPS
    return sum(sizes) < MOST_BYTES and is_short and _loops(graph) == 0


def _loops(graph: Graph) -> int:
    return sum(view.op.name == "WHILE" for view in graph.views)


def explore(graph: Graph, rng: np.random.Generator) -> None:
    """Inspects, simplifies, plans, validates, draws and writes; runs what is small, in two plans, and compares the bits."""
    json.dumps(inspect(graph).to_dict())
    simplified = simplify(graph)
    json.dumps(passes_record(simplified))
    target = kibi.target(_TARGETS[int(rng.integers(len(_TARGETS)))])
    rows = _checked_plan(simplified.graph, target)
    ET.fromstring(memory_svg(PlannedModel.of(simplified.graph, rows)))  # noqa: S314 - our own picture, of a size that is known
    library = generate([PlannedModel.of(simplified.graph, rows)], target)
    for name, text in library.files.items():
        if name.endswith(".json"):
            json.loads(text)
    if is_small(graph):
        _compare_bits(graph, simplified.graph, rows, rng)


def _checked_plan(graph: Graph, target: kibi.Target) -> Plan:
    plan = kibi.plan(graph, target)
    validate(graph, plan)
    if plan.arena_bytes < plan.lower_bound_bytes:
        raise BrokenPromiseError(f"an arena of {plan.arena_bytes} bytes below its bound of {plan.lower_bound_bytes}")
    again = Plan.from_json(plan.to_json())
    if again.to_json() != plan.to_json():
        raise BrokenPromiseError("a plan changes where it is saved and read")
    return plan


def _compare_bits(graph: Graph, simplified: Graph, rows: Plan, rng: np.random.Generator) -> None:
    """The raw graph by the tensor and the simplified graph by the row give the same bits."""
    inputs = seeded_inputs(graph, int(rng.integers(1 << 16)))
    whole = kibi.plan(graph, rows.target, granularity="tensor")
    validate(graph, whole)
    first, second = Interpreter(graph, whole).run(inputs), Interpreter(simplified, rows).run(inputs)
    if not same_bits(first, second):
        raise BrokenPromiseError(
            "a simplified model planned by the row gives other bits than the file planned by the tensor"
        )


def same_bits(first: list[Array], second: list[Array]) -> bool:
    """Whether two engines gave the same arrays; NaNs are equal whatever their bits."""
    return len(first) == len(second) and all(_equal(a, b) for a, b in zip(first, second, strict=True))


def _equal(a: Array, b: Array) -> bool:
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return False
    return a.tobytes() == b.tobytes() or (a.dtype.kind == "f" and np.array_equal(a, b, equal_nan=True))


def is_too_little_memory(error: BaseException) -> bool:
    """Whether an error of Kibi's only reports that memory ran out, which within the limit of a case is a finding."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, MemoryError):
            return True
        seen = seen.__cause__ or seen.__context__
    return False
