"""What checkpoints cost on a device: code, stack and instructions of saving and of resuming, counted on the emulated core."""

from dataclasses import dataclass, replace

from kibi.codegen import Library, generate, write
from kibi.codegen.lives_c import HEAD_BYTES
from kibi.dtypes import Array
from kibi.emulator import Call
from kibi.engines import DeviceEngine
from kibi.engines.checkpoint_device import CheckpointEngine, instructions_without_storage
from kibi.errors import MismatchError
from kibi.files import temporary_folder
from kibi.ir import early_exits
from kibi.planner import PlannedModel
from kibi.planner.lives import every_life, saved_bytes
from kibi.reports.checkpoints import cheapest_places
from kibi.runtime import Interpreter, seeded_inputs


@dataclass(frozen=True, slots=True)
class CheckpointPlaceCost:
    """What a checkpoint at one place takes, without the functions of the storage.

    Attributes:
        steps: how many row steps have run there.
        size_bytes: what is written.
        checkpoint_instructions: of `…_checkpoint`, not the first one since the power came.
        resume_instructions: of `…_resume`, where both slots hold a checkpoint of this place.
    """

    steps: int
    size_bytes: int
    checkpoint_instructions: int
    resume_instructions: int


@dataclass(frozen=True, slots=True)
class CheckpointCost:
    """What checkpoints take. The field names are a contract with other tools.

    Attributes:
        slot_bytes: of each of the two slots.
        code_bytes: flash that checkpoints add to a library with slices: both functions, CRC-32, the table of lives.
        checkpoint_instructions, resume_instructions: the most of all places, without the functions of the storage.
        checkpoint_stack_bytes, resume_stack_bytes: the most of all places, with functions that copy byte by byte.
        places: the cheapest place in each eighth of an inference, and the dearest of all.
    """

    slot_bytes: int
    code_bytes: int
    checkpoint_instructions: int
    resume_instructions: int
    checkpoint_stack_bytes: int
    resume_stack_bytes: int
    places: tuple[CheckpointPlaceCost, ...]


def checkpoint_cost(library: Library, *, compiler: str = "zig", level: str = "s", seed: int = 0) -> CheckpointCost:
    """Saves, loses the power, and resumes, at some places of an inference of a library's first model.

    Args:
        library: with checkpoints, written to disk, for a target that is emulated.
        compiler: `zig`, `gcc` or `clang`.
        level: `0`, `1`, `2`, `3` or `s`.
        seed: the seed of the random inputs.

    Raises:
        ToolchainError: the compiler is missing or fails.
        EmulationError: the core stopped, or the target is not emulated.
        MismatchError: an inference that was resumed gives other outputs.
    """
    model, inputs = library.model, seeded_inputs(library.model.graph, seed)
    sizes = _sizes(model.planned)
    engine = CheckpointEngine(library, max(sizes), compiler=compiler, level=level)
    wanted = [array.tobytes() for array in Interpreter(model.planned.model, model.plan).run(inputs)]
    places, saved, restored = [], list[Call](), list[Call]()
    for steps in _places(model.planned, sizes):
        engine.pause_after(inputs, steps)
        engine.save()  # the first one looks at what both slots have
        saved.append(engine.save())
        engine.lose_power()
        restored.append(engine.restore())
        _check(engine.finish(inputs), wanted, model.graph.source, steps)
        taken = instructions_without_storage(saved[-1]), instructions_without_storage(restored[-1])
        places.append(CheckpointPlaceCost(steps, sizes[steps], *taken))
    return CheckpointCost(
        slot_bytes=max(sizes),
        code_bytes=_added_code_bytes(library, compiler, level),
        checkpoint_instructions=max(each.checkpoint_instructions for each in places),
        resume_instructions=max(each.resume_instructions for each in places),
        checkpoint_stack_bytes=max(call.stack_bytes for call in saved),
        resume_stack_bytes=max(call.stack_bytes for call in restored),
        places=tuple(places),
    )


def _sizes(planned: PlannedModel) -> list[int]:
    """The bytes of a checkpoint at each place, its head and the variables included."""
    variables = (planned.graph.tensors[index].type.size_bytes for index in planned.graph.variables)
    fixed = HEAD_BYTES + sum(-(-size // 8) * 8 for size in variables)
    lives = every_life(planned.graph, planned.plan)
    return [fixed + size for size in saved_bytes(lives, len(planned.plan.steps))]


def _places(planned: PlannedModel, sizes: list[int]) -> list[int]:
    """The cheapest places and the dearest one, of those that every inference reaches."""
    exits, steps = early_exits(planned.graph), planned.plan.steps
    end = next((place for place, (node, _) in enumerate(steps) if node in exits), len(steps) - 1)
    dearest = max(range(end + 1), key=lambda place: (sizes[place], place))
    return sorted({dearest, *(each.steps for each in cheapest_places(planned) if each.steps <= end)})


def _check(outputs: list[Array], wanted: list[bytes], source: str, steps: int) -> None:
    if [array.tobytes() for array in outputs] != wanted:
        raise MismatchError(f"{source}: an inference that was resumed after {steps} steps gives other outputs.")


def _added_code_bytes(library: Library, compiler: str, level: str) -> int:
    """Flash of the library with checkpoints, less that of the same without them."""
    extras = replace(library.model.extras, checkpoints=False)
    with temporary_folder() as folder:
        plain = write(generate([library.model.planned], library.target, extras=extras), folder)
        both = (DeviceEngine(each, compiler=compiler, level=level).image.code_bytes for each in (library, plain))
        return next(both) - next(both)
