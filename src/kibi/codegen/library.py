"""Libraries: the files of one or several models and the kernels that they share, generated as text and written whole."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import dropwhile
from pathlib import Path
from typing import Any

from kibi.codegen import lives_c, memory_c, staged_c
from kibi.codegen.earlier import file_digest, obsolete_files
from kibi.codegen.emit_context import EmitContext
from kibi.codegen.example_c import ExampleText, example_text
from kibi.codegen.extras import NO_EXTRAS, Extras
from kibi.codegen.joint_c import joint_header, least_lead
from kibi.codegen.model_c import ModelText, body_text, model_text
from kibi.codegen.provenance import LICENSE, digest, first_lines, license_text, of_weights
from kibi.errors import InputError
from kibi.files import write_folder
from kibi.ir import Graph, KernelCall, early_exits
from kibi.kernels import closure, is_shipped
from kibi.planner import Plan, PlannedModel
from kibi.planner.plan import FORMAT, RegionUse
from kibi.planner.together import JointPlan
from kibi.selection.variant import Goal
from kibi.targets import Target
from kibi.text.c import CCode, code, identifier, lines, word
from kibi.text.file_name import FileName
from kibi.text.file_text import FileText
from kibi.text.json import json_text
from kibi.version import __version__

FEATURE = re.compile(r"^#ifndef (KIBI_\w+)\n#define \1 1\b", re.MULTILINE)
"""The lines with which a kernel's file declares a macro, which encloses a part that can be left out."""
KERNELS = "kernels"
"""The folder of the kernels and of the headers that they include."""
SEQUENCE_BYTES = 4
"""Bytes of the number of a checkpoint."""
_WORD_BYTES = 8
"""Variables in a model's struct are aligned for any element."""


