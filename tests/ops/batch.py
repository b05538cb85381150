"""Many models in one host program: compiled once, run in a process of their own, which a sanitizer may stop."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kibi.codegen import Library, generate, write
from kibi.dtypes import Array
from kibi.ir import Graph
from kibi.planner import Plan, PlannedModel
from kibi.targets import target
from kibi.toolchain.includes import without_first_comments
from tests.ops.machines import HERE, Machine, Recipe

_HARNESS = Path(__file__).with_name("batch.c")
CANARY = 0xC5
"""What the harness fills the arena with before the first run."""
_JOINED = 16
"""Models whose sources are one unit."""
_OWN_NAME = re.compile(r"^static\b[^=;({\[]*?\b(\w+)(?: =|[;(\[])|^\} (\w+);$", re.MULTILINE)
STATUS_CHECKS = 7
"""Bytes that the harness writes for each model in front of its outputs: what the entry points returned."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the C code of one model did.

    Attributes:
        statuses: of `init` without state, without arena, with an arena one byte too small, with one off its alignment;
            of `invoke` without state, before `init`; and the accessors' answers before `init` and for an index that does
            not exist, 0 where all are null.
        outputs: of the two runs, one array for each model output of each inference that gives some.
        arena: the arena's bytes `[arena_bytes]` after the first run, which found canaries in them.
    """

    statuses: tuple[int, ...]
    outputs: tuple[tuple[Array, ...], tuple[Array, ...]]
    arena: NDArray[np.uint8]


class Batch:
    """Models in one library, with the harness as its program.

    Args:
        graphs: the models; each is given a name of its own.
        folder: where the C files are written.
        compiler: `zig` or `gcc`.
        level: the optimization level.
        sanitize: whether undefined behaviour and, with gcc, wrong accesses stop the program.
        plans: of each model.
        processor: whose library it is. One for another core holds the plain C twins of its kernels, which run here.
        machine: which runs the program.
    """

    def __init__(
        self,
        graphs: Sequence[Graph],
        plans: Sequence[Plan],
        folder: Path,
        *,
        compiler: str,
        level: str,
        sanitize: bool = False,
        processor: str = "host",
        machine: Machine = HERE,
    ) -> None:
        self._machine = machine
        self._graphs = [replace(graph, name=f"m{number}") for number, graph in enumerate(graphs)]
        self._plans = [replace(plan, model=f"m{number}") for number, plan in enumerate(plans)]
        models = [PlannedModel.of(graph, plan) for graph, plan in zip(self._graphs, self._plans, strict=True)]
        library = write(generate(models, target(processor), name="batch"), folder / "library")
        main = folder / "main.c"
        main.write_text(_main(self._graphs))
        units = [*_units(library), main]
        assert library.directory is not None
        recipe = Recipe(units, [library.directory], folder, compiler, level, sanitize)
        self._program = machine.build(recipe)

    def run(self, inputs: Sequence[Sequence[Array]]) -> list[Outcome]:
        """Run each model twice, in two places and on two contents of the arena.

        Args:
            inputs: for each model those of one inference, or of several in a row.

        Raises:
            AssertionError: the program did not end well; the text is what it printed.
        """
        counts = [
            max(1, len(arrays) // max(1, len(graph.inputs))) for graph, arrays in zip(self._graphs, inputs, strict=True)
        ]
        sent = b"".join(
            b"".join(map(self._machine.bytes_of, (np.array(count, np.uint32), *arrays)))
            for count, arrays in zip(counts, inputs, strict=True)
        )
        done = self._machine.run(self._program, sent)
        assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr.decode(errors='replace')[-4000:]}"
        received = list(_outcomes(self._graphs, self._plans, counts, done.stdout, self._machine))
        assert len(received) == len(self._graphs)
        return received


def _units(library: Library) -> Iterator[Path]:
    """The sources, with preconditions checked; those of several models as one, because compilers take their time to start.

    They begin without the comment that names the library, so that a kernel is compiled once for all batches.
    """
    assert library.directory is not None
    checks = "#include <assert.h>\n#define KIBI_ASSERT(condition) assert(condition)\n"
    texts = {name: without_first_comments(library.files[name].encode()).decode() for name in library.sources}
    units = {name: text for name, text in texts.items() if name.startswith("kernels/")}
    models = [name.removesuffix(".c") for name in texts if name not in units and not name.endswith("_weights.c")]
    for first in range(0, len(models), _JOINED):
        joined = models[first : first + _JOINED]
        units[f"{joined[0]}.c"] = "\n".join(
            _apart(texts[f"{model}.c"], model) + texts.get(f"{model}_weights.c", "") for model in joined
        )
    for name, text in units.items():
        path = (library.directory / name).with_name(f"unit_{Path(name).name}")  # beside the headers that it includes
        path.write_text(checks + text)
        yield path


def _apart(text: str, model: str) -> str:
    """A model's source whose own names, functions, variables and types of this file alone, no other model has."""
    own = {next(filter(None, found.groups())) for found in _OWN_NAME.finditer(text)}
    return re.sub(r"\b[a-z]\w*", lambda word: f"{word[0]}_of_{model}" if word[0] in own else word[0], text)


def _main(graphs: Sequence[Graph]) -> str:
    """The program: a line for each model, read by the harness."""
    lines = [f'#include "{graph.name}.h"' for graph in graphs] + [_HARNESS.read_text()]
    lines += [f"MODEL({graph.name}, {graph.name.upper()})" for graph in graphs]
    lines.append("int main(void)\n{")
    for graph in graphs:
        sizes = [
            [graph.tensors[index].type.size_bytes for index in indices] for indices in (graph.inputs, graph.outputs)
        ]
        arrays = ", ".join(f"(const size_t[]){{{', '.join(map(str, entry))}, 0}}" for entry in sizes)
        lines.append(f"    check(&{graph.name}_entry, {arrays});")
    return "\n".join([*lines, "    return 0;\n}\n"])


def _outcomes(
    graphs: Sequence[Graph], plans: Sequence[Plan], counts: Sequence[int], data: bytes, machine: Machine
) -> Iterator[Outcome]:
    place = 0
    for graph, plan, count in zip(graphs, plans, counts, strict=True):
        statuses = tuple(np.frombuffer(data, np.int8, STATUS_CHECKS, place).tolist())
        place += STATUS_CHECKS
        runs = []
        arena = np.empty(0, np.uint8)
        for number in range(2):
            outputs = []
            for _ in range(count):
                is_complete = not data[place]
                place += 1
                for kind in [graph.tensors[index].type for index in graph.outputs if is_complete]:
                    outputs.append(machine.array(data, kind.dtype.numpy, kind.elements, place).reshape(kind.shape))
                    place += kind.size_bytes
            runs.append(tuple(outputs))
            if number == 0:
                arena = np.frombuffer(data, np.uint8, plan.arena_bytes, place)
                place += plan.arena_bytes
        yield Outcome(statuses, (runs[0], runs[1]), arena)
    assert place == len(data)
