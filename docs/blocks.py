"""The code blocks of a document: found, run in order, and their printed output written after them.

- `python` and `sh` blocks run, all those of a document in one folder that looks like the project's root; the Python ones
  share their variables.
- A `c` block whose first line is `/* name.c */` is saved under that name, for the blocks that follow.
- A `text` block directly after a block that runs is what that block prints on standard output.
- A block under `<!-- not run: reason -->` is only read.
- A document with `<!-- needs: torch, onnx -->` is left as it is where one of these Python packages is missing.
"""  # noqa: INP001 - a folder of documents and scripts, no package

import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_FENCE = re.compile(r"^(?P<mark>```+)(?P<language>\w*)\n(?P<body>.*?)^(?P=mark)$", re.MULTILINE | re.DOTALL)
_SAVED = re.compile(r"/\* (?P<name>[\w.-]+\.[ch]) \*/\n")
_NOT_RUN = re.compile(r"<!-- not run: [^>]+ -->\n\Z")
_NEEDS = re.compile(r"^<!-- needs: (?P<names>[\w, ]+) -->$", re.MULTILINE)
_UNSEEN = {"build", "dist"}
"""Entries of the project's root that blocks must not find: they make their own."""


class BlockError(Exception):
    """A block of a document failed; the text says which, and how."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block.

    Attributes:
        language: the word after the fence.
        body: its lines.
        start, end: the place of the body in the document's text.
        runs: True if it runs.
        follows: True if only blank lines are between it and the block before it.
    """

    language: str
    body: str
    start: int
    end: int
    runs: bool
    follows: bool


def blocks(text: str) -> tuple[Block, ...]:
    """Returns all fenced blocks of a document, in order."""
    found: list[Block] = []
    end = -1
    for match in _FENCE.finditer(text):
        language, before = match["language"], text[: match.start()]
        runs = language in ("python", "sh") and not _NOT_RUN.search(before)
        follows = end >= 0 and not text[end : match.start()].strip()
        found.append(Block(language, match["body"], match.start("body"), match.end("body"), runs, follows))
        end = match.end()
    return tuple(found)


def missing(text: str) -> list[str]:
    """Returns the Python packages that a document needs and that are not installed."""
    found = _NEEDS.search(text)
    return [name for name in re.findall(r"\w+", found["names"] if found else "") if find_spec(name) is None]


def run_blocks(text: str) -> str:
    """Runs the blocks of a document, and returns it with their outputs.

    Raises:
        BlockError: a block failed.
    """
    pieces: list[str] = []
    done, printed = 0, None
    variables: dict[str, Any] = {"__name__": "__main__"}
    with _project():
        for block in blocks(text):
            is_output = block.language == "text" and block.follows and printed is not None
            if is_output:
                pieces += [text[done : block.start], printed or ""]
                done = block.end
            printed = _run(block, variables)
    return "".join([*pieces, text[done:]])


def _run(block: Block, variables: dict[str, Any]) -> str | None:
    """Runs a block, and returns what it prints; None if it does not run."""
    saved = _SAVED.match(block.body)
    if block.language == "c" and saved:
        Path(saved["name"]).write_text(block.body, encoding="utf-8", newline="\n")
    if not block.runs:
        return None
    printed = _run_python(block, variables) if block.language == "python" else _run_sh(block)
    lines = (line.rstrip() for line in printed.splitlines())
    return "".join(f"{line}\n" for line in lines)


def _run_python(block: Block, variables: dict[str, Any]) -> str:
    stream = io.StringIO()
    try:
        with redirect_stdout(stream):
            exec(compile(block.body, "<document>", "exec"), variables)  # noqa: S102 - the project's own documents
    except Exception as error:
        raise BlockError(f"{type(error).__name__}: {error}\nin the block\n{block.body}") from error
    return stream.getvalue()


def _run_sh(block: Block) -> str:
    commands = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    done = subprocess.run(["sh", "-eu", "-c", block.body], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BlockError(f"exit code {done.returncode}: {done.stderr.strip()}\nin the block\n{block.body}")
    return done.stdout


@contextmanager
def _project() -> Iterator[None]:
    """Changes to a fresh folder with links to the project's files and folders."""
    with tempfile.TemporaryDirectory(prefix="kibi-docs-") as folder:
        for entry in ROOT.iterdir():
            if not entry.name.startswith(".") and entry.name not in _UNSEEN:
                (Path(folder) / entry.name).symlink_to(entry)
        with chdir(folder):
            yield


def replaced(text: str, name: str, contents: str) -> str:
    """Returns the document with new text between `<!-- name -->` and `<!-- /name -->`.

    Raises:
        BlockError: there is no such section, or there are several.
    """
    opening, closing = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    if text.count(opening) != 1 or text.count(closing) != 1:
        raise BlockError(f"the document needs one section from {opening.strip()} to {closing}")
    head, _, rest = text.partition(opening)
    _, _, tail = rest.partition(closing)
    return f"{head}{opening}{contents}{closing}{tail}"
