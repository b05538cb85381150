"""Boards as data: the table is sound, names are found, and files of users are checked."""

from itertools import pairwise
from pathlib import Path

import pytest

import kibi
from kibi.errors import TargetError
from kibi.targets import RunCurrent
from kibi.targets.board_file import load_board, read_boards
from kibi.targets.clock import clock_of

KNOWN_OTHER_CORES = {"xtensa-lx7"}
"""Cores of boards that people have, for which Kibi has only generic C."""
MINE = """
[[board]]
name = "mine"
core = "cortex-m4"
clock_hz = 64_000_000
ram = [{ name = "sram", bytes = 4096 }, { name = "ccm", bytes = 2_048 }]
flash_bytes = 65536
"""

CURRENT = '{ microamperes_per_mhz = 50, volts = 3, source = "sheet" }'


def test_table_has_every_field_of_every_board() -> None:
    """At least thirty boards, each with a title, a source, a core that is known, and memories of a plausible size."""
    assert len(kibi.boards()) >= 30
    names = {each.name for each in kibi.targets()}
    for each in kibi.boards():
        assert each.title != each.name
        assert each.source
        assert each.core in names | KNOWN_OTHER_CORES
        assert each.is_supported == (each.core in names)
        assert 16_000_000 <= each.clock_hz <= 600_000_000
        assert 16 << 10 <= each.ram_bytes <= 5 << 20
        assert 64 << 10 <= each.flash_bytes <= 16 << 20
        assert each.ram_bytes == sum(part.size_bytes for part in each.ram)
        assert each.largest_ram.size_bytes == max(part.size_bytes for part in each.ram)
        assert not any(part.size_bytes % 1024 for part in each.ram)
        assert each.flash_wait_states is None or each.flash_wait_states <= 7
        assert each.run_current is None or 10 <= each.run_current.microamperes_per_mhz <= 500
        assert each.run_current is None or 1.7 <= each.run_current.volts <= 3.6
        given = [(part.address, part.size_bytes) for part in each.ram if part.address is not None]
        given += [] if each.flash_address is None else [(each.flash_address, each.flash_bytes)]
        assert all(first + size <= second for (first, size), (second, _) in pairwise(sorted(given)))
        assert all(not address % 4096 and address + size <= 1 << 32 for address, size in given)
        if each.memory is not None and each.flash_wait_states is not None:
            assert each.memory.wait_states(each.clock_hz) == each.flash_wait_states
    assert len({each.run_current.source for each in kibi.boards() if each.run_current is not None}) >= 7


def test_every_name_and_alias_finds_its_board() -> None:
    """No name belongs to two boards; case, blanks and underscores do not matter."""
    listed = [(name, each) for each in kibi.boards() for name in (each.name, *each.aliases)]
    assert len({name for name, _ in listed}) == len(listed)
    for name, each in listed:
        assert kibi.board(name) is each
    assert kibi.board("Nucleo_F446RE").name == kibi.board("NUCLEO F446RE").name == "stm32f446re"


def test_board_sets_the_clock_of_its_target() -> None:
    """The rest of the target stays."""
    found = kibi.board("rp2040").target
    assert (found.name, found.clock_hz) == ("cortex-m0plus", 133_000_000)
    assert found.kernel_sets == kibi.target("cortex-m0plus").kernel_sets


def test_unknown_board_is_refused_with_similar_names() -> None:
    """And with a way to see them all."""
    with pytest.raises(TargetError, match=r"unknown board 'rp2041'\. Did you mean 'rp2040'.*kibi boards"):
        kibi.board("rp2041")


def test_board_of_another_architecture_says_so() -> None:
    """It is listed, because people have it, and gets C that any compiler takes."""
    found = kibi.board("esp32-s3")
    assert (found.is_supported, found.core) == (False, "xtensa-lx7")
    assert (found.target.name, found.target.clock_hz) == ("generic", 240_000_000)


