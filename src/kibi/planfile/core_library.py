"""A core as a folder that is ready to use: its C, a list of its kernels, a build file, an example."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kibi.codegen.earlier import file_digest
from kibi.codegen.provenance import cmake_first_lines, first_lines, license_text
from kibi.errors import InputError
from kibi.files import read_text
from kibi.kernels.params import PARAMS
from kibi.packages.cmake.lists import cmake_lists
from kibi.planfile.core_c import CORE, core_texts
from kibi.planfile.kernel_ids import kernel_id, part_id, parts_of
from kibi.planfile.records import VERSION
from kibi.planner.saved_records import RecordError, load_json, read_record
from kibi.targets import Target
from kibi.text.c import CCode, file_text
from kibi.text.file_name import FileName
from kibi.text.file_text import FileText
from kibi.text.json import json_text
from kibi.version import __version__

CORE_FILE = "core.json"
ADAPTERS = "adapters"
_MOST_BYTES = 1 << 20
_NAME = "kibi_core"


@dataclass(frozen=True, slots=True)
class CoreKernel:
    """A kernel that a core has: its name, and the id under which files ask for it."""

    name: str
    id: int


@dataclass(frozen=True, slots=True)
class Core:
    """What a core can run.

    Attributes:
        target: name of the processor that it is for.
        version: of the plan files that it takes.
        kernels: by ascending id.
        without: parts of these kernels that it leaves out, by their macros.
    """

    target: str
    version: int
    kernels: tuple[CoreKernel, ...]
    without: tuple[str, ...] = ()

    @staticmethod
    def of(kernels: Sequence[str], target: Target, parts: frozenset[str] | None = None) -> "Core":
        """Returns the core with these kernels.

        Args:
            kernels: their names.
            target: the processor.
            parts: the parts of these kernels that it has; None: all.

        Raises:
            InputError: one of them is none of Kibi's own.
        """
        listed = sorted((CoreKernel(name, kernel_id(name)) for name in set(kernels)), key=lambda each: each.id)
        every = parts_of(each.name for each in listed)
        return Core(target.name, VERSION, tuple(listed), () if parts is None else tuple(sorted(every - parts)))

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of its table, ascending: kernels, and the parts of theirs that it has."""
        parts = parts_of(self.names) - set(self.without)
        return tuple(sorted([*(each.id for each in self.kernels), *map(part_id, parts)]))

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(each.name for each in self.kernels)


def core_files(core: Core, target: Target, command: str) -> Mapping[FileName, FileText]:
    """Returns the files of a core, by their paths in its folder.

    Args:
        core: its kernels.
        target: the processor.
        command: what made it, for the first line of each file.
    """
    made: dict[FileName, CCode] = dict(core_texts(core.names, target, frozenset(core.without)))
    sources, headers = ([name for name in made if name.suffix == suffix] for suffix in (".c", ".h"))
    made[FileName("example_main.c")] = file_text(CORE / "example_main.c")
    for path in sorted((CORE / ADAPTERS).glob("*.c")):  # not built: each needs a library that the application chooses
        made[FileName(path.name, ADAPTERS)] = file_text(path)
    texts: dict[FileName, FileText] = {name: first_lines(command, ()) + text for name, text in made.items()}
    texts[FileName("CMakeLists.txt")] = cmake_lists(
        _NAME, sources, headers, cmake_first_lines(command, ()), FileName("example_main.c")
    )
    texts[FileName("LICENSE")] = license_text()
    digests = {name.path: file_digest(text.text) for name, text in sorted(texts.items(), key=lambda each: each[0].path)}
    texts[FileName(CORE_FILE)] = json_text(
        {
            "kibi": __version__,
            "target": core.target,
            "version": core.version,
            "kernels": [{"name": each.name, "id": each.id} for each in core.kernels],
            "without": list(core.without),
            "files": digests,
        }
    )
    return dict(sorted(texts.items(), key=lambda each: each[0].path))


def load_core(path: Path) -> Core:
    """Reads the list of a core's kernels: `core.json`, or the folder that holds it.

    Raises:
        InputError: there is no such file, or it is no such list, or of another version.
    """
    place = path / CORE_FILE if path.is_dir() else path
    text = read_text(place, _MOST_BYTES, InputError, f"Give the {CORE_FILE} that `kibi core` wrote.")
    try:
        core = read_record(Core, load_json(text))
    except RecordError as error:
        raise InputError(f"{place} lists no core's kernels: {error}. Make it again with `kibi core`.") from None
    known = [each for each in core.kernels if each.name in PARAMS and kernel_id(each.name) == each.id]
    own = [each.id for each in core.kernels]
    if (
        core.version != VERSION
        or len(known) != len(own)
        or own != sorted(set(own))
        or not parts_of(core.names).issuperset(core.without)
    ):
        others = ", ".join(each.name for each in core.kernels if each not in known) or f"format {core.version}"
        raise InputError(f"{place} is of another version of Kibi ({others}). Make the core again, or use that version.")
    return core
