"""Unity files: a few sources that include many, so that a compiler reads shared headers a few times only."""

import re
from collections.abc import Sequence
from pathlib import Path

_DEFINED = re.compile(r"^(?:static\b[^;={(]*?\b(\w+)\s*[([=;]|#define\s+(\w+)|typedef\b[^;]*?\b(\w+);)", re.MULTILINE)
_ENUM = re.compile(r"^enum \{([^}]*)\}", re.MULTILINE)
_CONSTANT = re.compile(r"(?:^|,)(?:\s|/\*.*?\*/)*(\w+)", re.DOTALL)
_INCLUDED = re.compile(r'^#include "([\w.]+)"', re.MULTILINE)


def unity_files(sources: Sequence[Path], folder: Path) -> list[Path]:
    """Writes files into a folder that include each source once; returns their paths.

    A source goes into the first file in which no name of its own has another meaning: functions, constants, types and macros of a
    source or of a header that it includes.
    """
    units: list[dict[str, Path]] = []
    members: list[list[Path]] = []
    for source in sources:
        names = _names(source)
        place = next(
            (place for place, unit in enumerate(units) if all(unit.get(name, at) == at for name, at in names.items())),
            len(units),
        )
        if place == len(units):
            units.append({})
            members.append([])
        units[place] |= names
        members[place].append(source)
    made = [folder / f"unity_{place}.c" for place in range(len(members))]
    for path, its in zip(made, members, strict=True):
        path.write_text("".join(f'#include "{source.name}"\n' for source in its))
    return made


def _names(source: Path) -> dict[str, Path]:
    """What a source and the headers that it includes define, and where first."""
    found: dict[str, Path] = {}
    seen, left = {source}, [source]
    while left:
        file = left.pop()
        text = file.read_text()
        constants = (name for each in _ENUM.findall(text) for name in _CONSTANT.findall(each))
        defined = (name for names in _DEFINED.findall(text) for name in names if name)
        found = dict.fromkeys((*defined, *constants), file) | found
        headers = {file.parent / header for header in _INCLUDED.findall(text)} - seen
        seen |= headers
        left += headers
    return found
