"""Where rows lie, as C text: every form gives the planned offsets."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from kibi.codegen.offsets_c import Offsets, forms, offsets_text
from kibi.text.c import CCode, code, word
from kibi.toolchain import build_shared


def _cases() -> list[tuple[int, ...]]:
    """Lines, steps, rings, disturbed ones, few and many places, small and large numbers."""
    random = np.random.default_rng(5)
    cases: list[tuple[int, ...]] = [(0,), (7,), (0, 0, 0), (64, 64, 64, 64), (300, 200, 100), (0, 90000, 1, 70001)]
    for rows in (2, 5, 9, 40):
        ring = int(random.integers(2, 5))
        cases.append(tuple(16 + row * 320 for row in range(rows)))
        cases.append(tuple(16 + row % ring * 320 for row in range(rows)))
        cases.append((5000, *(row * 84 for row in range(rows)), *(9000 + row * 84 for row in range(rows))))
        cases.append(tuple((random.integers(0, 200, rows) * 28).tolist()))
        cases.append(tuple((random.integers(0, 60000, rows)).tolist()))
        cases.append(tuple(random.choice([6, 9618, 10386], rows).tolist()))
    return cases


def test_every_form_gives_the_offsets_in_c(tmp_path: Path) -> None:
    """Compiled for this machine, each form's expression has the offset of each row."""
    made: list[tuple[tuple[int, ...], Offsets]] = []
    for offsets in _cases():
        made += [(offsets, form) for form in forms(offsets, word(f"t{len(made)}_"), 2)]
    text: CCode = code("#include <stdint.h>\n")
    for number, (offsets, _) in enumerate(made):
        form = next(f for f in forms(offsets, word(f"u{number}"), 2) if f.how == made[number][1].how)
        text += code(
            "${table}int32_t f$number(int32_t row)\n{\n    (void)row;\n    return $expression;\n}\n",
            table=form.table,
            number=number,
            expression=form.expression,
        )
    source = tmp_path / "offsets.c"
    source.write_text(text.text, encoding="utf-8")
    shared = ctypes.CDLL(str(build_shared([source])))
    for number, (offsets, form) in enumerate(made):
        found = tuple(shared[f"f{number}"](row) for row in range(len(offsets)))
        assert found == offsets, form


@pytest.mark.parametrize(
    ("offsets", "how"),
    [
        (tuple(16 + 320 * row for row in range(25)), "from 16"),
        ((640,) * 25, "from 640"),
        (tuple(16 + row % 5 * 320 for row in range(60)), "in a ring of 5 rows from 16"),
        ((27648, *(384 * row for row in range(47))), "in 2 pieces"),
        ((64, 640, 128, 960, 64, 320, 64), "placed one by one, in units of 64"),
        ((1, 0, 2, 1) * 4, "placed one by one"),
        ((9216, 9618, 0) * 50 + (7,), "in 4 places"),
    ],
)
def test_form_with_the_least_flash_is_taken(offsets: tuple[int, ...], how: str) -> None:
    """A formula where one holds; a table in the smallest units; a table of places where few are used often."""
    assert offsets_text(offsets, word("name"), 2).how == how


def test_tables_have_the_smallest_entries() -> None:
    """Offsets up to 16,320 fit into 8 bits as multiples of 64, and into 16 as multiples of 2."""
    assert "uint8_t" in offsets_text((64, 16320, 0, 128, 640, 64), word("name"), 2).table.text
    assert "uint16_t" in offsets_text((66, 16320, 0, 128, 640, 64), word("name"), 2).table.text
    assert "uint8_t" in offsets_text((3, 255, 0, 7, 100, 9), word("name"), 2).table.text
    assert "uint16_t" in offsets_text((3, 256, 0, 7, 100, 9), word("name"), 2).table.text
