"""Libraries: the files of one or several models and the kernels that they share, generated as text and written whole."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from kibi.codegen import memory_c
from kibi.codegen.bindings import Bindings
from kibi.codegen.model_c import body_text, model_text
from kibi.codegen.output import write_folder
from kibi.codegen.project import cmake_lists, example_main
from kibi.errors import InputError
from kibi.ir import Graph, stops
from kibi.kernels import closure
from kibi.planner import planned_graph
from kibi.planner.plan import Plan, RegionUse
from kibi.targets import Target
from kibi.variants import Goal
from kibi.version import __version__

_FEATURE = re.compile(r"^#ifndef (KIBI_\w+)\n#define \1 1\b", re.MULTILINE)
"""How a kernel's file says that a part of it can be left out."""
_WORD_BYTES = 8
"""Variables in a model's struct are aligned for any element."""


@dataclass(frozen=True, slots=True)
class CompiledModel:
    """One model of a library.

    Attributes:
        graph, plan: what was compiled.
        functions: for each node, the C function that runs its steps.
        labels: for each node, how reports name it.
        kernels: for each node, the C kernel that its steps call.
        pointers: how many pointers the model's struct has.
        cursor_bytes: bytes behind them, in which an inference that waits for a row remembers how far it has come.
        supplied: the tensors that the caller supplies, in the order of their numbers.
        regions: the regions that `init` is given; none where there is one arena.
        variable_bytes: bytes of the tensors that keep their values, in the struct.
    """

    graph: Graph
    plan: Plan
    functions: tuple[str, ...]
    labels: tuple[str, ...]
    kernels: tuple[str, ...]
    pointers: int = 1
    cursor_bytes: int = 0
    supplied: tuple[int, ...] = ()
    regions: tuple[RegionUse, ...] = ()
    variable_bytes: int = 0

    def state_bytes(self, pointer_bytes: int = 4) -> int:
        """`sizeof` the model's struct where pointers have that many bytes."""
        size, unit = self.pointers * pointer_bytes, pointer_bytes
        if self.variable_bytes:
            size, unit = -(-size // _WORD_BYTES) * _WORD_BYTES + self.variable_bytes, _WORD_BYTES
        return -(-(size + self.cursor_bytes) // unit) * unit

    @property
    def stops(self) -> bool:
        """Whether an operator may end an inference early."""
        return bool(stops(self.graph) or self.graph.loops)

    @property
    def arrivals(self) -> tuple[tuple[int, int], ...]:
        """The rows that the caller pushes, in order: (number of the input, row)."""
        numbers = {node: self.graph.inputs.index(index) for index, node in self.graph.streamed_inputs.items()}
        return tuple((numbers[node], row) for node, row in self.plan.steps if node in numbers)


@dataclass(frozen=True, slots=True)
class Library:
    """A generated library.

    Attributes:
        name: of the library, and prefix of its kernels' symbols.
        target: the processor that it is for.
        models: what is in it.
        files: every file's text by name.
        directory: where they were written; None before `write`.
    """

    name: str
    target: Target
    models: tuple[CompiledModel, ...]
    files: Mapping[str, str]
    directory: Path | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the C files to compile; the example apart."""
        return tuple(name for name in self.files if name.endswith(".c") and name != "example_main.c")

    @property
    def model(self) -> CompiledModel:
        """The first, and mostly only, model."""
        return self.models[0]


def generate(
    models: Sequence[tuple[Graph, Plan]],
    target: Target,
    *,
    name: str | None = None,
    command: str | None = None,
    goal: Goal = Goal.BALANCED,
    tuned: Sequence[Mapping[int, str]] = (),
) -> Library:
    """The library as text: the same input gives the same bytes.

    Args:
        models: graphs with their plans; their names must differ.
        target: the processor.
        name: of the library; None: the first model's.
        command: what stands in each file's first line; None: the equal `kibi compile` line.
        goal: what the code is good at, where nothing was measured.
        tuned: for each model, the kernels of the nodes that were measured, by the node's place in the planned graph.

    Raises:
        InputError: no model, or two of one name.
    """
    names = [graph.name for graph, _ in models]
    if not names or len(set(names)) != len(names):
        raise InputError(f"a library takes one or more models of different names; given: {', '.join(names) or 'none'}.")
    library = name or names[0]
    made_by = command or _command([graph for graph, _ in models], target)
    choices = tuned or [{}] * len(models)
    bindings = [
        Bindings(planned_graph(graph, plan), plan, target, goal, chosen)
        for (graph, plan), chosen in zip(models, choices, strict=True)
    ]
    files: dict[str, str] = {}
    every = [each for b in bindings for each in b.with_bodies]
    for b in every:
        text = model_text(b) if b in bindings else body_text(b)
        files[f"{b.prefix}.h"], files[f"{b.prefix}.c"] = text.header, text.source
        files[f"{b.prefix}_weights.h"], files[f"{b.prefix}_weights.c"] = text.weights_header, text.weights_source
    if len(bindings) > 1:
        files[f"{library}_models.h"] = _joint_header(library, bindings)
    kernels = frozenset().union(*(b.kernels for b in every))
    shared = closure(kernels, target.kernel_sets)
    needed = frozenset().union(*(call.features for b in every for call in b.calls))
    files |= {**shared, "kibi.h": _renamed(shared["kibi.h"], library, shared, needed)}
    sources = [file for file in files if file.endswith(".c")]
    files["example_main.c"] = example_main(bindings[0])
    files = {file: f"/* {made_by.replace('*/', '* /')} */\n{text}" for file, text in files.items()}
    files["CMakeLists.txt"] = cmake_lists(library, sources, made_by)
    for b in bindings:
        files[f"{b.prefix}.json"] = _record(b)
    compiled = tuple(_compiled(b) for b in bindings)
    return Library(library, target, compiled, dict(sorted(files.items())))


def _command(graphs: Sequence[Graph], target: Target) -> str:
    """The command that makes an equal library."""
    keys = dict.fromkeys(graph.signature.key for graph in graphs if graph.signature is not None)
    words = [*(graph.source for graph in graphs), "--target", target.name]
    words += [word for key in keys for word in ("--signature", key)]
    line = f"kibi compile {' '.join(words)}"
    return "".join(each if each.isprintable() else "?" for each in line)


def write(library: Library, directory: Path) -> Library:
    """Write the files; each is complete or absent, whatever happens.

    Raises:
        OutputError: the directory is a file, or cannot be written.
    """
    write_folder(directory, library.files)
    return replace(library, directory=directory)


def _compiled(b: Bindings) -> CompiledModel:
    numbers = range(len(b.graph.nodes))
    return CompiledModel(
        graph=b.graph,
        plan=b.plan,
        functions=tuple(map(b.function, numbers)),
        labels=tuple(map(b.label, numbers)),
        kernels=tuple(call.kernel for call in b.calls),
        pointers=(len(b.regions) or 1) + len(b.supplied) + bool(b.variables),
        cursor_bytes=(5 if b.can_end else 4) * b.cursor_bytes if b.streams else 0,
        supplied=b.supplied,
        regions=b.regions,
        variable_bytes=b.variable_bytes,
    )


def _joint_header(library: str, bindings: Sequence[Bindings]) -> str:
    upper = library.upper()
    includes = "".join(f'#include "{b.prefix}.h"\n' for b in bindings)
    joint = ""
    if not any(b.regions for b in bindings):
        size = max(b.plan.arena_bytes for b in bindings)
        alignment = max(memory_c.alignment(b, b.plan.region_names[0]) for b in bindings)
        joint = f"""
/* One arena of this size serves all models of this library, one after another: the largest, not the sum. */
#define {upper}_MODELS_ARENA_BYTES {size}u
#define {upper}_MODELS_ARENA_ALIGNMENT {alignment}u
"""
    return f"""#ifndef {upper}_MODELS_H
#define {upper}_MODELS_H

{includes}{joint}
#endif
"""


def _renamed(text: str, library: str, files: Mapping[str, str], needed: frozenset[str]) -> str:
    """`kibi.h` with a prefix for each kernel function, so that libraries made apart link into one firmware.

    Args:
        text: the header.
        library: the prefix.
        files: the texts of all kernels' files, by name.
        needed: the features that some call needs; all others of these kernels are left out.
    """
    functions = sorted(file.removesuffix(".c") for file in files if file.endswith(".c"))
    lines = "".join(f"#define {function} {library}_{function}\n" for function in functions)
    note = "/* This library's own copies of the kernels have names of their own, so that several libraries link together. */\n"
    unused = sorted({name for file in files.values() for name in _FEATURE.findall(file)} - needed)
    if unused:
        note = f"/* Parts of kernels that no layer of this library needs. */\n{_left_out(unused)}\n{note}"
    head, guard, tail = text.rpartition("\n#endif\n")
    return f"{head}\n{note}{lines}{guard}{tail}"


def _left_out(features: Sequence[str]) -> str:
    return "".join(f"#define {name} 0\n" for name in features)


def _record(b: Bindings) -> str:
    """The plan and what it is for; `solve_seconds` is left out, because equal inputs give equal bytes."""
    plan = asdict(replace(b.plan, solve_seconds=0.0))
    kernels = [
        {"operator": site.node.label, "kernel": call.kernel} for site, call in zip(b.graph.sites, b.calls, strict=True)
    ]
    record = {
        "kibi": __version__,
        "model": b.graph.source,
        "target": b.target.name,
        "kernels": kernels,
        "plan": {"format": 1, **plan},
    }
    return json.dumps(record, indent=1) + "\n"
