"""Tuning: runs every kernel that may run a layer on the emulated core, or on a board, counts, and chooses."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kibi.codegen import Library, generate, write
from kibi.engines.board_cycles import CountingPlace, Trial
from kibi.engines.device import DeviceEngine
from kibi.errors import TargetError
from kibi.ir import Graph, KernelCall
from kibi.planner import Plan, PlannedModel, with_kernels
from kibi.planner.plan import PixelRows
from kibi.runtime import seeded_inputs
from kibi.selection import Goal, candidates, choose
from kibi.targets import Memory, Target, targets
from kibi.toolchain.cache import cached, digest, temporary_folder
from kibi.toolchain.compilers import find_compiler
from kibi.version import __version__

_FILE = "counts.json"
_FORM = "with cycles and stack"
"""Tells these files from older ones in the cache."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kernel that may run a layer.

    Attributes:
        kernel: its C name.
        instructions: that the layer takes with it in one inference.
        weights_bytes: of the constants that are packed for it.
        cycles: an estimate for the layer in one inference, with what the core waits for its flash; None without a memory.
        board_cycles: what a board counted for the layer in one inference; None where no board did.
    """

    kernel: str
    instructions: int
    weights_bytes: int
    cycles: int | None = None
    board_cycles: int | None = None

    @property
    def cost(self) -> tuple[int, int]:
        """What the fastest one has the least of: counted cycles, or estimated ones, or instructions; then bytes of constants."""
        known = (self.board_cycles, self.cycles, self.instructions)
        return next(each for each in known if each is not None), self.weights_bytes


@dataclass(frozen=True, slots=True)
class TunedLayer:
    """A layer with more than one candidate.

    Attributes:
        node: its place in the planned graph.
        label: how reports name it.
        candidates: what may run it.
        chosen: the C name of the one that serves the goal.
    """

    node: int
    label: str
    candidates: tuple[Candidate, ...]
    chosen: str


@dataclass(frozen=True, slots=True)
class Tuning:
    """The kernels that were measured for a model, and the chosen ones.

    Attributes:
        goal: what they were chosen for.
        layers: those with more than one candidate.
        kernels: the C name of the kernel of each node of the planned graph, for a plan with them.
        pixel_rows: those of the plan for which they were measured.
    """

    goal: Goal
    layers: tuple[TunedLayer, ...]
    kernels: tuple[str, ...]
    pixel_rows: tuple[PixelRows, ...] = ()


def tune(
    graph: Graph,
    plan: Plan,
    target: Target,
    goal: Goal,
    *,
    compiler: str = "zig",
    level: str = "s",
    memory: Memory | None = None,
    place: CountingPlace | None = None,
) -> Tuning:
    """Measures each candidate for each layer of a model, and chooses.

    For speed, and balanced, the fewest instructions are chosen, or the fewest cycles with a memory; of equal ones the fewest bytes
    of constants. For flash, the kernels are chosen with which the whole program is smallest, tried one after another. Counts are
    kept in the cache of compiled files.

    Args:
        graph: the model.
        plan: its plan.
        target: a processor that is emulated.
        goal: what the code is to be good at. Balanced takes no kernel that is meant for speed alone.
        compiler: `zig`, `gcc` or `clang`.
        level: the compiler's level: `0`, `1`, `2`, `3` or `s`.
        memory: how the core reads its flash, at the clock of the target; None: instructions decide.
        place: a board that counts the cycles which decide then; a layer whose function it cannot tell from others keeps the
            emulated core's counts. Not for flash.

    Raises:
        TargetError: nothing emulates the target.
        ToolchainError: the compiler is missing or fails.
        EmulationError: a kernel goes wrong.
        BoardError: the board has no cycle counter, or something goes wrong there.
    """
    _check_emulated(target)
    planned = PlannedModel.of(graph, plan).graph
    calls = [candidates(call, target, goal, every=goal is Goal.FLASH) for call in planned.general_calls]
    several, trials = _trials(calls)
    general = tuple(call.kernel for call in planned.general_calls)
    build = _Build(graph, plan, target, goal, general, compiler, level, memory)
    counts = [build.counted(trial) for trial in trials]
    if place is not None and trials and goal is not Goal.FLASH:
        programs = [build.trial(trial, count) for trial, count in zip(trials, counts, strict=True)]
        found_cycles = place.cycles(programs, several, target, compiler, level)
        counts = [replace(count, on_board=cycles) for count, cycles in zip(counts, found_cycles, strict=True)]
    layers = []
    for node in several:
        taken = {trial[node]: count for trial, count in zip(trials, counts, strict=True)}
        found = _comparable([taken[call.kernel].candidate(node, call) for call in calls[node]])
        best = min(found, key=lambda each: each.cost)
        layers.append(TunedLayer(node, planned.nodes[node].label, found, best.kernel))
    best_layers = tuple(layers)
    if goal is Goal.FLASH:
        best_layers = _smallest(layers, [call.kernel for call in choose(planned.general_calls, target, goal)], build)
    kernels = _named(general, {layer.node: layer.chosen for layer in best_layers})
    return Tuning(goal, best_layers, kernels, plan.pixel_rows)


def tuning_programs(
    graph: Graph, plan: Plan, target: Target, goal: Goal, *, compiler: str = "zig", level: str = "s"
) -> tuple[Trial, ...]:
    """Returns the programs that `tune` runs on a board: with them, each kernel that may run a layer has run it.

    Args:
        graph: the model.
        plan: its plan.
        target: a processor that is emulated.
        goal: what the code is to be good at; not flash, for which bytes decide.
        compiler: `zig`, `gcc` or `clang`.
        level: the compiler's level.

    Returns:
        The programs; none where each layer has one kernel.

    Raises:
        TargetError: nothing emulates the target.
        ToolchainError: the compiler is missing or fails.
        EmulationError: a kernel goes wrong.
    """
    _check_emulated(target)
    general_calls = PlannedModel.of(graph, plan).graph.general_calls
    _, trials = _trials([candidates(call, target, goal) for call in general_calls])
    general = tuple(call.kernel for call in general_calls)
    build = _Build(graph, plan, target, goal, general, compiler, level, None)
    return tuple(build.trial(each, build.counted(each)) for each in trials)


def _check_emulated(target: Target) -> None:
    if not target.is_emulated:
        known = ", ".join(each.name for each in targets() if each.is_emulated)
        raise TargetError(
            f"target {target.name!r} is not emulated, so no kernel can be counted on it. Take one of: {known}."
        )


def _trials(calls: Sequence[Sequence[KernelCall]]) -> tuple[list[int], list[dict[int, str]]]:
    """The nodes with more than one candidate, and the kernels of these for each program that is run."""
    several = [node for node, found in enumerate(calls) if len(found) > 1]
    trials = [
        {node: calls[node][min(turn, len(calls[node]) - 1)].kernel for node in several}
        for turn in range(max((len(calls[node]) for node in several), default=0))
    ]
    return several, trials


def _comparable(found: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The candidates of a layer: with a board's cycles if it counted those of each of them."""
    if all(each.board_cycles is not None for each in found):
        return tuple(found)
    return tuple(replace(each, board_cycles=None) for each in found)


