"""The longest row step of a library with slices: what a slice of one step takes on the emulated core."""

from dataclasses import dataclass

from kibi.codegen import CompiledModel, Extras, Library, generate, write
from kibi.engines import DeviceEngine
from kibi.errors import PlanError
from kibi.files import temporary_folder
from kibi.planner import PlannedModel
from kibi.reports.branches import usual_runs
from kibi.runtime import seeded_inputs
from kibi.targets import Target

_LEAST_RUNS = 3
"""The least number of inputs with which a limit is checked, because clamping may take an instruction more."""


@dataclass(frozen=True, slots=True)
class LongestStep:
    """The row step that takes the most instructions.

    Attributes:
        instructions: of the call of `…_run_for` that runs this step alone; the most of all inputs that were tried.
        step: its number in the order, from 0, without those that copy a row.
        steps: how many there are.
        op, name: its operator, and the output tensor of that.
        row: which step of its operator it is, from 0.
        rows: how many steps its operator has.
    """

    instructions: int
    step: int
    steps: int
    op: str
    name: str
    row: int
    rows: int

    @property
    def text(self) -> str:
        """The step in words."""
        return f"step {self.step} of {self.steps}: row {self.row} of {self.rows} of {self.op} {self.name!r}"


def longest_step(engine: DeviceEngine, model: CompiledModel, *, seed: int = 0, runs: int | None = None) -> LongestStep:
    """Runs inputs in slices of one step, and returns the step that took the most instructions.

    Args:
        engine: of a library with slices.
        model: the model of that library.
        seed: the seed of the first random inputs.
        runs: how many inputs to try; None: several.
    """
    count = max(_LEAST_RUNS, usual_runs(model.graph)) if runs is None else runs
    inputs = [seeded_inputs(model.graph, each) for each in range(seed, seed + count)]
    steps = _steps_of_slices(model)
    most, longest = 0, (0, 0)
    for arrays in inputs:
        engine.run(arrays, slice_steps=1)
        for call, step in zip(engine.slices, steps, strict=False):  # fewer slices where an operator ends the inference
            if step is not None and call.instructions > most:
                most, longest = call.instructions, step
    node, row = longest
    view, computing = model.graph.views[node], [step for step in steps if step is not None]
    return LongestStep(most, computing.index(longest), len(computing), view.op.name, view.output.name, row, view.steps)


def _steps_of_slices(model: CompiledModel) -> list[tuple[int, int] | None]:
    """The node and the step that each slice of one step runs; None for a slice that finds nothing to do before the next row."""
    found: list[tuple[int, int] | None] = []
    is_idle = True
    for node, row in model.plan.steps:
        if not model.graph.nodes[node].op.receives:
            found.append((node, row))
            is_idle = False
        else:
            found += [None] if is_idle else []
            is_idle = True
    return found


def measured_longest_step(
    library: Library, index: int = 0, *, compiler: str = "zig", level: str = "s", seed: int = 0, runs: int | None = None
) -> LongestStep:
    """Counts the steps of a model of a library with slices, written to disk; further arguments and errors as of `measure`."""
    engine = DeviceEngine(library, index, compiler=compiler, level=level)
    return longest_step(engine, library.models[index], seed=seed, runs=runs)


def planned_longest_step(planned: PlannedModel, target: Target, *, most: int | None = None) -> LongestStep:
    """Counts the steps of a model with a plan: its library with slices is compiled for that, and dropped.

    Args:
        planned: both.
        target: the core, which is emulated.
        most: the most instructions that an inference may take, or each row of one that streams; None: as of `DeviceEngine`.

    Raises:
        InputError: no C can be made of the model.
        ToolchainError: the compiler is missing or fails.
        EmulationError: the core stopped, or an inference takes more instructions.
    """
    with temporary_folder() as folder:
        library = write(generate([planned], target, extras=Extras(slices=True)), folder)
        engine = DeviceEngine(library)
        if most is not None:
            engine.run(seeded_inputs(planned.graph, 0), instruction_limit=most)
        return longest_step(engine, library.model)


def check_slice(longest: LongestStep, most: int, target: str, source: str) -> None:
    """Checks that no slice of one step is too long.

    Args:
        longest: the longest step.
        most: the most instructions that a slice may take.
        target: the core, for the error.
        source: the model, for the error.

    Raises:
        PlanError: it is too long.
    """
    if longest.instructions > most:
        raise PlanError(
            f"{source}: a slice of one row step takes {longest.instructions} instructions on {target}, {most} are allowed: "
            f"{longest.text}. A row is never divided: allow more, take kernels of fewer instructions by --goal speed or "
            "--tune, or a model whose rows are smaller."
        )
