"""Files that list regions: what is read, and how each mistake is named."""

from pathlib import Path

import pytest

from kibi.errors import PlanError
from kibi.planner.regions.file import Region, load_regions, read_regions

TWO = """
[[region]]
name = "dtcm"
bytes = 65_536
cost = 1

[[region]]
name = "flash"
bytes = 0x100000
cost = 2.5
buffers = false
weights = true
"""


def test_read_regions_gives_fields_in_the_files_order() -> None:
    """Fields are read, those left out have their defaults."""
    assert read_regions(TWO, "memory.toml") == (
        Region("dtcm", 65_536, 1),
        Region("flash", 1 << 20, 2.5, holds_buffers=False, holds_weights=True),
    )


@pytest.mark.parametrize(
    ("old", "new", "texts"),
    [
        ('name = "dtcm"', 'name = "d-tcm"', ("region 'd-tcm'", "name is 'd-tcm'", "like a variable in C")),
        ('name = "dtcm"', "name = 7", ("region 1", "name is 7")),
        ('name = "dtcm"\n', "", ("region 1", "name is missing", 'name = "sram"')),
        ('name = "dtcm"', 'name = "FLASH"', ("'flash'", "'FLASH'", "Give each a name of its own")),
        ('name = "dtcm"', 'name = "flash"', ("'flash'", "name is taken")),
        ("bytes = 65_536", "bytes = 0", ("region 'dtcm'", "bytes is 0", "1 to")),
        ("bytes = 65_536", "bytes = 1e3", ("region 'dtcm'", "bytes is 1000.0")),
        ("bytes = 65_536", "bytes = true", ("region 'dtcm'", "bytes is true")),
        ("bytes = 65_536", 'bytes = "64 kB"', ("region 'dtcm'", "bytes is '64 kB'", "whole number")),
        ("bytes = 65_536\n", "", ("region 'dtcm'", "bytes is missing", "bytes = 262144")),
        ("cost = 1\n", "cost = -1\n", ("region 'dtcm'", "cost is -1", "from 0 to")),
        ("cost = 1\n", "cost = nan\n", ("region 'dtcm'", "cost is nan")),
        ("cost = 1\n", "cost = inf\n", ("region 'dtcm'", "cost is inf")),
        ("cost = 1\n", "cost = 0.1234567\n", ("region 'dtcm'", "6 decimals")),
        ("cost = 1\n", "\n", ("region 'dtcm'", "cost is missing")),
        ("cost = 1\n", "cost = 1\nspeed = 2\n", ("region 'dtcm'", "no field 'speed'", "name, bytes, cost")),
        ("weights = true", "weights = 1", ("region 'flash'", "weights is 1", "true or false")),
        ("weights = true", "weights = false", ("region 'flash'", "nothing may be placed there")),
        ('\n[[region]]\nname = "dtcm"', '\ntitle = 1\n[[region]]\nname = "dtcm"', ("no key 'title'", "[[region]]")),
        ("[[region]]", "[region]", ("memory.toml",)),
        ("= 65_536", "65_536", ("memory.toml", "line 4", "Write TOML")),
    ],
)
def test_read_regions_names_each_mistake(old: str, new: str, texts: tuple[str, ...]) -> None:
    """Every error names the file, the region, the field, and what to do."""
    assert old in TWO
    with pytest.raises(PlanError) as caught:
        read_regions(TWO.replace(old, new, 1), "memory.toml")
    for text in ("memory.toml", *texts):
        assert text in str(caught.value)


@pytest.mark.parametrize("text", ["", "region = []"])
def test_read_regions_refuses_an_empty_list(text: str) -> None:
    """A file without any region says nothing."""
    with pytest.raises(PlanError, match=r"memory\.toml: there is no region"):
        read_regions(text, "memory.toml")


@pytest.mark.parametrize("text", ["region = 3", "region = [1]", "[region]\nname = 'a'"])
def test_read_regions_refuses_what_is_no_list_of_tables(text: str) -> None:
    """One pair of brackets too few is named."""
    with pytest.raises(PlanError, match=r"two brackets"):
        read_regions(text, "memory.toml")


def test_load_regions_reads_a_file(tmp_path: Path) -> None:
    """A path will do, as text or as an object."""
    path = tmp_path / "memory.toml"
    path.write_text(TWO, encoding="utf-8")
    assert load_regions(path) == load_regions(str(path)) == read_regions(TWO, "")


def test_load_regions_names_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file, and one that is no text, are errors that name it."""
    with pytest.raises(PlanError, match=r"none\.toml: No such file"):
        load_regions(tmp_path / "none.toml")
    (tmp_path / "raw.toml").write_bytes(b"\x80\xfe\x00")
    with pytest.raises(PlanError, match=r"raw\.toml: it is no text file"):
        load_regions(tmp_path / "raw.toml")


def test_region_made_by_hand_is_checked() -> None:
    """The class itself refuses what a file could not say."""
    with pytest.raises(PlanError, match=r"region 'a': bytes is -4"):
        Region("a", -4, 1.0)