def test_file_of_a_user_describes_a_board(tmp_path: Path) -> None:
    """What may be left out has defaults."""
    path = tmp_path / "mine.toml"
    path.write_text(f"{MINE}run_current = {CURRENT}\n")
    found = kibi.board(str(path))
    assert found.run_current == RunCurrent(50.0, 3.0, "sheet")
    assert found == kibi.board(path)
    assert (found.name, found.title, found.ram_bytes, found.flash_wait_states) == ("mine", "mine", 6144, None)
    assert (found.flash_address, [each.address for each in found.ram]) == (None, [None, None])
    path.write_text(MINE.replace("4096", "4096, address = 0x2000_0000") + "flash_address = 0x0800_0000\n")
    found = kibi.board(path)
    assert (found.flash_address, [each.address for each in found.ram]) == (0x0800_0000, [0x2000_0000, None])


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("flash_bytes", 'memory = "stm32l5"\nflash_bytes', "memory is 'stm32l5'. Give one of stm32l4, "),
        ("clock_hz", "clock_hertz", "no key 'clock_hertz'. Did you mean 'clock_hz'"),
        ('name = "mine"', "", "name is missing"),
        ('name = "mine"', 'name = "my_board"', "name is 'my_board'. Give lower-case letters"),
        ("64_000_000", "64.5", "clock_hz is 64.5. Give a whole number"),
        ("64_000_000", "true", "clock_hz is true. Give a whole number"),
        ("65536", "-1", "flash_bytes is -1. Give a whole number"),
        ("65536", str(1 << 80), "flash_bytes is 1208925819614629174706176. Give a whole number"),
        ("4096", "0", "Of sram: Give a whole number"),
        ('"ccm"', '"sram"', "Give each range a name of its own"),
        ("bytes = 4096", "size = 4096", "Give each range a name and bytes"),
        ("flash_bytes", 'aliases = ["a\\u001b"]\nflash_bytes', "aliases is ['a\\x1b']. Give a list of names"),
        ("flash_bytes", 'aliases = ["mine"]\nflash_bytes', "'mine' names 'mine' and 'mine'"),
        ("flash_bytes", f'title = "{"x" * 300}"\nflash_bytes', "Give a text of 200 characters"),
        ("flash_bytes", "run_current = 51.6\nflash_bytes", "run_current is 51.6. Give a current for each megahertz"),
        ("flash_bytes", f"run_current = {CURRENT.replace('3', '-3')}\nflash_bytes", "Of volts: Give a number above 0"),
        ("flash_bytes", f"run_current = {CURRENT.replace('50', 'nan')}\nflash_bytes", "Of microamperes_per_mhz: Give"),
        ("flash_bytes", f"run_current = {CURRENT.replace('sheet', '')}\nflash_bytes", "Of source: Give a text"),
        ("flash_bytes", "flash_address = 100\nflash_bytes", "flash_address is 100. Give a multiple of 512"),
        ("flash_bytes", "flash_address = -512\nflash_bytes", "flash_address is -512. Give a multiple of 512"),
        ("flash_bytes", "flash_address = 0xFFFF_FE00\nflash_bytes", "so that the last byte is below 2^32"),
        ("flash_bytes", "flash_address = true\nflash_bytes", "flash_address is true. Give a multiple of 512"),
        ("4096", "4096, address = 0xFFFF_FF00", "Of the address of sram: Give a multiple of 4"),
        ("4096", '4096, address = "0x20000000"', "Of the address of sram: Give a multiple of 4"),
        ("4096", "4096, place = 4", "Give each range a name and bytes"),
        ("[[board]]", "[[bord]]", "this is no list of boards"),
        ("[[board]]", "[[board", "Write TOML"),
        (MINE, MINE + MINE.replace('"mine"', '"other"'), "there are 2 boards"),
    ],
)
def test_file_that_is_wrong_is_refused_with_key_and_reason(tmp_path: Path, old: str, new: str, problem: str) -> None:
    """Whatever it holds, the error is one of targets, and names the file."""
    path = tmp_path / "mine.toml"
    path.write_text(MINE.replace(old, new, 1))
    with pytest.raises(TargetError) as caught:
        load_board(path)
    assert problem in str(caught.value)
    assert str(path) in str(caught.value)


def test_file_of_any_size_and_depth_ends_in_an_error(tmp_path: Path) -> None:
    """Nesting that TOML readers cannot follow, a folder, and a file without an end."""
    with pytest.raises(TargetError):
        read_boards("a = " + "[" * 20_000, "deep.toml")
    for path in ("/dev/zero", str(tmp_path)):
        with pytest.raises(TargetError, match="Give the name of a board"):
            load_board(path)


@pytest.mark.parametrize(
    ("text", "hertz"),
    [
        ("64M", 64_000_000),
        ("120MHz", 120_000_000),
        ("48_000_000", 48_000_000),
        (" 76.8 mhz ", 76_800_000),
        ("32768", 32_768),
        ("1.5GHz", 1_500_000_000),
        ("32k", 32_000),
    ],
)
def test_clock_is_read_as_people_write_it(text: str, hertz: int) -> None:
    """Units of thousands, with or without Hz."""
    assert clock_of(text) == hertz


@pytest.mark.parametrize("text", ["", "fast", "-1", "0", "11G", "1e9", "0.5", "M", "64 M H z", "٤٨M", "9" * 4000])
def test_text_that_is_no_clock_is_refused(text: str) -> None:
    """With an example of one that is."""
    with pytest.raises(TargetError, match="Give hertz"):
        clock_of(text)
