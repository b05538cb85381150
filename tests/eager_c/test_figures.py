"""What the library costs on a Cortex-M4: bytes of code, and of RAM for a tensor."""

import re
from pathlib import Path

import pytest

from kibi.eager.tensors.layouts import RamTensorLayout
from kibi.eager_c.sources import library_texts, operators
from kibi.targets import target
from kibi.toolchain import build_image
from tests.docs.documents import DOCS
from tests.eager_c.library import write
from tests.toolchain.tools import check_cross

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_FUNCTION = re.compile(r"^[a-z][\w ]*?\*?\b(kibi_\w+)\(", re.MULTILINE)
_ARENA = ("kibi_arena.h", "kibi_handle_arena.h")
_REST = ("kibi_handler.h", "kibi_tensor.h")
_HEADER_BYTES = 8


def _functions(folder: Path, headers: tuple[str, ...]) -> list[str]:
    """The functions that headers declare, without those that are inline."""
    found: list[str] = []
    for header in headers:
        text = _COMMENT.sub("", (folder / header).read_text(encoding="utf-8"))
        found += [
            name for name in _FUNCTION.findall(text) if not name.startswith(("kibi_align", "kibi_get_", "kibi_set_"))
        ]
    return found


def _code_bytes(folder: Path, entries: list[str], compiler: str) -> int:
    """Bytes of functions and constants, without those of the C library."""
    sources, core = sorted(folder.glob("*.c")), target("cortex-m4")
    image = build_image(sources, core, entries=entries, compiler=compiler, level="s", includes=[folder])
    shared = {first: end - first for first, end, name in image.functions if "mem" in name}
    return image.code_bytes - sum(shared.values())


_KEEP = """#include "kibi_tensor.h"
const kibi_access *keep(int kind);
const kibi_access *keep(int kind)
{
    return kind == 0 ? &kibi_row_access : kind == 1 ? &kibi_camera_access : &kibi_file_access;
}
"""
_AT_MOST = (2000, 1500, 800)
"""Bytes of each line of the page's table, with either compiler."""


@pytest.mark.parametrize("compiler", ["gcc", "zig"])
def test_code_is_as_small_as_the_page_says(compiler: str, tmp_path: Path) -> None:
    """Handles and the arena that moves blocks; handlers, contexts and tensors with an address; tensors in rows."""
    if compiler == "gcc":
        check_cross()
    write(tmp_path, {name.path: text.text for name, text in library_texts((), target("cortex-m4")).items()})
    (tmp_path / "keep.c").write_text(_KEEP, encoding="utf-8")
    handlers = _code_bytes(tmp_path, _functions(tmp_path, ("kibi_handler.h",)), compiler)
    arena = _code_bytes(tmp_path, _functions(tmp_path, (*_ARENA, "kibi_handler.h")), compiler) - handlers
    plain = _code_bytes(tmp_path, _functions(tmp_path, (*_ARENA, *_REST)), compiler)
    rows = _code_bytes(tmp_path, [*_functions(tmp_path, (*_ARENA, *_REST)), "keep"], compiler)
    measured = (arena, plain - arena, rows - plain)
    page = (DOCS / "c-by-hand.md").read_text(encoding="utf-8").partition("## What it costs")[2]
    table = re.findall(r"\| ([\d,]+) bytes \| ([\d,]+) bytes \|", page)
    told = [int(line[compiler == "zig"].replace(",", "")) for line in table]
    assert all(abs(a - b) <= b * (0.05 if compiler == "gcc" else 0) for a, b in zip(measured, told, strict=True)), (
        measured
    )
    assert all(a <= b for a, b in zip(measured, _AT_MOST, strict=True))


def test_page_lists_every_operator() -> None:
    """No operator of the library is missing on its page."""
    page = (
        (DOCS / "c-by-hand.md").read_text(encoding="utf-8").partition("## Operators")[2].partition("## From Python")[0]
    )
    assert set(re.findall(r"`(\w+)`", page.partition("|---|---|")[2])) == set(operators())


def test_tensor_takes_24_bytes_of_ram() -> None:
    """Its descriptor with its handle, and the header of its block; a test compares the former with the compiler's."""
    import ctypes  # noqa: PLC0415

    assert ctypes.sizeof(RamTensorLayout) + _HEADER_BYTES == 24
