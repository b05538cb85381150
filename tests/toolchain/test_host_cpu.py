"""Code for the host belongs to its processor: another one gets objects of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kibi.targets import target
from kibi.toolchain import compile_objects, host_cpu

_X86 = (
    "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu avx2\nbogomips\t: {}\n\nprocessor\t: 1\nflags\t\t: other\n"
)
_ARM = "processor\t: 0\nBogoMIPS\t: {}\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n\n"


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    """No test's processor is left behind."""
    yield
    host_cpu.host_cpu.cache_clear()


@pytest.mark.parametrize(("name", "is_own"), [("host", True), ("cortex-m4", False)])
def test_another_processor_compiles_host_code_again(
    name: str, is_own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache that machines share never gives one the instructions of another; device code it gives to all."""
    source = tmp_path / "source.c"
    source.write_text("int f(void);\nint f(void) { return 3; }\n", encoding="utf-8")
    made: list[Path] = []
    for processor in ("one", "other", "one"):
        monkeypatch.setattr("kibi.toolchain.compile.host_cpu", lambda processor=processor: processor)
        made += compile_objects([source], target(name))
    assert made[0] == made[2]
    assert (made[0] != made[1]) == is_own


@pytest.mark.parametrize("text", [_X86, _ARM], ids=["x86", "Arm"])
def test_processor_is_told_by_its_features(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a compiler looks at is told, on x86 and on Arm; what changes from start to start is not."""
    information, told = tmp_path / "cpuinfo", []
    monkeypatch.setattr(host_cpu, "_INFORMATION", information)
    for speed, old, new in (
        ("4000.00", "", ""),
        ("4001.00", "", ""),
        ("4000.00", "avx2", "avx"),
        ("1", "asimd", "sve"),
    ):
        information.write_text((text.replace(old, new) if old else text).format(speed), encoding="utf-8")
        host_cpu.host_cpu.cache_clear()
        told.append(host_cpu.host_cpu())
    assert told[0] == told[1]
    assert len(set(told)) == 2
    assert "other" not in told[0]


def test_processor_is_told_where_the_system_lists_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the list of features, what Python knows will do."""
    monkeypatch.setattr(host_cpu, "_INFORMATION", tmp_path / "none")
    host_cpu.host_cpu.cache_clear()
    assert host_cpu.host_cpu().strip()
