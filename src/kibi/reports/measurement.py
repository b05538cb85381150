"""Measures the costs of a model on a device by running it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from kibi.codegen import CompiledModel, Library
from kibi.codegen.emit_context import PLAN_TABLE_PREFIX
from kibi.dtypes import Array
from kibi.eager.handlers import Handler
from kibi.eager.memory.blocks import whole_number
from kibi.emulator import Call, Spent, Stalls
from kibi.engines import DeviceEngine
from kibi.errors import InputError, MismatchError, OracleError
from kibi.ir import counted_graphs
from kibi.ops import is_custom
from kibi.planner.slow_weights import Fetches
from kibi.reports.branches import not_executed, usual_runs
from kibi.reports.checkpoint_costs import CheckpointCost, checkpoint_cost
from kibi.reports.fetches import fetches_of
from kibi.reports.slices import LongestStep, longest_step
from kibi.runtime import Interpreter, seeded_inputs
from kibi.targets import Memory, Target
from kibi.text.notebook import facts_table, rows_table, titled
from kibi.toolchain import Image

_MOST_RUNS = 64
"""Inferences after which no more are waited for that give outputs."""
_BEATS = 4
"""The beats of a vector instruction: one for each 32 bits of a vector."""


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """The costs of one operator, with its name and that of its output tensor.

    Attributes:
        name: its output tensor.
        op: its kind.
        macs: multiply-accumulates.
        instructions: of its function, with all that it calls.
        scratch_bytes: of the arena, while it runs.
        cycles_estimate: cycles of its function, with all that it calls; None if there is no table for the core.
        stalls: those of these cycles that the core waits for its flash, by cause; None where there is no table, either.
    """

    name: str
    op: str
    macs: int
    instructions: int
    scratch_bytes: int
    cycles_estimate: int | None = None
    stalls: Stalls | None = None


@dataclass(frozen=True, slots=True)
class Waits:
    """The cycles of an inference that the core waits for its flash, and the memory that was modelled.

    Attributes:
        memory: the name of the memory interface.
        wait_states: of a read of the flash, at the clock of the target.
        code_in: `flash` or `ram`.
        code_ram_bytes: RAM that code and its literals take; 0 where they run from flash.
        stalls: the cycles by cause: instructions, literals, and other constants.
    """

    memory: str
    wait_states: int
    code_in: str
    code_ram_bytes: int
    stalls: Stalls


@dataclass(frozen=True, slots=True)
class Measurement:
    """The costs of one inference, after a warm-up. The field names are a contract with other tools.

    Where several inputs were tried, instructions, cycles and stack are each the most that one of them took. They hold for these
    inputs: where elements choose what runs, others may take more.

    Attributes:
        model, target: the names of the model and the target.
        macs: multiply-accumulates.
        arena_bytes, state_bytes, stack_bytes: RAM, each exact; the stack by its high-water mark.
        ram_bytes: their sum, plus initialized and zeroed data of the code, and the code itself where it runs from RAM.
        code_bytes: flash for text and constants other than weights.
        plan_table_bytes: of these, the plan's tables: the order of row steps, and the offsets of rows that no formula gives.
        weights_bytes: flash for filters, biases, multipliers, shifts, tables, and the rows that stand outside of inputs.
        flash_bytes: their sum.
        instructions: of one inference; one that the condition of an IT block skips counts, too.
        cycles_estimate: cycles by published tables, with those of `waits`; None if there is no table for the core.
        calls_instructions, calls_cycles_estimate: the part of them outside of operators: the order, and the calls of operators.
            With those of `ops`, they add up to `instructions` and to `cycles_estimate`.
        bit_exact: True if the device's outputs equal the Python runtime's.
        oracle: "tflm" where the outputs were compared with TensorFlow Lite Micro's and are equal; else None.
        ops: each operator's cost: instructions for the input that took the most of them, cycles for the one that took the most.
        seeds: the seeds of the inputs that were tried.
        varies_with_inputs: True if instructions or stack were not the same for all of them.
        instructions_min, stack_bytes_min: the least that one of them took.
        not_executed: graphs inside of operators that none of them reached, so that nothing here is known of them.
        oracle_failure: how TFLM's build failed on this model, which does not concern Kibi's figures; None if it did not.
        longest_step: the row step that takes the most instructions; None for a library without slices.
        checkpoints: what saving and resuming take; None for a library without checkpoints.
        fetches: what an inference fetches from slow memory, which is not part of flash; None where weights are constants.
            Instructions and cycles count a function that copies these bytes from a constant; waiting for a memory is not in them.
            The time that passes while kernels run follows from these cycles and the bandwidth.
        waits: the cycles that the core waits for its flash; None where it was taken to have no wait states.
        vector_instructions: how many of the instructions are of vectors; 0 on a core without any.
        beats: the beats of these: an instruction of Arm's vectors has four, whatever lanes are left out. A core executes one or two
            in a cycle.
        counter: what `instructions` and their like count: `instructions`; `fuel`, which wasmtime counts, of WebAssembly; or
            nothing, where they are 0. Fuel is not told by operator.
        linear_memory_bytes: the memory of a WebAssembly module, in whole pages; None elsewhere.
    """

    model: str
    target: str
    macs: int
    arena_bytes: int
    state_bytes: int
    stack_bytes: int
    ram_bytes: int
    code_bytes: int
    plan_table_bytes: int
    weights_bytes: int
    flash_bytes: int
    instructions: int
    cycles_estimate: int | None
    calls_instructions: int
    calls_cycles_estimate: int | None
    bit_exact: bool
    oracle: str | None
    ops: tuple[OperatorCost, ...]
    seeds: tuple[int, ...]
    varies_with_inputs: bool
    instructions_min: int
    stack_bytes_min: int
    not_executed: tuple[str, ...]
    oracle_failure: str | None = None
    longest_step: LongestStep | None = None
    checkpoints: CheckpointCost | None = None
    fetches: Fetches | None = None
    waits: Waits | None = None
    vector_instructions: int = 0
    beats: int = 0
    counter: str = "instructions"
    linear_memory_bytes: int | None = None

    @property
    def is_by_operator(self) -> bool:
        """True if each operator's instructions were counted."""
        return self.counter == "instructions"

    def __repr__(self) -> str:
        return (
            f"<Measurement of {self.model} on {self.target}: RAM {self.ram_bytes:,}, flash {self.flash_bytes:,} bytes, "
            f"{self.instructions:,} {self.counter or 'instructions (nothing counts them)'}>"
        )

    def _repr_html_(self) -> str:
        """The totals and the costs of each operator, for notebooks."""
        parts = f"arena {self.arena_bytes:,} + state {self.state_bytes:,} + stack {self.stack_bytes:,}"
        totals = facts_table(
            [
                ("RAM", f"{self.ram_bytes:,} bytes: {parts}"),
                ("flash", f"{self.flash_bytes:,} bytes: code {self.code_bytes:,} + weights {self.weights_bytes:,}"),
                (self.counter or "not counted", f"{self.instructions:,} for {self.macs:,} MACs"),
                ("same bits", "yes" if self.bit_exact else "no"),
            ]
        )
        rows = [(cost.op, cost.name, cost.macs, cost.instructions, cost.scratch_bytes) for cost in self.ops]
        costs = rows_table(("operator", "output", "MACs", "instructions", "scratch"), rows)
        return titled(f"{self.model} on {self.target}", totals, costs)

    def to_dict(self) -> dict[str, Any]:
        """Returns the facts as plain data, for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Taken:
    """The costs of the last inference with one input: for the model, and in instructions and cycles for each node."""

    call: Call
    nodes: tuple[int, ...]
    spent: tuple[Spent | None, ...]


def measure(
    library: Library,
    *,
    compiler: str = "zig",
    level: str = "s",
    seed: int = 0,
    runs: int | None = None,
    oracle: bool = True,
    handler: Handler | None = None,
    memory: Memory | None = None,
    code_in_ram: bool = False,
) -> Measurement:
    """Runs a library's first model on the emulated core, and compares it with the Python runtime and, where it is installed, TFLM.

    Args:
        library: written to disk, for a target that is emulated.
        compiler: `zig`, `gcc` or `clang`.
        level: `0`, `1`, `2`, `3` or `s`.
        seed: the seed of the first random inputs.
        runs: how many inputs to try, of this seed and the next ones; None: one, or several where inputs choose what runs.
        oracle: True to compare with TFLM where it is installed.
        handler: receives the events of the Python runtime; None: that of the current Context, or nobody.
        memory: how the core reads its flash, at the clock of the library's target; None for a flash without wait states.
        code_in_ram: True if code runs from a RAM without wait states, with its literals; other constants stay in flash.

    Raises:
        InputError: seed or runs are out of range.
        ToolchainError: the compiler is missing or fails.
        EmulationError: the core stopped, or the target is not emulated.
        MismatchError: TFLM's outputs differ.
    """
    model = library.model
    first = whole_number(seed, "the seed", least=0)
    if model.extras.checkpoints and library.target.is_program:
        raise InputError(
            f"checkpoints are measured on emulated cores, and {library.target.name} is none. Leave them out."
        )
    count = usual_runs(model.graph) if runs is None else whole_number(runs, "the number of runs")
    seeds = tuple(range(first, first + count))
    engine = DeviceEngine(library, compiler=compiler, level=level, memory=memory, code_in_ram=code_in_ram)
    interpreter = Interpreter(model.planned.model, model.plan, handler=handler)
    tried: list[tuple[list[Array], list[list[Array]]]] = []
    taken, is_exact = [], True
    with counted_graphs() as executed:
        for each in seeds:
            inputs = seeded_inputs(model.graph, each)
            expected = outputs_of_each(interpreter, inputs)
            outputs = [engine.run(inputs) for _ in expected][-1]
            is_exact = is_exact and same_bits(outputs, expected[-1])
            taken.append(_taken(model, engine))
            tried.append((inputs, expected))
    found = _measurement(library, engine, taken, seeds, is_exact, not_executed(model.graph, executed))
    found = with_waits(
        found, [each.call for each in taken], engine.image, library.target, memory, code_in_ram=code_in_ram
    )
    if model.extras.slices:
        found = replace(found, longest_step=longest_step(engine, model, seed=first, runs=runs))
    if model.extras.checkpoints:
        found = replace(found, checkpoints=checkpoint_cost(library, compiler=compiler, level=level, seed=first))
    if not oracle:
        return found
    try:
        compared = _agrees_with_tflm(model, tried)
    except OracleError as error:  # what was measured stays true
        return replace(found, oracle_failure=str(error))
    return replace(found, oracle="tflm") if compared else found


def with_waits(
    found: Measurement,
    calls: Sequence[Call],
    image: Image,
    target: Target,
    memory: Memory | None,
    *,
    code_in_ram: bool,
) -> Measurement:
    """Adds what the core waited: in the call that took the most cycles."""
    if memory is None or target.timing is None:
        return found
    code_ram_bytes = sum(each.size_bytes for each in image.segments if each.executable) if code_in_ram else 0
    most = max(calls, key=lambda each: each.cycles_estimate or 0)
    waits = Waits(
        memory=memory.name,
        wait_states=memory.wait_states(target.clock_hz),
        code_in="ram" if code_in_ram else "flash",
        code_ram_bytes=code_ram_bytes,
        stalls=most.stalls or Stalls(),
    )
    return replace(found, ram_bytes=found.ram_bytes + code_ram_bytes, waits=waits)


def outputs_of_each(interpreter: Interpreter, inputs: list[Array]) -> list[list[Array]]:
    """Runs a warm-up, then inferences with the same inputs until one gives outputs, because operators may wait for more input."""
    outputs = [interpreter.run(inputs)]
    while len(outputs) < _MOST_RUNS:
        outputs.append(interpreter.run(inputs))
        if outputs[-1]:
            break
    return outputs


def same_bits(first: list[Array], second: list[Array]) -> bool:
    """True if two lists of arrays hold the same bytes."""
    return len(first) == len(second) and all(a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))


def _taken(model: CompiledModel, engine: DeviceEngine) -> _Taken:
    if engine.last is None:
        raise MismatchError("nothing was run")
    nodes = range(len(model.graph.nodes))
    return _Taken(engine.last, tuple(map(engine.instructions_of, nodes)), tuple(map(engine.spent_on, nodes)))


def _measurement(
    library: Library,
    engine: DeviceEngine,
    taken: list[_Taken],
    seeds: tuple[int, ...],
    bit_exact: bool,
    missing: tuple[str, ...],
) -> Measurement:
    model, image = library.model, engine.image
    instructions = [each.call.instructions for each in taken]
    stacks = [each.call.stack_bytes for each in taken]
    cycles = [each.call.cycles_estimate or 0 for each in taken]
    arena_bytes = model.arena_bytes
    ram = arena_bytes + engine.state_bytes + max(stacks) + image.data_bytes + image.bss_bytes
    stored_bytes = sum(len(each.weights) for each in library.models)  # the engine's stand-in for slow memory
    weights_bytes = image.weights_bytes - stored_bytes
    most, slowest = taken[instructions.index(max(instructions))], taken[cycles.index(max(cycles))]
    is_timed = slowest.call.cycles_estimate is not None
    return Measurement(
        model=model.graph.name,
        target=library.target.name,
        macs=model.graph.macs,
        arena_bytes=arena_bytes,
        state_bytes=engine.state_bytes,
        stack_bytes=max(stacks),
        ram_bytes=ram,
        code_bytes=image.code_bytes,
        plan_table_bytes=_plan_table_bytes(image),
        weights_bytes=weights_bytes,
        flash_bytes=image.code_bytes + weights_bytes,
        instructions=max(instructions),
        cycles_estimate=slowest.call.cycles_estimate,
        calls_instructions=most.call.by_operator[""],
        calls_cycles_estimate=slowest.call.cycles_by_operator[""] if is_timed else None,
        bit_exact=bit_exact,
        oracle=None,
        ops=tuple(_operator(model, node, count, slowest.spent[node]) for node, count in enumerate(most.nodes)),
        seeds=seeds,
        varies_with_inputs=len({*instructions}) > 1 or len({*stacks}) > 1,
        instructions_min=min(instructions),
        stack_bytes_min=min(stacks),
        not_executed=missing,
        counter=engine.counter,
        linear_memory_bytes=engine.linear_memory_bytes,
        fetches=fetches_of(model.planned, _node_seconds(library.target, slowest)),
        vector_instructions=most.call.vectors,
        beats=_BEATS * most.call.vectors,
    )


def _node_seconds(target: Target, taken: _Taken) -> tuple[float, ...] | None:
    """The time that each node takes: its cycles, or one for each instruction where no table exists; None without a clock."""
    if not target.clock_hz or not taken.call.instructions:
        return None
    spent = [each.cycles for each in taken.spent if each is not None]
    counts = taken.nodes if taken.call.cycles_estimate is None else spent
    return tuple(count / target.clock_hz for count in counts)


def _plan_table_bytes(image: Image) -> int:
    """Flash for the tables of the plan that the program reads; the linker leaves out others."""
    return sum(symbol.size for name, symbol in image.symbols.items() if name.startswith(PLAN_TABLE_PREFIX))


def _operator(model: CompiledModel, node: int, instructions: int, spent: Spent | None) -> OperatorCost:
    view = model.graph.views[node]
    return OperatorCost(
        name=view.output.name,
        op=view.op.name,
        macs=view.op.macs(view),
        instructions=instructions,
        scratch_bytes=model.graph.calls[node].scratch_bytes,
        cycles_estimate=None if spent is None else spent.cycles,
        stalls=None if spent is None else spent.stalls,
    )


def _agrees_with_tflm(model: CompiledModel, tried: list[tuple[list[Array], list[list[Array]]]]) -> bool:
    """True if TFLM could compare the last inference with each input; raises an error where one differs.

    Args:
        model: the model that ran.
        tried: each input with the outputs of every inference with it, in their order.
    """
    from kibi import tflm as oracle  # noqa: PLC0415 - starts a child process; only where it is asked for

    if model.graph.path is None or not oracle.available() or any(is_custom(node.op) for node in model.graph.nodes):
        return False
    with oracle.Oracle() as tflm:
        results = tflm.run(model.graph.path, [inputs for inputs, expected in tried for _ in expected])
    end = 0
    for _, expected in tried:
        end += len(expected)
        outputs = [np.asarray(output) for output in results[end - 1].outputs]
        if expected[-1] and not same_bits(outputs, expected[-1]):
            raise MismatchError(f"{model.graph.source}: TFLM's outputs differ. Run `kibi verify` to find the operator.")
    return True
