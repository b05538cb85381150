"""The sizes of deltas beside those of other tools are those that the page has."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.documents import DOCS
from tests.support import zoo

_ROOT = Path(__file__).resolve().parents[2]
_ROW = re.compile(r"^\| `(\w+)`(, [^|]+) \|((?: [\d,]+ \|){6})$", re.MULTILINE)
_COLUMNS = ("file", "kibi", "detools, heatshrink", "detools, lzma", "bsdiff4", "zlib")


@zoo.requires_zoo
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_pairs_have_the_sizes_of_the_page() -> None:
    """Tools that are not installed are left out."""
    page = (DOCS / "field-updates.md").read_text("utf-8")
    told = {
        row[1] + row[2]: [int(each.replace(",", "")) for each in re.findall(r"[\d,]+", row[3])]
        for row in _ROW.finditer(page)
    }
    command = [sys.executable, "benchmarks/deltas.py", "--json"]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    pairs = json.loads(done.stdout)["pairs"]
    assert len(pairs) == len(told) == 10
    for pair in pairs:
        for column, size in zip(_COLUMNS, told[pair["pair"]], strict=True):
            assert pair[column] in {size, None}, (pair, column)
