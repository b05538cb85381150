"""The picture of Kibi's packages and their imports, made from the code."""  # noqa: INP001

import ast
from collections.abc import Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import kibi
from kibi.reports.memory_shapes import INK, Box, document, label, line

_SOURCE = Path(kibi.__file__).parent
_FILL, _EDGE = "#e8eef7", "#6688aa"
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 118.0, 40.0, 26.0, 40.0, 24.0


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
    """Returns the packages by storey, the ground floor first: each stands one above the highest that it imports."""
    given = imports()
    height: dict[str, int] = {}
    for package in TopologicalSorter({name: given[name] for name in sorted(given)}).static_order():
        height[package] = 1 + max((height[each] for each in given[package]), default=-1)
    levels = range(max(height.values()) + 1)
    return tuple(tuple(sorted(name for name in height if height[name] == level)) for level in levels)


def _direct() -> Mapping[str, frozenset[str]]:
    """Returns the imports that no chain of others implies: the arrows that are drawn."""
    given = imports()

    @cache
    def reached(package: str) -> frozenset[str]:
        return given[package].union(*(reached(each) for each in given[package]))

    return {
        package: names - frozenset[str]().union(*(reached(each) for each in names)) for package, names in given.items()
    }


def packages_picture() -> str:
    """Returns the picture: a box for each package, an arrow to each that it imports and that no other arrow implies."""
    levels = storeys()
    widest = max(map(len, levels))
    width = 2 * _MARGIN + widest * _WIDTH + (widest - 1) * _GAP_X
    height = 2 * _MARGIN + len(levels) * _HEIGHT + (len(levels) - 1) * _GAP_Y
    boxes = {}
    for level, storey in enumerate(levels):
        top = height - _MARGIN - (level + 1) * _HEIGHT - level * _GAP_Y
        left = (width - len(storey) * _WIDTH - (len(storey) - 1) * _GAP_X) / 2
        for place, name in enumerate(storey):
            start = left + place * (_WIDTH + _GAP_X)
            boxes[name] = Box(start, top, start + _WIDTH, top + _HEIGHT)
    lines = []
    for package, names in sorted(_direct().items()):
        for name in sorted(names):
            upper, lower = boxes[package], boxes[name]
            lines.append(line((upper.middle[0], upper.bottom), (lower.middle[0], lower.top), _EDGE))
    for name, box in boxes.items():
        modules = [*(_SOURCE / name).rglob("*.py")] or [_SOURCE / f"{name}.py"]
        lines.append(box.draw(fill=_FILL, stroke=INK))
        lines.append(label(box.middle[0], box.middle[1] - 2, name, anchor="middle"))
        count = f"{len(modules)} module{'s' if len(modules) > 1 else ''}"
        lines.append(label(box.middle[0], box.middle[1] + 13, count, anchor="middle", size=11))
    return document(width, height, "Kibi's packages: each imports only what stands below it", lines)
