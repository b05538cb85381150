"""The table of `docs/model-files.md` on float32 inputs is what `kibi.plan` says of the zoo's models."""

import re

import pytest

import kibi
from tests.docs.documents import DOCS
from tests.support.zoo import model_path, requires_zoo

_ROW = re.compile(r"^\| (\w+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", re.MULTILINE)
_ROWS = _ROW.findall((DOCS / "model-files.md").read_text(encoding="utf-8"))


@requires_zoo
@pytest.mark.parametrize(
    "row", [pytest.param(row, marks=[] if row[0] == "diy_alexa" else [pytest.mark.slow]) for row in _ROWS], ids=lambda row: row[0]
)  # fmt: skip
def test_arenas_are_as_the_page_says(row: tuple[str, str, str, str]) -> None:
    """With float32, with integers, and with integers that arrive by the row."""
    name, *said = row
    floats = kibi.simplify(kibi.load(model_path(name)))
    integers = kibi.simplify(kibi.load(model_path(name), quantized_inputs=True, quantized_outputs=True))
    plans = (kibi.plan(floats), kibi.plan(integers), kibi.plan(integers, input="streamed"))
    assert [f"{each.arena_bytes:,}" for each in plans] == said


def test_table_has_rows() -> None:
    """Four models."""
    assert len(_ROWS) == 4
