"""What a debugger sets in a core with Helium before code runs, and cores that lack it."""

from typing import cast

import pytest

from kibi.debugger import Session, processor_of
from kibi.errors import BoardError
from kibi.targets import target

_VTOR, _CCR, _CPACR, _MVFR1 = 0xE000_ED08, 0xE000_ED14, 0xE000_ED88, 0xE000_EF44


class _Core:
    """A session with a core of which only registers matter.

    Args:
        vectors: what the core says of its vectors: 0 for none, 1 for integers, 2 for floats, too.
    """

    name = "localhost:3333"

    def __init__(self, vectors: int) -> None:
        self.words = {_CCR: 0x201, _CPACR: 0, _MVFR1: 0x1210_0011 | vectors << 8}

    def read_word(self, address: int) -> int:
        """A register."""
        return self.words[address]

    def store(self, address: int, value: int) -> None:
        """Sets one."""
        self.words[address] = value


def _set_up(core: _Core, name: str) -> None:
    processor_of(name, "it").set_up(cast("Session", core), target(name), 0x1000_0000, core.store)


@pytest.mark.parametrize("name", ["cortex-m55", "cortex-m85"])
def test_core_with_helium_gets_its_vectors_floats_and_cache_of_loops(name: str) -> None:
    """Other bits of the registers stay."""
    core = _Core(2)
    _set_up(core, name)
    assert core.words == {_VTOR: 0x1000_0000, _CCR: 0x80201, _CPACR: 0xF << 20, _MVFR1: 0x1210_0211}


@pytest.mark.parametrize("vectors", [0, 1])
def test_core_without_helium_for_floats_is_refused(vectors: int) -> None:
    """Makers leave it out of some cores with the same number."""
    with pytest.raises(BoardError, match="without Helium for integers and floats, but code for cortex-m55 uses it"):
        _set_up(_Core(vectors), "cortex-m55")


def test_core_that_never_has_helium_keeps_its_settings() -> None:
    """A Cortex-M33 has no such register."""
    core = _Core(0)
    del core.words[_MVFR1]
    _set_up(core, "cortex-m33")
    assert core.words == {_VTOR: 0x1000_0000, _CCR: 0x201, _CPACR: 0xF << 20}


@pytest.mark.parametrize(
    ("number", "name", "runs"),
    [
        (0x411F_D221, "Cortex-M55 r1p1", {"cortex-m55"}),
        (0x411F_D230, "Cortex-M85 r1p0", {"cortex-m85"}),
        (0x411F_D210, "Cortex-M33 r1p0", {"cortex-m33"}),
    ],
)
def test_core_runs_the_code_of_its_own_target_alone(number: int, name: str, runs: set[str]) -> None:
    """By its CPUID."""
    family = processor_of("cortex-m55", "it")
    for each in family.targets:
        assert family.named(number, target(each)) == (name, each in runs)