def _named(general: Sequence[str], chosen: Mapping[int, str]) -> tuple[str, ...]:
    """The kernel of each node: the chosen one, or the general one where there is nothing to choose."""
    return tuple(chosen.get(node, name) for node, name in enumerate(general))


@dataclass(frozen=True, slots=True)
class _Counts:
    """The costs of a program: instructions of each node in one inference, bytes of flash and stack, cycles where a memory is known.

    `on_board` has the cycles of nodes that a board has counted.
    """

    instructions: tuple[int, ...]
    flash_bytes: int
    stack_bytes: int
    cycles: tuple[int, ...] | None
    on_board: Mapping[int, int] = field(default_factory=dict)

    def candidate(self, node: int, call: KernelCall) -> Candidate:
        """What the kernel of a node costs, which ran in this program."""
        cycles = None if self.cycles is None else self.cycles[node]
        return Candidate(call.kernel, self.instructions[node], call.constant_bytes, cycles, self.on_board.get(node))


@dataclass(frozen=True, slots=True)
class _Build:
    """The settings of the measured programs: `general` are the kernels of all nodes; other fields are the arguments of `tune`."""

    graph: Graph
    plan: Plan
    target: Target
    goal: Goal
    general: tuple[str, ...]
    compiler: str
    level: str
    memory: Memory | None

    def counted(self, kernels: Mapping[int, str]) -> _Counts:
        """Returns the model's costs with these kernels, given by node; from the cache if they are known."""
        library = self._library(kernels)
        identity = find_compiler(self.compiler, self.target).identity
        texts = [part for name, text in library.files.items() for part in (name, text)]
        waits = () if self.memory is None else (repr(self.memory), str(self.target.clock_hz))
        key = digest(_FORM, __version__, identity, self.level, self.target.name, *waits, *texts)
        folder = cached("counts", key, lambda place: self._count(library, place / _FILE))
        known = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        cycles = known["cycles"]
        estimated = None if cycles is None else tuple(cycles)
        return _Counts(tuple(known["instructions"]), known["flash_bytes"], known["stack_bytes"], estimated)

    def trial(self, kernels: Mapping[int, str], counts: _Counts) -> Trial:
        """Returns the program with these kernels, for a board."""
        return Trial(self._planned(kernels), counts.flash_bytes, counts.stack_bytes)

    def _planned(self, kernels: Mapping[int, str]) -> PlannedModel:
        plan = with_kernels(self.graph, self.plan, self.target, self.goal, _named(self.general, kernels))
        return PlannedModel.of(self.graph, plan)

    def _library(self, kernels: Mapping[int, str]) -> Library:
        return generate([self._planned(kernels)], self.target, command="counted by Kibi")

    def _count(self, library: Library, path: Path) -> None:
        """Runs two inferences, and writes the costs of the second to a file."""
        with temporary_folder() as folder:
            written = write(library, folder / "library")
            engine = DeviceEngine(written, compiler=self.compiler, level=self.level, memory=self.memory)
            inputs = seeded_inputs(library.model.graph, 0)
            engine.run(inputs)
            engine.run(inputs)
            nodes = range(len(library.model.graph.nodes))
            flash = engine.image.code_bytes + engine.image.weights_bytes
            spent = [each.cycles for each in map(engine.spent_on, nodes) if each is not None]
            counts = {
                "instructions": [engine.instructions_of(node) for node in nodes],
                "flash_bytes": flash,
                "stack_bytes": 0 if engine.last is None else engine.last.stack_bytes,
                "cycles": spent if spent and self.memory is not None else None,
            }
        path.write_text(json.dumps(counts), encoding="utf-8", newline="\n")


def _smallest(layers: Sequence[TunedLayer], ruled: Sequence[str], build: _Build) -> tuple[TunedLayer, ...]:
    """The layers with general kernels, or with those that the rules choose, but for each variant that makes the program smaller."""
    starts = (
        [replace(layer, chosen=layer.candidates[-1].kernel) for layer in layers],
        [replace(layer, chosen=ruled[layer.node]) for layer in layers],
    )
    sizes = [build.counted({layer.node: layer.chosen for layer in start}).flash_bytes for start in starts]
    flash, best = min(zip(sizes, starts, strict=True), key=lambda each: each[0])
    for kernel in dict.fromkeys(each.kernel for layer in layers for each in layer.candidates[:-1]):
        tried = [
            replace(layer, chosen=kernel) if any(each.kernel == kernel for each in layer.candidates) else layer
            for layer in best
        ]
        needed = build.counted({layer.node: layer.chosen for layer in tried}).flash_bytes
        if needed < flash:
            best, flash = tried, needed
    return tuple(best)
