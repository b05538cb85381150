"""A comparison of all engines on the same inputs, bit by bit, down to the first operator that differs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kibi.codegen import generate, write
from kibi.dtypes import Array
from kibi.eager.memory.blocks import whole_number
from kibi.engines import DeviceEngine, Engine, HostEngine
from kibi.engines.ways import native_ways
from kibi.errors import OracleError
from kibi.files import temporary_folder
from kibi.frontends.model_file import read_model
from kibi.ir import Graph, counted_graphs
from kibi.ops import is_custom
from kibi.passes import expose_intermediates
from kibi.planner import Granularity, PlannedModel
from kibi.planner import plan as make_plan
from kibi.planner.plan import Plan
from kibi.qemu import missing_qemu
from kibi.reports.branches import not_executed
from kibi.reports.measurement import same_bits
from kibi.runtime import Interpreter, seeded_inputs
from kibi.targets import Runner, Target, target
from kibi.tflm import Oracle, available
from kibi.tflm.litert import has_litert, litert_outputs

_UNSIMPLIFIED = "Python, without passes"


@dataclass(frozen=True, slots=True)
class Difference:
    """The first operator at which an engine differs from the Python runtime.

    Attributes:
        engine: the engine.
        run: number of the run.
        operator: index in the model file; None where all operators agree one by one and only the planned layout differs, or
            what passes made of the model.
        op, tensor: the operator's name and its output's; of no operator, what differs.
        elements: how many elements differ.
        total: how many elements there are.
        largest: the largest difference.
    """

    engine: str
    run: int
    operator: int | None
    op: str
    tensor: str
    elements: int
    total: int
    largest: float

    def __str__(self) -> str:
        where = f"operator {self.operator} ({self.op})" if self.operator is not None else self.op
        count = f"{self.elements} of {self.total} elements differ, by at most {self.largest:g}"
        return f"{self.engine}, run {self.run}: {where}, tensor {self.tensor!r}: {count}"


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """How the outputs of another interpreter differ, which is no measure: it computes with kernels of its own.

    Attributes:
        engine: its name.
        runs: inputs for which an element differs.
        elements: how many elements of all outputs differ.
        total: how many elements there are.
        largest: the largest difference of stored elements.
    """

    engine: str
    runs: int
    elements: int
    total: int
    largest: float


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a comparison of engines.

    Attributes:
        model, target: the names of the model and the target.
        runs: inputs that were tried.
        engines: the engines that were compared with the Python runtime.
        skipped: engines that were not compared, each with the reason.
        differences: at most one for each engine.
        not_executed: graphs inside of operators that no input reached, so that nothing was compared of them.
        oracle_failure: how TFLM's build failed on this model, which does not concern Kibi's results; None if it did not.
        litert: how LiteRT's outputs differ from TFLM's, where both are installed and run the model; else None.
    """

    model: str
    target: str
    runs: int
    engines: tuple[str, ...]
    skipped: tuple[str, ...]
    differences: tuple[Difference, ...]
    not_executed: tuple[str, ...] = ()
    oracle_failure: str | None = None
    litert: Elsewhere | None = None

    @property
    def is_exact(self) -> bool:
        """True if all engines gave the same bits."""
        return not self.differences

    def to_dict(self) -> dict[str, Any]:
        """Returns the facts as plain data, for JSON."""
        return {**asdict(self), "bit_exact": self.is_exact}


