"""One model, planned, compiled, measured: what a report is made of."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kibi.codegen import Library, generate, write
from kibi.eager.events import Event, EventType
from kibi.engines.engine import entry_points, written_sources
from kibi.engines.storage import storage_sources
from kibi.errors import MismatchError, OracleError
from kibi.files import temporary_folder
from kibi.frontends.model_file import read_model
from kibi.ir import Graph
from kibi.passes import Simplified
from kibi.planner import Plan, PlannedModel, validate
from kibi.reports.measurement import Measurement, measure
from kibi.targets import Memory, Target
from kibi.tflm.arena import arena_uses
from kibi.toolchain import Image, build_image
from kibi.toolchain.compilers import find_compiler


class EventCounts:
    """A handler that counts what is reported, errors too."""

    def __init__(self) -> None:
        self.counts: Counter[EventType] = Counter()

    def notify(self, event: Event) -> None:
        """Counts the event."""
        self.counts[event.type] += 1


@dataclass(frozen=True)
class MeasuredModel:
    """A model with all that one report says of it.

    Attributes:
        simplified: the model after the lossless passes, and what these did.
        planned: the same model with its plan.
        target: the processor.
        library: the C code that was measured; its folder is gone.
        image: the linked program.
        measurement: the costs of one inference.
        compiler: name and version of the compiler.
        level: the compiler's level.
        tflm_arena_bytes: the bytes of its arena that TFLM's build on this machine uses for the same file; None: not known.
        events: how often the Python runtime reported each in the measured run.
    """

    simplified: Simplified
    planned: PlannedModel
    target: Target
    library: Library
    image: Image
    measurement: Measurement
    compiler: str
    level: str
    tflm_arena_bytes: int | None = None
    events: Mapping[EventType, int] = field(default_factory=dict)


def measured_model(
    simplified: Simplified,
    plan: Plan,
    target: Target,
    *,
    compiler: str = "zig",
    level: str = "s",
    seed: int = 0,
    oracle: bool = True,
    memory: Memory | None = None,
) -> MeasuredModel:
    """Compiles a planned model, and measures it on the emulated core.

    Args:
        simplified: the model after the lossless passes.
        plan: its plan.
        target: the processor, which is emulated.
        compiler: `zig` or `gcc`.
        level: `0`, `1`, `2`, `3` or `s`.
        seed: the seed of the random input.
        oracle: True to compare with TFLM where it is installed.
        memory: how the core reads its flash; None: without wait states.

    Raises:
        PlanError: the plan does not fit the model.
        ToolchainError: the compiler is missing or fails.
        EmulationError: the core stopped.
        MismatchError: the device's outputs differ from Python's, or TFLM's.
    """
    planned = validate(simplified.graph, plan)
    with temporary_folder() as folder:
        library = write(generate([planned], target), Path(folder))
        events = EventCounts()
        found = measure(
            library, compiler=compiler, level=level, seed=seed, oracle=oracle, memory=memory, handler=events
        )
        image = _image(library, compiler, level)
    if not found.bit_exact:
        raise MismatchError(
            f"{simplified.graph.source}: the device's bits differ. Run `kibi verify` to find the operator."
        )
    identity = find_compiler(compiler, target).identity
    theirs = _tflm_arena(simplified.graph) if found.oracle else None
    return MeasuredModel(simplified, planned, target, library, image, found, identity, level, theirs, events.counts)


def _tflm_arena(graph: Graph) -> int | None:
    """The bytes of its arena that TFLM's build uses for a model's file; None if it does not say."""
    if graph.path is None:
        return None
    try:
        (use,) = arena_uses([read_model(graph.path)])
    except OracleError:
        return None
    return None if use is None else use.used_bytes


def _image(library: Library, compiler: str, level: str) -> Image:
    """The program that was measured, which the cache still has."""
    sources, folder = written_sources(library)
    with storage_sources(library) as further:
        return build_image(
            [*sources, *further],
            library.target,
            entries=entry_points(library.model),
            compiler=compiler,
            level=level,
            includes=[folder],
        )
