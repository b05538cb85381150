"""What a model costs on a device, measured by running it."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from kibi.codegen import CompiledModel, Library
from kibi.codegen.bindings import PLAN_TABLE_PREFIX
from kibi.dtypes import Array
from kibi.engines import DeviceEngine
from kibi.errors import MismatchError, OracleError
from kibi.ops import is_custom
from kibi.runtime import Interpreter, seeded_inputs
from kibi.toolchain import Image

_MOST_RUNS = 64
"""Inferences after which no more are waited for that give outputs."""


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """One operator: the output tensor's name, the operator's, and what it took."""

    name: str
    op: str
    macs: int
    instructions: int
    scratch_bytes: int


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one inference costs, after a warm-up. The field names are a contract with other tools.

    Attributes:
        model, target: what ran where.
        macs: multiply-accumulates.
        arena_bytes, state_bytes, stack_bytes: RAM, each exact; the stack by its high-water mark.
        ram_bytes: their sum, plus initialized and zeroed data of the code.
        code_bytes: flash for text and constants other than weights.
        plan_table_bytes: of these, the plan's tables: the order of row steps, and the offsets of rows that no formula gives.
        weights_bytes: flash for filters, biases, multipliers, shifts, tables, and the rows that stand outside of inputs.
        flash_bytes: their sum.
        instructions: executed by one inference.
        cycles_estimate: by Arm's tables; None where there is none for the core.
        bit_exact: whether the device's outputs equal the Python runtime's.
        oracle: "tflm" where the outputs were compared with TensorFlow Lite Micro's and are equal; else None.
        ops: each operator's cost.
        oracle_failure: how TFLM's build failed on this model, which says nothing of Kibi's figures; None where it did not.
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
    bit_exact: bool
    oracle: str | None
    ops: tuple[OperatorCost, ...]
    oracle_failure: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return asdict(self)


def measure(
    library: Library, *, compiler: str = "zig", optimize: str = "s", seed: int = 0, oracle: bool = True
) -> Measurement:
    """Run a library's first model on the emulated core, beside the Python runtime and, where it is installed, TFLM.

    Args:
        library: written to disk, for a target that is emulated.
        compiler: `zig` or `gcc`.
        optimize: `0`, `1`, `2`, `3` or `s`.
        seed: of the random inputs.
        oracle: whether to compare with TFLM where it is installed.

    Raises:
        ToolchainError: the compiler is missing or fails.
        EmulationError: the core stopped, or the target is not emulated.
        MismatchError: TFLM's outputs differ.
    """
    model = library.model
    engine = DeviceEngine(library, compiler=compiler, optimize=optimize)
    inputs = seeded_inputs(model.graph, seed)
    expected = _outputs_of_each(model, inputs)
    outputs = [engine.run(inputs) for _ in expected][-1]
    found = _measurement(library, engine, same_bits(outputs, expected[-1]))
    if not oracle:
        return found
    try:
        compared = _agrees_with_tflm(model, inputs, expected)
    except OracleError as error:  # what was measured stays true
        return replace(found, oracle_failure=str(error))
    return replace(found, oracle="tflm") if compared else found


def _outputs_of_each(model: CompiledModel, inputs: list[Array]) -> list[list[Array]]:
    """The outputs of a warm-up, and of inferences with the same inputs until one gives outputs: operators may wait for more."""
    interpreter = Interpreter(model.graph, model.plan)
    outputs = [interpreter.run(inputs)]
    while len(outputs) < _MOST_RUNS:
        outputs.append(interpreter.run(inputs))
        if outputs[-1]:
            break
    return outputs


def same_bits(first: list[Array], second: list[Array]) -> bool:
    """Whether two lists of arrays hold the same bytes."""
    return len(first) == len(second) and all(a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))


def _measurement(library: Library, engine: DeviceEngine, bit_exact: bool) -> Measurement:
    model, image, call = library.model, engine.image, engine.last
    if call is None:
        raise MismatchError("nothing was run")
    ram = model.plan.arena_bytes + engine.state_bytes + call.stack_bytes + image.data_bytes + image.bss_bytes
    return Measurement(
        model=model.graph.name,
        target=library.target.name,
        macs=model.graph.macs,
        arena_bytes=model.plan.arena_bytes,
        state_bytes=engine.state_bytes,
        stack_bytes=call.stack_bytes,
        ram_bytes=ram,
        code_bytes=image.code_bytes,
        plan_table_bytes=_plan_table_bytes(image),
        weights_bytes=image.weights_bytes,
        flash_bytes=image.code_bytes + image.weights_bytes,
        instructions=call.instructions,
        cycles_estimate=call.cycles_estimate,
        bit_exact=bit_exact,
        oracle=None,
        ops=tuple(_operator(model, engine, node) for node in range(len(model.graph.nodes))),
    )


def _plan_table_bytes(image: Image) -> int:
    """Flash for the tables of the plan; the linker has left out those that nothing reads."""
    return sum(symbol.size for name, symbol in image.symbols.items() if name.startswith(PLAN_TABLE_PREFIX))


def _operator(model: CompiledModel, engine: DeviceEngine, node: int) -> OperatorCost:
    site = model.graph.sites[node]
    return OperatorCost(
        name=site.output.name,
        op=site.op.name,
        macs=site.op.macs(site),
        instructions=engine.instructions_of(node),
        scratch_bytes=model.graph.calls[node].scratch_bytes,
    )


def _agrees_with_tflm(model: CompiledModel, inputs: list[Array], expected: list[list[Array]]) -> bool:
    """Whether TFLM was there to compare the last inference with; raises where it differs."""
    from kibi import oracle  # noqa: PLC0415 - starts a child process; only where it is asked for

    if model.graph.path is None or not oracle.available() or any(is_custom(node.op) for node in model.graph.nodes):
        return False
    with oracle.Oracle() as tflm:
        outputs = tflm.run(model.graph.path, [inputs] * len(expected))[-1].outputs
    if expected[-1] and not same_bits([np.asarray(output) for output in outputs], expected[-1]):
        raise MismatchError(f"{model.graph.source}: TFLM's outputs differ. Run `kibi verify` to find the operator.")
    return True