def verify(
    graph: Graph,
    plan: Plan | None,
    device: Target,
    *,
    inputs: Sequence[Sequence[Array]] = (),
    seed: int = 0,
    runs: int = 3,
    compiler: str = "zig",
    original: Graph | None = None,
    oracle: bool = True,
    litert: bool = False,
) -> Verification:
    """Compares host C, the emulated device and TFLM with the Python runtime.

    Args:
        graph: the model.
        plan: its plan for the device; None: the default one.
        device: the target to emulate; the host: none. Where QEMU alone runs it and is missing, it is skipped, and C on this
            machine runs the portable twins of its kernels.
        inputs: runs to try; none: `runs` random ones from `seed`.
        seed: the seed of the random inputs.
        runs: how many random inputs.
        compiler: for the device.
        original: the graph before passes that keep the bits; None: there were none.
        oracle: True to compare with TFLM, which is native code that does not check the model as Kibi does.
        litert: True to say how LiteRT's outputs differ, where it is installed and TFLM ran.

    Raises:
        InputError: an input does not fit, or seed or runs are no such numbers.
    """
    first, count = whole_number(seed, "the seed", least=0), whole_number(runs, "the number of runs")
    tried = [list(run) for run in inputs] or [seeded_inputs(graph, first + number) for number in range(count)]
    planned = plan or make_plan(graph, device)
    interpreter = Interpreter(
        graph, planned
    )  # one for all runs: what a model remembers it carries over, here and below
    with counted_graphs() as executed:
        expected = [interpreter.run(run) for run in tried]
    made = _Compared()
    source, source_plan = graph, planned
    if original is not None and original != graph:
        source, source_plan = original, make_plan(original, target("host"), granularity=Granularity.TENSOR)
    with temporary_folder() as folder:
        made.add("host C", _compare_c(graph, planned, target("host"), tried, expected, folder / "host", compiler))
        if source is not graph:
            made.add(_UNSIMPLIFIED, _compare_passes(source, source_plan, tried, expected))
        missing = missing_qemu(device)
        if missing:
            made.skipped.append(f"{device.name}: {missing}")
        elif not device.is_host:
            made.add(device.name, _compare_c(graph, planned, device, tried, expected, folder / "device", compiler))
    made.add_tflm(source, source_plan, tried, expected, oracle=oracle, litert=litert)
    return Verification(
        model=graph.name,
        target=device.name,
        runs=len(tried),
        engines=tuple(made.engines),
        skipped=tuple(made.skipped),
        differences=tuple(made.differences),
        not_executed=not_executed(graph, executed),
        oracle_failure=made.failure,
        litert=made.litert,
    )


@dataclass(slots=True)
class _Compared:
    """What has been compared so far; the fields are those of a verification."""

    engines: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    failure: str | None = None
    litert: Elsewhere | None = None

    def add(self, engine: str, difference: Difference | None) -> None:
        """An engine that was compared."""
        self.engines.append(engine)
        self.differences += [difference] if difference else []

    def add_tflm(
        self,
        graph: Graph,
        plan: Plan,
        inputs: Sequence[list[Array]],
        expected: Sequence[list[Array]],
        *,
        oracle: bool,
        litert: bool,
    ) -> None:
        """Compares with TFLM where that can be, and then with LiteRT."""
        reason = _why_not_tflm(graph) if oracle else "left out, as asked for"
        if reason:
            self.skipped.append(f"tflm: {reason}")
            return
        try:
            self.add("tflm", _compare_tflm(graph, plan, inputs, expected))
        except OracleError as error:
            self.failure = str(error)
            self.skipped.append(f"tflm: {self.failure.splitlines()[0]}")
            return
        if litert and has_litert():
            try:
                self.litert = _litert(graph, inputs, expected)
            except OracleError as error:
                self.skipped.append(f"LiteRT: {error}")


def _why_not_tflm(graph: Graph) -> str:
    """Why TFLM is left out; empty if it can run the model."""
    custom = ", ".join(dict.fromkeys(node.op.name for node in graph.nodes if is_custom(node.op)))
    if custom:
        return f"it does not have the custom operators {custom}"
    if graph.path is None and graph.signature is not None:
        return f"it runs the first graph of a file, not signature {graph.signature.key!r}"
    if graph.path is None:
        return "the graph has no file"
    return "" if available() else "not installed (pip install 'kibi[tflm]')"


def _engine(graph: Graph, plan: Plan, device: Target, folder: Path, compiler: str) -> Engine:
    library = write(generate([PlannedModel.of(graph, plan)], device), folder)
    if device.is_host:
        return HostEngine(library)
    # A machine of the target's own kind runs the program itself.
    ways = native_ways() if device.runner is Runner.QEMU_USER else None
    return DeviceEngine(library, compiler=compiler, ways=ways)


def _compare_c(
    graph: Graph,
    plan: Plan,
    device: Target,
    inputs: Sequence[list[Array]],
    expected: Sequence[list[Array]],
    folder: Path,
    compiler: str,
) -> Difference | None:
    engine = _engine(graph, plan, device, folder, compiler)
    label = "host C" if device.is_host else device.name
    for number, (run, outputs) in enumerate(zip(inputs, expected, strict=True)):
        found = engine.run(run)
        if same_bits(found, outputs):
            continue
        # Once more with every tensor in view: which operator is the first?
        exposed = expose_intermediates(graph)
        wide = make_plan(exposed, device)
        shown = _engine(exposed, wide, device, folder.with_suffix(".exposed"), compiler)
        tensors = [shown.run(each) for each in inputs[: number + 1]][-1]
        pairs = dict(zip(exposed.outputs, tensors, strict=bool(tensors)))
        observed = list(_observed(graph, plan, inputs[: number + 1]))[-1]
        first = _first_difference(label, number, graph, pairs, observed)
        return first or layout_difference(label, number, graph, found, outputs)
    return None