@dataclass(frozen=True, slots=True)
class CompiledModel:
    """One model of a library.

    Attributes:
        planned: the model and plan that were compiled.
        functions: the C function that runs the steps of each node.
        labels: the name of each node in reports.
        kernels: the C kernel that the steps of each node call.
        pointers: number of pointers in the model's struct.
        cursor_bytes: bytes after the pointers that hold the position of an inference that waits for a row or a slice.
        external: the tensors in external buffers, in the order of their numbers.
        regions: the regions that `init` is given; none where there is one arena.
        variable_bytes: bytes in the struct of the tensors that keep their values between inferences.
        extras: its optional parts.
        arena_bytes: bytes of its arena, or of its regions together: those of the plan, after what a lease takes in each.
        lead_bytes: of these, what a lease takes in the arena, or in each region.
        region_alignments: what the header asks of the start of the arena, or of each region, in bytes.
        sequence_bytes: bytes in the struct of the number of the newest checkpoint.
        weights: its weights as they are in slow memory; none where they are constants.
    """

    planned: PlannedModel
    functions: tuple[str, ...]
    labels: tuple[str, ...]
    kernels: tuple[str, ...]
    pointers: int = 1
    cursor_bytes: int = 0
    external: tuple[int, ...] = ()
    regions: tuple[RegionUse, ...] = ()
    variable_bytes: int = 0
    extras: Extras = NO_EXTRAS
    arena_bytes: int = 0
    lead_bytes: int = 0
    region_alignments: tuple[int, ...] = (1,)
    sequence_bytes: int = 0
    weights: bytes = field(default=b"", repr=False)

    @property
    def graph(self) -> Graph:
        """The graph, with a kernel for each node."""
        return self.planned.graph

    @property
    def plan(self) -> Plan:
        """Its plan."""
        return self.planned.plan

    @property
    def region_bytes(self) -> tuple[int, ...]:
        """Bytes of each region that `init` is given; of the arena where there are none."""
        return tuple(self.lead_bytes + use.used_bytes for use in self.regions) or (self.arena_bytes,)

    def state_bytes(self, pointer_bytes: int = 4) -> int:
        """`sizeof` the model's struct where pointers have that many bytes."""
        size, unit = self.pointers * pointer_bytes, pointer_bytes
        if self.variable_bytes:
            size, unit = -(-size // _WORD_BYTES) * _WORD_BYTES + self.variable_bytes, _WORD_BYTES
        return -(-(size + self.sequence_bytes + self.cursor_bytes) // unit) * unit

    @property
    def early_exits(self) -> bool:
        """True if an operator may end an inference early."""
        has_fetches = any(node.op.fetches for node in self.graph.nodes)
        return bool(early_exits(self.graph) or self.graph.loops) or has_fetches

    @property
    def arrivals(self) -> tuple[tuple[int, int], ...]:
        """The rows that the caller pushes, in order: (number of the input, row)."""
        numbers = {node: self.graph.inputs.index(index) for index, node in self.graph.streamed_inputs.items()}
        return tuple((numbers[node], row) for node, row in self.plan.steps if node in numbers)


@dataclass(frozen=True)
class Library:
    """A generated library: C sources with their licence and records, and after `arranged` the other files of a package.

    Attributes:
        name: of the library, and prefix of its kernels' symbols.
        target: the processor that it is for.
        models: what is in it.
        texts: every file's text.
        directory: where they were written; None before `write`.
        data: the files of bytes: weights for slow memory, archives.
        made_by: the command that each file states.
        example: the parts of the example of the first model.
        records: what the record of each model says of it.
        package: the kind of package; empty for the sources alone.
        root: the folder of the C sources, in that of the library; empty for the library's own.
    """

    name: str
    target: Target
    models: tuple[CompiledModel, ...]
    texts: Mapping[FileName, FileText]
    made_by: str
    example: ExampleText
    records: Mapping[FileName, Mapping[str, Any]]
    directory: Path | None = None
    data: Mapping[FileName, bytes] = field(default_factory=dict)
    package: str = ""
    root: str = ""

    @cached_property
    def files(self) -> Mapping[str, str]:
        """The text of each file, by its path in the library's folder."""
        return {name.path: text.text for name, text in self.texts.items()}

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of all files in the library's folder, sorted."""
        return tuple(sorted([*self.files, *(name.path for name in self.data)]))

    @property
    def sources(self) -> tuple[str, ...]:
        """Paths of the C files to compile, in the library's folder; no example is among them."""
        folders = {self.root, f"{self.root}/{KERNELS}" if self.root else KERNELS}
        return tuple(name.path for name in self.texts if name.suffix == ".c" and name.folder in folders)

    @property
    def c_paths(self) -> tuple[str, ...]:
        """Paths of the C files and headers in the folder of the C sources, sorted: the same in every kind of package."""
        top = f"{self.root}/" if self.root else ""
        folders = {self.root, f"{top}{KERNELS}"}
        found = [name.path for name in self.texts if name.suffix in (".c", ".h") and name.folder in folders]
        return tuple(sorted(path.removeprefix(top) for path in found))

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of what `sha256sum` prints of the C files and headers, a line for each: the same in every kind of package."""
        return self._digest(lambda text: text)

    @cached_property
    def code_digest(self) -> str:
        """The same of the files without the comments with which they begin.

        These state the command. So two libraries of the same code have one digest, however the options were spelled.
        """
        return self._digest(
            lambda text: "".join(dropwhile(lambda line: line.startswith("/*"), text.splitlines(keepends=True)))
        )

    def _digest(self, part: Callable[[str], str]) -> str:
        """The SHA-256 of a line for each C file and header, with that of a part of its text."""
        top = f"{self.root}/" if self.root else ""
        lines = (f"{file_digest(part(self.files[top + path]))}  {path}\n" for path in self.c_paths)
        return file_digest("".join(lines))

    @property
    def model(self) -> CompiledModel:
        """The first, and mostly only, model."""
        return self.models[0]

    def arranged(
        self,
        texts: Mapping[FileName, FileText],
        data: Mapping[FileName, bytes] | None = None,
        *,
        package: str = "",
        root: str = "",
    ) -> "Library":
        """The library with other files, whose digests its records list.

        Args:
            texts: all texts but the records.
            data: all files of bytes; None: those that it has.
            package: the kind of package that they make.
            root: the folder of the C sources.

        Raises:
            InputError: two of them, or of them and the records, are one file where upper and lower case are the same.
        """
        kept = self.data if data is None else data
        _check_distinct([*texts, *kept, *self.records])
        digests = {name.path: file_digest(text.text) for name, text in texts.items()}
        digests |= {name.path: file_digest(content) for name, content in kept.items()}
        facts = {"package": package} if package else {}
        records = {
            name: json_text({**record, **facts, "files": dict(sorted(digests.items()))})
            for name, record in self.records.items()
        }
        every = dict(sorted({**texts, **records}.items(), key=lambda file: file[0].path))
        return replace(self, texts=every, data=kept, package=package, root=root)


def check_library(library: object) -> None:
    """Checks that a library is one.

    Raises:
        InputError: it is something else, such as a model or the path of a folder.
    """
    if not isinstance(library, Library):
        raise InputError(f"the library is {type(library).__name__}. Give what `kibi.compile` returns.")


def _check_distinct(files: Sequence[FileName]) -> None:
    """Checks that files are different ones on every system.

    Raises:
        InputError: two are the same where upper and lower case are.
    """
    taken: dict[str, FileName] = {}
    for file in files:
        _take(file, taken)


def _take(file: FileName, taken: dict[str, FileName]) -> None:
    """Notes that a name is taken.

    Args:
        file: the name.
        taken: those before it.

    Raises:
        InputError: it is taken already.
    """
    other = taken.setdefault(file.folded, file)
    if other is not file:
        raise InputError(
            f"two parts of the library would be the file {file.path}. Give one of the models another name: "
            "rename its file, or compile it into a folder of its own."
        )


def generate(
    models: Sequence[PlannedModel],
    target: Target,
    *,
    name: str | None = None,
    command: str | None = None,
    extras: Extras = NO_EXTRAS,
    joint: JointPlan | None = None,
) -> Library:
    """The library as text: the same input gives the same bytes.

    Args:
        models: their names must differ.
        target: the processor.
        name: of the library; None: the first model's.
        command: what each file states that made it; None: the equal `kibi compile` line.
        extras: the optional parts that each model gets.
        joint: the plan of all of them, if they were planned together: their plans are those of it.

    Raises:
        InputError: no model, two of one name, a name that would break the library, or two models that need one file's name, or
            one function that reads their weights.
    """
    names = [each.graph.name for each in models]
    if not names or len(set(names)) != len(names):
        raise InputError(f"a library takes one or more models of different names; given: {', '.join(names) or 'none'}.")
    library = identifier(name or names[0], "the library")
    made_by = command or _command([each.graph for each in models], target, extras)
    bindings = [EmitContext(each, target, extras=extras) for each in models]
    if lead := least_lead(bindings, joint):
        bindings = [EmitContext(each, target, extras=extras, least_lead=lead) for each in models]
    for b in bindings:
        _check_extras(b)
    if joint is not None and extras.spare:
        raise InputError(
            "--spare lends bytes that a joint plan has given to its buffers. Leave it out, and plan a further --buffer for them."
        )
    functions = [name for b in bindings if b.plan.slow_weights is not None for name in b.plan.slow_weights.functions]
    if len(set(functions)) != len(functions):
        raise InputError(
            "two models of the library read their weights by one function. Plan each with a function of its own."
        )
    files = _Files(made_by)
    for b in bindings:
        files.add_model(b, model_text(b), b.graph)
        for body in b.with_subgraphs[1:]:
            files.add_model(body, body_text(body), b.graph)
    if len(bindings) > 1 or joint is not None:
        files.add(FileName(f"{library.text}_models.h"), joint_header(library, bindings, joint))
    every = [each for b in bindings for each in b.with_subgraphs]
    checkpoints = lives_c.KERNELS if extras.checkpoints else frozenset()
    headers = frozenset({staged_c.HEADER} if any(staged_c.copied_nodes(b) for b in every) else ())
    shared = closure(checkpoints.union(*(b.kernels for b in every)), target.kernel_sets, headers)
    needed = frozenset().union(
        *(_features(call, b.plan.goal) for b in every for call in (*b.calls, *b.narrow.values()))
    )
    texts = {**shared, "kibi.h": _renamed(shared["kibi.h"], library, shared, needed)}
    for file_name, text in texts.items():
        files.add(FileName(file_name, KERNELS), text, is_ours=is_shipped(file_name))
    files.add(FileName("LICENSE"), license_text())
    plain = Library(
        library.text,
        target,
        tuple(map(_compiled, bindings)),
        files.texts,
        made_by,
        example_text(bindings[0]),
        {FileName(f"{b.prefix.text}.json"): _record(b) for b in bindings},
        data={FileName(f"{b.prefix.text}_weights.bin"): b.stored_weights.content for b in bindings if b.fetches},
    )
    return plain.arranged(files.texts)


def _features(call: KernelCall, goal: Goal) -> frozenset[str]:
    """The parts of a kernel's files that a call needs for a goal."""
    least = call.least_features
    return call.features if least is None or goal is not Goal.FLASH else least


def _check_extras(b: EmitContext) -> None:
    """Checks that a plan allows the optional parts.

    Raises:
        InputError: a checkpoint cannot save all that an inference needs.
    """
    if b.extras.checkpoints and b.external:
        name = b.graph.tensors[b.external[0]].name
        raise InputError(
            f"{b.graph.source}: a checkpoint saves the arena and the state, but {name!r} is in an external buffer. Plan with all "
            "tensors stored, or leave --checkpoints out."
        )


class _Files:
    """The files of a library, each of a name of its own.

    Args:
        made_by: the command that each C file states.
    """

    def __init__(self, made_by: str) -> None:
        self.texts: dict[FileName, FileText] = {}
        self._taken: dict[str, FileName] = {}
        self._made_by = made_by

    def add(self, file: FileName, text: FileText, models: Sequence[Graph] = (), *, is_ours: bool = True) -> None:
        """Adds a file; one of C begins with where it is from.

        Args:
            file: its name.
            text: what it holds.
            models: those that it is about; none: it does not depend on models.
            is_ours: False if somebody else wrote it.

        Raises:
            InputError: the name is taken.
        """
        _take(file, self._taken)
        if isinstance(text, CCode):
            text = first_lines(self._made_by, models, is_ours=is_ours) + text
        self.texts[file] = text

    def add_model(self, b: EmitContext, text: ModelText, model: Graph) -> None:
        """Adds the files of a model, or of a graph inside of one."""
        name = b.prefix.text
        self.add(FileName(f"{name}.h"), text.header, [model])
        self.add(FileName(f"{name}.c"), text.source, [model])
        self.add(FileName(f"{name}_weights.h"), text.weights_header, [model])
        self.add(FileName(f"{name}_weights.c"), of_weights() + text.weights_source, [model])


def _command(graphs: Sequence[Graph], target: Target, extras: Extras) -> str:
    """The command that makes an equal library."""
    keys = dict.fromkeys(graph.signature.key for graph in graphs if graph.signature is not None)
    words = [*(graph.source for graph in graphs), "--target", target.name]
    words += [word for key in keys for word in ("--signature", key)]
    words += extras.words
    return f"kibi compile {' '.join(words)}"


def write(library: Library, directory: Path) -> Library:
    """Writes the files; each is complete or absent after any failure. Files of an earlier library that are not needed are removed.

    Raises:
        OutputError: the directory is a file, or cannot be written.
    """
    obsolete = obsolete_files(directory, {**library.texts, **library.data})
    write_folder(directory, library.texts, obsolete, library.data)
    return replace(library, directory=directory)


def _compiled(b: EmitContext) -> CompiledModel:
    numbers = range(len(b.graph.nodes))
    return CompiledModel(
        planned=b.planned,
        functions=tuple(b.function(number).text for number in numbers),
        labels=tuple(map(b.label, numbers)),
        kernels=tuple(call.kernel for call in b.calls),
        pointers=(len(b.regions) or 1) + len(b.external) + bool(b.variables),
        cursor_bytes=len(b.cursor) * b.cursor_bytes,
        sequence_bytes=SEQUENCE_BYTES if b.extras.checkpoints else 0,
        external=b.external,
        regions=b.regions,
        variable_bytes=b.variable_bytes,
        extras=b.extras,
        arena_bytes=sum(b.lead_bytes + size for size in memory_c.region_sizes(b)),
        lead_bytes=b.lead_bytes,
        region_alignments=tuple(memory_c.alignment(b, name) for name in memory_c.region_names(b)),
        weights=b.stored_weights.content,
    )


def _renamed(text: CCode, library: CCode, files: Mapping[str, CCode], needed: frozenset[str]) -> CCode:
    """`kibi.h` with a prefix for each kernel function, so that libraries made apart link into one firmware.

    Args:
        text: the header.
        library: the prefix.
        files: the texts of all kernels' files, by name.
        needed: the features that some call needs; all others of these kernels are left out.
    """
    functions = sorted(file.removesuffix(".c") for file in files if file.endswith(".c"))
    unused = sorted({name for file in files.values() for name in FEATURE.findall(file.text)} - needed)
    left_out = code("")
    if unused:
        left_out = code(
            "/* Parts of kernels that no layer of this library needs. */\n$names\n",
            names=lines(code("#define $name 0\n", name=word(name)) for name in unused),
        )
    head, guard = text.divided("\n#endif\n")
    return code(
        """\
$head
${left_out}/* This library's own copies of the kernels have names of their own, so that several libraries link together. */
$names$guard""",
        head=head,
        left_out=left_out,
        names=lines(
            code("#define $function ${library}_$function\n", function=word(function), library=library)
            for function in functions
        ),
        guard=guard,
    )


def _record(b: EmitContext) -> Mapping[str, Any]:
    """The plan and what it is for; `solve_seconds` is left out, because equal inputs give equal bytes."""
    plan = asdict(replace(b.plan, solve_seconds=0.0))
    kernels = [
        {"node": number, "operator": view.node.label, "function": b.function(number).text, "kernel": call.kernel}
        for number, (view, call) in enumerate(zip(b.graph.views, b.calls, strict=True))
    ]
    return {
        "kibi": __version__,
        "license": LICENSE,
        "model": b.graph.source,
        "sha256": digest(b.graph),
        "target": b.target.name,
        "kernels": kernels,
        "plan": {"format": FORMAT, **plan},
    }
