"""What code writes into the documents is what it would write now, and what the documents say to run does run."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.documents import DOCS, DOCUMENTS, ROOT, label
from tests.docs.fresh import PAGES_OF_FRAMEWORKS, check

_WITHOUT_BLOCKS = ("docs/operators.md", "docs/onnx-operators.md", "docs/errors.md", "docs/commands.md")
_WITH_BLOCKS = [
    path
    for path in DOCUMENTS
    if path.parent in (ROOT, DOCS) and path.name != "CHANGELOG.md" and label(path) not in _WITHOUT_BLOCKS
]


_FURTHER = (
    "boards",
    "c-by-hand",
    "c-library",
    "custom-operators",
    "cycles",
    "emulator",
    "evaluate",
    "field-updates",
    "gate",
    "json",
    "kernels",
    "lossless-passes",
    "memory-by-the-row",
    "model-files",
    "offline-plans",
    "onnx",
    "packages",
    "quantize",
    "regions",
    "report",
    "runtime",
    "slow-memory",
    "sweep",
    "tutorial",
    "wasm-and-linux",
)
"""Pages whose blocks `make check-all` alone runs."""
_CASES = [
    pytest.param(path, id=label(path), marks=[pytest.mark.slow] if path.stem in _FURTHER else [])
    for path in _WITH_BLOCKS
    if path.stem not in PAGES_OF_FRAMEWORKS
]


def test_generated_pages_are_fresh() -> None:
    """The tables of operators, errors and commands are what the code makes today."""
    check(*_WITHOUT_BLOCKS)


@pytest.mark.slow
def test_pictures_are_fresh() -> None:
    """Each picture is what the code draws today."""
    check(*(label(path) for path in sorted((DOCS / "images").glob("*.svg"))))


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize("path", _CASES)
def test_document_blocks_run_and_print_what_it_says(path: Path) -> None:
    """The code blocks of a document run from top to bottom, and print the output that follows them."""
    check(label(path))


def test_generator_looks_after_every_document_and_picture() -> None:
    """No document and no picture is left out of the checks."""
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--list"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    known = set(done.stdout.split())
    assert known == {
        *map(label, _WITH_BLOCKS),
        *_WITHOUT_BLOCKS,
        *(label(path) for path in (DOCS / "images").iterdir()),
    }


def test_stale_output_is_found_and_said_how_to_accept(tmp_path: Path) -> None:
    """A block whose output differs is rewritten; one that fails is an error."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from blocks import BlockError, run_blocks\n"
        "text = '```python\\nx = 6\\n```\\n\\n```python\\nprint(x * 7)\\n```\\n\\n```text\\nstale\\n```\\n'\n"
        "print('stale' not in run_blocks(text) and '42' in run_blocks(text))\n"
        "try:\n    run_blocks('```sh\\nexit 3\\n```\\n')\nexcept BlockError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(DOCS)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("True\nexit code 3")