def _compare_passes(
    original: Graph, plan: Plan, inputs: Sequence[list[Array]], expected: Sequence[list[Array]]
) -> Difference | None:
    """Compares the outputs before and after the passes."""
    interpreter = Interpreter(original, plan)
    for number, (run, outputs) in enumerate(zip(inputs, expected, strict=True)):
        found = interpreter.run(run)
        difference = layout_difference(_UNSIMPLIFIED, number, original, found, outputs, "what the passes left out")
        if difference:
            return difference
    return None


def _compare_tflm(
    graph: Graph, plan: Plan, inputs: Sequence[list[Array]], expected: Sequence[list[Array]]
) -> Difference | None:
    """Compares with TFLM each tensor of the loaded graph, and the outputs of the model that ran."""
    if graph.path is None:
        return None
    with Oracle() as tflm:
        results = tflm.run(graph.path, inputs, intermediates=True)
    for number, (observed, result) in enumerate(zip(_observed(graph, plan, inputs), results, strict=True)):
        found = {index: np.asarray(value) for index, value in result.tensors.items()}
        found |= dict(zip(graph.outputs, result.outputs, strict=True))
        first = _first_difference("tflm", number, graph, found, observed)
        outputs = [np.asarray(output) for output in result.outputs]
        if expected[number]:  # else an operator ended the inference, and TFLM's outputs mean nothing
            first = first or layout_difference("tflm", number, graph, outputs, expected[number])
        if first:
            return first
    return None


def _litert(graph: Graph, inputs: Sequence[list[Array]], expected: Sequence[list[Array]]) -> Elsewhere | None:
    """How LiteRT's outputs differ; None where they have other shapes or types.

    Raises:
        OracleError: LiteRT does not run the model.
    """
    if graph.path is None:
        return None
    found = litert_outputs(read_model(graph.path), inputs)
    pairs = [pair for run, outputs in zip(expected, found, strict=True) for pair in zip(run, outputs, strict=False)]
    if any((made.shape, made.dtype) != (other.shape, other.dtype) for made, other in pairs):
        return None
    counted = [_counts(other, made) for made, other in pairs]
    runs = sum(
        any(made.tobytes() != other.tobytes() for made, other in zip(run, outputs, strict=False))
        for run, outputs in zip(expected, found, strict=True)
    )
    largest = max((distance for _, _, distance in counted), default=0.0)
    return Elsewhere("LiteRT", runs, sum(n for n, _, _ in counted), sum(n for _, n, _ in counted), largest)


def _observed(graph: Graph, plan: Plan, runs: Sequence[list[Array]]) -> Iterator[dict[int, Array]]:
    """Yields all computed tensors of each run of the Python runtime, one run after another."""
    interpreter = Interpreter(graph, plan)
    for inputs in runs:
        seen: dict[int, Array] = {}
        interpreter.run(inputs, lambda index, array, seen=seen: seen.update({index: array}))  # type: ignore[misc]
        yield seen


def _first_difference(
    engine: str, run: int, graph: Graph, found: dict[int, Array], expected: dict[int, Array]
) -> Difference | None:
    for view, made in ((each, made) for each in graph.views for made in each.outputs):
        index = made.index
        # A pass that removes channels leaves a tensor of another size than the file's.
        if index not in found or index not in expected or found[index].size != expected[index].size:
            continue
        if found[index].tobytes() != expected[index].tobytes():
            counted = _counts(found[index], expected[index])
            return Difference(engine, run, view.node.source, view.op.name, made.name, *counted)
    return None


def layout_difference(
    engine: str,
    run: int,
    graph: Graph,
    found: Sequence[Array],
    expected: Sequence[Array],
    what: str = "the planned layout",
) -> Difference | None:
    """Returns how the outputs of a run differ; None if they are the same, or there are none.

    Args:
        engine: the engine.
        run: number of the run.
        graph: the model.
        found: the outputs of the engine.
        expected: those of the Python runtime.
        what: the part that differs, for the text.
    """
    pairs: Iterator[tuple[int, Array, Array]] = zip(graph.outputs, found, expected, strict=True)
    for index, first, second in pairs:
        if first.tobytes() != second.tobytes():
            return Difference(engine, run, None, what, graph.tensors[index].name, *_counts(first, second))
    return None


def _counts(found: Array, expected: Array) -> tuple[int, int, float]:
    a, b = found.reshape(-1).astype(np.float64), expected.reshape(-1).astype(np.float64)
    distance = np.abs(a - b)
    return int(np.count_nonzero(a != b)), a.size, float(np.nanmax(distance)) if a.size else 0.0
