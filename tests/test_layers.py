"""The layers: imports point one way."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import kibi

SOURCE = Path(kibi.__file__).parent
LAYERS = (
    ("version", "printable", "renames", "used_tools"),
    ("errors", "dtypes"),
    ("text",),
    ("files",),
    ("targets", "quant", "kernels"),
    ("ir",),
    ("ops",),
    ("selection", "frontends", "passes"),
    ("toolchain",),
    ("planner",),
    ("eager",),
    ("runtime", "codegen"),
    ("packages",),
    ("tflm", "arrays", "planfile"),
    ("eager_c", "update"),
    ("emulator",),
    ("debugger", "programs"),
    ("qemu", "serial_line"),
    ("engines", "clusters"),
    ("reports",),
    ("quantization",),
    ("pages",),
    (
        "api",
        "demo",
        "evaluations",
        "interpreters",
        "model_reports",
        "plan_files",
        "eager_files",
        "quantizations",
        "updates",
    ),
    ("conversion", "measurements"),
    ("sweeps", "gate", "schemas"),
    ("cli", "pytest_plugin"),
    ("__main__",),
)
"""Left to right; a module imports from its own package and from those in layers to the left of it."""
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def _imports(path: Path) -> list[str]:
    """The parts of Kibi that a file imports, at its top or inside functions; what only types need does not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names += [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "kibi" else [node.module]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return [name.split(".")[1] for name in names if name.startswith("kibi.")]


@pytest.mark.parametrize(
    "path", [path for path in sorted(SOURCE.rglob("*.py")) if path.parent != SOURCE or path.stem != "__init__"], ids=str
)
def test_module_imports_only_from_the_left(path: Path) -> None:
    """No module imports from a layer to its right, nor from another package in its own layer."""
    part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert part in RANK, f"{part} has no place among the layers"
    for imported in _imports(path):
        assert imported == part or RANK[imported] < RANK[part], (
            f"{path.relative_to(SOURCE)} imports kibi.{imported}, which is not to its left"
        )


def test_modules_of_graphs_import_in_a_circle_of_two_at_most() -> None:
    """Graphs hold operators, whose methods take nodes of graphs; imports for types count, too."""
    imported = {}
    for path in (SOURCE / "ir").rglob("*.py"):
        if path.stem == "__init__":
            continue
        nodes = [
            node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.ImportFrom)
        ]
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        imported[name] = {str(node.module).removeprefix("kibi.") for node in nodes}
    reached = {name: {name} for name in imported}
    for _ in imported:
        for others in reached.values():
            others.update(*(imported.get(each, set()) for each in tuple(others)))
    circles = {
        name: {other for other in imported if other in reached[name] and name in reached[other]} for name in imported
    }
    assert {name for name, circle in circles.items() if len(circle) > 1} == {"ir.graph", "ir.operator"}


def test_import_of_kibi_starts_nothing_heavy() -> None:
    """`import kibi` loads no compiler, emulator, schema, terminal or oracle code."""
    code = "import sys, kibi; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"unicorn", "elftools", "tflite", "flatbuffers", "rich", "typer", "PIL", "tflite_micro", "kibi.tflm"}
    assert not heavy & set(done.stdout.split())


def test_every_package_is_in_the_table_of_the_documents() -> None:
    """`docs/how-it-works.md` says what each package holds."""
    page = (SOURCE.parents[1] / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    table = page[page.index("| package | what it holds |") :]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    named = {name.strip(" `") for row in rows for name in row.split(",")}
    assert named == RANK.keys() - {"__main__"}


def test_rooms_of_the_command_line_import_one_way() -> None:
    """Verbs use what they print with, that uses the options, and both use the terminal; a verb may use another verb."""
    rooms = (("failure", "envelope"), ("terminal",), ("options",), ("output",), ("commands",), ("main",), ("entry",))
    rank = {name: place for place, names in enumerate(rooms) for name in names}
    for path in (SOURCE / "cli").rglob("*.py"):
        room = path.relative_to(SOURCE / "cli").parts[0].removesuffix(".py")
        if room.startswith("__"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("kibi.cli."):
                used = node.module.split(".")[2]
                assert used == room or rank[used] < rank[room], f"{path.relative_to(SOURCE)} imports {node.module}"
