"""Measures and compares plan files: the core in C on the emulated processor and on this machine."""

from collections.abc import Sequence
from dataclasses import replace

from kibi.dtypes import Array
from kibi.eager.memory.blocks import whole_number
from kibi.emulator import Call, Spent
from kibi.engines.core import CoreEngine
from kibi.engines.core_device import MODEL_BYTES, CoreDeviceEngine
from kibi.ir import Graph
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.planner.plan import Plan
from kibi.qemu import missing_qemu
from kibi.reports.branches import usual_runs
from kibi.reports.measurement import Measurement, OperatorCost, outputs_of_each, same_bits, with_waits
from kibi.reports.verification import Verification, layout_difference
from kibi.runtime import Interpreter, seeded_inputs
from kibi.targets import Memory, Target


def measure_plan_file(
    planned: PlannedModel,
    target: Target,
    *,
    compiler: str = "zig",
    level: str = "s",
    seed: int = 0,
    runs: int | None = None,
    memory: Memory | None = None,
    code_in_ram: bool = False,
) -> Measurement:
    """Runs a model's plan file on the emulated core, and compares it with the Python runtime.

    Flash is a core with this model's kernels, without the checks of files, and the file; `weights_bytes` is the file.

    Args:
        planned: the model.
        target: the processor.
        compiler: `zig`, `gcc` or `clang`.
        level: `0`, `1`, `2`, `3` or `s`.
        seed: the seed of the first random inputs.
        runs: how many inputs to try, of this seed and the next ones; None: one, or several where inputs choose what runs.
        memory: how the processor reads its flash, at the clock of the target; None for a flash without wait states.
        code_in_ram: True if the core's code runs from a RAM without wait states; the file stays in flash.

    Raises:
        InputError: seed or runs are out of range.
        ToolchainError: the compiler is missing or fails.
        EmulationError: the core stopped, or the target is not emulated.
    """
    graph, file = planned.graph, PlanFile(plan_file(planned))
    first = whole_number(seed, "the seed", least=0)
    count = usual_runs(graph) if runs is None else whole_number(runs, "the number of runs")
    seeds = tuple(range(first, first + count))
    engine = CoreDeviceEngine(file, target, compiler=compiler, level=level, memory=memory, code_in_ram=code_in_ram)
    taken, is_exact = _inferences(engine, planned, seeds)
    most = max(taken, key=lambda call: call.instructions)
    image, stack = engine.image, max(call.stack_bytes for call in taken)
    state = MODEL_BYTES + file.state_bytes
    slowest = max(taken, key=lambda call: call.cycles_estimate or 0)
    found = Measurement(
        model=graph.name,
        target=target.name,
        macs=graph.macs,
        arena_bytes=file.arena_bytes,
        state_bytes=state,
        stack_bytes=stack,
        ram_bytes=file.arena_bytes + state + stack + image.data_bytes + image.bss_bytes,
        code_bytes=image.code_bytes,
        plan_table_bytes=0,
        weights_bytes=len(file.data),
        flash_bytes=image.code_bytes + len(file.data),
        instructions=most.instructions,
        cycles_estimate=slowest.cycles_estimate,
        calls_instructions=most.by_operator[""],
        calls_cycles_estimate=None if slowest.cycles_estimate is None else slowest.cycles_by_operator[""],
        bit_exact=is_exact,
        oracle=None,
        ops=tuple(_kernel_cost(name, most, slowest) for name in file.kernels),
        seeds=seeds,
        varies_with_inputs=len({call.instructions for call in taken}) > 1,
        instructions_min=min(call.instructions for call in taken),
        stack_bytes_min=min(call.stack_bytes for call in taken),
        not_executed=(),
    )
    return with_waits(found, taken, image, target, memory, code_in_ram=code_in_ram)


def with_plan_file(
    found: Verification,
    graph: Graph,
    plan: Plan,
    device: Target,
    *,
    inputs: Sequence[Sequence[Array]] = (),
    seed: int = 0,
    compiler: str = "zig",
) -> Verification:
    """Adds to a comparison the model's plan file: on this machine and, where the target is emulated, there.

    Every other input runs in slices of one step.

    Args:
        found: what was compared before, with the same inputs.
        graph: the model.
        plan: its plan.
        device: the target.
        inputs: runs to try; none: as many random ones as before, from `seed`.
        seed: the seed of the random inputs.
        compiler: for the device.
    """
    tried = [list(run) for run in inputs] or [seeded_inputs(graph, seed + number) for number in range(found.runs)]
    interpreter = Interpreter(graph, plan)
    expected = [interpreter.run(run) for run in tried]
    file = PlanFile(plan_file(PlannedModel.of(graph, plan)))
    engines: list[tuple[str, CoreEngine | CoreDeviceEngine]] = [("plan file in host C", CoreEngine(file))]
    if not device.is_host and not missing_qemu(device):
        engines.append((f"plan file on {device.name}", CoreDeviceEngine(file, device, compiler=compiler)))
    differences = []
    for label, engine in engines:
        for number, (run, outputs) in enumerate(zip(tried, expected, strict=True)):
            difference = layout_difference(
                label, number, graph, engine.run(run, slice_steps=number % 2), outputs, "the plan file"
            )
            if difference is not None:
                differences.append(difference)
                break
    names = tuple(label for label, _ in engines)
    return replace(found, engines=(*found.engines, *names), differences=(*found.differences, *differences))


def _inferences(engine: CoreDeviceEngine, planned: PlannedModel, seeds: Sequence[int]) -> tuple[list[Call], bool]:
    """What the last call of each seed's inferences took, and True if all outputs equal the Python runtime's."""
    interpreter = Interpreter(planned.model, planned.plan)
    taken, is_exact = [], True
    for each in seeds:
        inputs = seeded_inputs(planned.model, each)
        expected = outputs_of_each(interpreter, inputs)
        outputs = [engine.run(inputs) for _ in expected][-1]
        is_exact = is_exact and same_bits(outputs, expected[-1])
        if engine.last is not None:
            taken.append(engine.last)
    return taken, is_exact


def _kernel_cost(name: str, most: Call, slowest: Call) -> OperatorCost:
    """The costs of a kernel: of the call with the most instructions, and of the one with the most cycles."""
    return OperatorCost(
        "",
        name.removeprefix("kibi_"),
        0,
        most.by_operator.get(name, 0),
        0,
        None if slowest.cycles_estimate is None else slowest.cycles_by_operator.get(name, 0),
        None if slowest.spent is None else slowest.spent.get(name, Spent()).stalls,
    )
