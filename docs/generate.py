"""Writes everything in the documents that code can write, or checks that it is fresh.

    python docs/generate.py                         write all
    python docs/generate.py --check                 check all: 1 where something is stale
    python docs/generate.py --check docs/tutorial.md README.md

Written are the pages `operators.md`, `onnx-operators.md`, `errors.md` and `commands.md`, the pictures, the figures of
the shipped model, the recorded counts, and what the code blocks of every document print.
"""  # noqa: INP001 - a folder of documents and scripts, no package

import argparse
import difflib
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from blocks import ROOT, BlockError, missing, replaced, run_blocks

_README, _KERNELS, _PLAN_FILE, _UPDATES, _WEIGHTS, _BOARDS, _CYCLES, _TARGETS = (
    ROOT / name
    for name in (
        "README.md", "docs/kernels.md", "docs/plan-file.md", "docs/field-updates.md", "docs/compressed-weights.md",
        "docs/boards.md", "docs/cycles.md", "docs/targets.md",
    )
)  # fmt: skip
_STALE, _OTHER_TOOLS = 1, 3


@cache
def _pages() -> Mapping[str, str]:
    from tables import pages  # noqa: PLC0415 - most documents need neither tables nor pictures

    return pages()


@cache
def _pictures() -> Mapping[str, str]:
    from pictures import pictures  # noqa: PLC0415 - as above

    return pictures()


def written() -> Mapping[Path, Callable[[], str]]:
    """Returns for each file a function that makes its text."""
    docs = ROOT / "docs"
    made: dict[Path, Callable[[], str]] = {}
    for name in ("operators.md", "onnx-operators.md", "errors.md", "commands.md"):
        made[docs / name] = lambda name=name: _pages()[name]  # type: ignore[misc]  # the default binds the loop's value
    for name in (
        "plan.svg",
        "plan_by_rows.svg",
        "plans_side_by_side.svg",
        "fences.svg",
        "first_rows.svg",
        "rows.svg",
        "recording.svg",
        "packages.svg",
        "update_states.svg",
        "beside_tflm.svg",
    ):
        made[docs / "images" / name] = lambda name=name: _pictures()[name]  # type: ignore[misc]  # as above
    for path in (_README, ROOT / "CONTRIBUTING.md", *sorted(docs.glob("*.md"))):
        if path not in made:
            made[path] = lambda path=path: _document(path)  # type: ignore[misc]  # as above
    return made


def _document(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path in (_README, _KERNELS, _PLAN_FILE, _UPDATES, _WEIGHTS, _BOARDS, _CYCLES, _TARGETS):
        text = _with_tables(path, text)
    return run_blocks(text)


def _with_tables(path: Path, text: str) -> str:
    import tables  # noqa: PLC0415 - as above
    from beside_tflm import beside_sentence, riscv_table  # noqa: PLC0415 - as above
    from target_tables import target_tables  # noqa: PLC0415 - as above

    made: Mapping[Path, Mapping[str, Callable[[], str]]] = {
        _README: {
            "beside": beside_sentence,
            "figures": tables.figures,
            "operators": tables.operators_sentence,
            "rows": tables.rows_sentence,
        },
        _KERNELS: {"counts": tables.recorded_counts, "beside-riscv": riscv_table},
        _PLAN_FILE: {"records": tables.records},
        _UPDATES: {"package": tables.package_records},
        _BOARDS: {"boards": tables.boards_table},
        _TARGETS: {"figures": target_tables},
        _CYCLES: {"memories": tables.memories_table},
        _WEIGHTS: {"weights": tables.recorded_weights, "int4": tables.recorded_int4},
    }
    for name, make in made[path].items():
        text = replaced(text, name, make())
    return text


def _write(path: Path, wanted: str) -> None:
    """Writes a file if it differs, and says so."""
    if not path.exists() or path.read_text(encoding="utf-8") != wanted:
        path.parent.mkdir(exist_ok=True)
        path.write_text(wanted, encoding="utf-8", newline="\n")
        sys.stdout.write(f"written: {path.relative_to(ROOT)}\n")


def _is_stale(path: Path, wanted: str) -> bool:
    """True if a file differs; prints how."""
    found = path.read_text(encoding="utf-8") if path.exists() else ""
    name = str(path.relative_to(ROOT))
    lines = difflib.unified_diff(found.splitlines(), wanted.splitlines(), name, f"{name} as it should be", lineterm="")
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return found != wanted


def main() -> int:
    """Writes or checks, and returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where something is stale")
    parser.add_argument("--list", action="store_true", help="print the files that are looked after, and stop")
    parser.add_argument("files", nargs="*", type=Path, help="only these")
    given = parser.parse_args()
    makers = written()
    if given.list:
        sys.stdout.write("".join(f"{path.relative_to(ROOT)}\n" for path in makers))
        return 0
    chosen = [path.resolve() for path in given.files] or list(makers)
    stale = False
    for path in chosen:
        if absent := missing(path.read_text(encoding="utf-8") if path.exists() else ""):
            sys.stdout.write(f"{path.relative_to(ROOT)} needs what is not installed: {', '.join(absent)}\n")
            if given.check:
                return _OTHER_TOOLS
            continue
        try:
            wanted = makers[path]()
        except BlockError as error:
            sys.stdout.write(f"{path.relative_to(ROOT)}: {error}\n")
            return _STALE
        if not given.check:
            _write(path, wanted)
        elif _is_stale(path, wanted):
            stale = True
    return _advice() if stale else 0


def _advice() -> int:
    """Says what to do about stale documents, and returns the exit code."""
    from tables import circumstances  # noqa: PLC0415 - as above

    if circumstances() not in _README.read_text(encoding="utf-8"):
        sys.stdout.write(f"The figures were measured with other tools. Here: {circumstances()}\n")
        return _OTHER_TOOLS
    sys.stdout.write("Accept this with: make docs\n")
    return _STALE


if __name__ == "__main__":
    sys.exit(main())
