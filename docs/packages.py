"""The picture of Kibi's packages and their imports, made from the code."""  # noqa: INP001

import ast
from collections.abc import Mapping
from functools import cache
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path

from layered import Sizes, layout

import kibi
from kibi.reports.memory_shapes import INK, Box, document, label, line

_SOURCE = Path(kibi.__file__).parent
_FILL, _EDGE = "#e8eef7", "#6688aa"
_SIZES = Sizes(box=(118.0, 40.0), lane=2.0, gap=(22.0, 44.0), margin=24.0)


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """Returns which packages each package imports; what only types need does not count."""
    found: dict[str, set[str]] = {}
    for path in sorted(_SOURCE.rglob("*.py")):
        package = path.relative_to(_SOURCE).parts[0].removesuffix(".py")
        if package not in ("__init__", "__main__"):
            own = found.setdefault(package, set())
            own |= {name for name in _imported(path) if name != package}
    return {package: frozenset(names & found.keys()) for package, names in found.items()}


def _imported(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {f"{node.module}.{alias.name}" for alias in node.names} if node.module == "kibi" else {node.module}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("kibi.")}


def storeys() -> tuple[tuple[str, ...], ...]:
    """Returns the packages by storey, the ground floor first.

    Each is one above the highest that it imports; one that imports nothing is one below the lowest that imports it.
    """
    given = imports()
    height: dict[str, int] = {}
    for package in TopologicalSorter({name: given[name] for name in sorted(given)}).static_order():
        height[package] = 1 + max((height[each] for each in given[package]), default=-1)
    for package in sorted(given):
        if not given[package]:
            height[package] = min((height[each] for each in given if package in given[each]), default=1) - 1
    levels = range(max(height.values()) + 1)
    return tuple(tuple(sorted(name for name in height if height[name] == level)) for level in levels)


def _direct() -> Mapping[str, frozenset[str]]:
    """Returns the imports that no chain of others implies: the lines that are drawn."""
    given = imports()

    @cache
    def reached(package: str) -> frozenset[str]:
        return given[package].union(*(reached(each) for each in given[package]))

    return {
        package: names - frozenset[str]().union(*(reached(each) for each in names)) for package, names in given.items()
    }


def packages_picture() -> str:
    """Returns the picture: a box for each package, a line to each that it imports and that no chain of lines implies."""
    placed = layout(storeys(), _direct(), _SIZES)
    lines = [line(start, end, _EDGE) for points in placed.lines.values() for start, end in pairwise(points)]
    for name, (left, top) in placed.corners.items():
        box = Box(left, top, left + _SIZES.box[0], top + _SIZES.box[1])
        modules = [*(_SOURCE / name).rglob("*.py")] or [_SOURCE / f"{name}.py"]
        lines.append(box.draw(fill=_FILL, stroke=INK))
        lines.append(label(box.middle[0], box.middle[1] - 2, name, anchor="middle"))
        count = f"{len(modules)} module{'s' if len(modules) > 1 else ''}"
        lines.append(label(box.middle[0], box.middle[1] + 13, count, anchor="middle", size=11))
    return document(placed.width, placed.height, "Kibi's packages: each imports only what is below it", lines)
