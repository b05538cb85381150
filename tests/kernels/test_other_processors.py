"""The sets' kernels on processors that are not theirs: plain C takes their place."""

from dataclasses import replace
from pathlib import Path

import pytest

from kibi.errors import ToolchainError
from kibi.kernels import kernel_folder, text_of
from kibi.targets import Target, target
from kibi.toolchain import compile_objects
from tests.support.amount import IS_EXHAUSTIVE, sample
from tests.toolchain.tools import check_cross

_SETS = {
    "armv7em": "cortex-m4",
    "armv7m": "cortex-m3",
    "armv6m": "cortex-m0plus",
    "thumb2": "cortex-m3",
    "riscv": "rv32imac",
    "helium": "cortex-m55",
}
_SOFT = "-mfloat-abi=soft"


def _zig(triple: str, cpu: str) -> Target:
    return replace(target("cortex-m4"), zig_target=triple, zig_cpu=cpu)


def _gcc(*flags: str) -> Target:
    return replace(target("cortex-m4"), gcc_flags=(*flags, _SOFT))


_OTHERS = {
    "big-endian Thumb": ("zig", _zig("thumbeb-freestanding-eabi", "cortex_m4")),
    "big-endian Arm": ("zig", _zig("armeb-freestanding-eabi", "cortex_a7")),
    "Arm": ("zig", _zig("arm-freestanding-eabi", "cortex_a7")),
    "big-endian PowerPC": ("zig", _zig("powerpc-freestanding-eabi", "ppc")),
    "big-endian Thumb by gcc": ("gcc", _gcc("-mcpu=cortex-m4", "-mthumb", "-mbig-endian")),
    "big-endian small Thumb by gcc": ("gcc", _gcc("-mcpu=cortex-m0plus", "-mthumb", "-mbig-endian")),
    "Arm by gcc": ("gcc", _gcc("-mcpu=cortex-a7", "-marm")),
    "words at aligned addresses alone, by gcc": ("gcc", _gcc("-mcpu=cortex-m4", "-mthumb", "-mno-unaligned-access")),
}
_USUAL = {
    ("Arm", "armv7m"),
    ("big-endian PowerPC", "riscv"),
    ("big-endian small Thumb by gcc", "armv6m"),
    ("words at aligned addresses alone, by gcc", "thumb2"),
}


def _sources(kernel_set: str, folder: Path) -> list[Path]:
    for path in (*kernel_folder("portable").glob("*.h"), *kernel_folder(kernel_set).iterdir()):
        (folder / path.name).write_text(text_of(path.name, (kernel_set, "portable")).text, encoding="utf-8")
    return sorted(folder.glob("*.c"))


def _has_assembly(source: Path, core: Target, compiler: str) -> bool:
    """Whether assembly is left when the preprocessor has chosen."""
    if compiler == "gcc":
        (text,) = compile_objects([source], core, compiler=compiler, includes=[source.parent], flags=("-E",))
        return b"__asm__" in text.read_bytes()
    try:
        compile_objects([source], core, includes=[source.parent], flags=("-fno-gnu-inline-asm",))
    except ToolchainError as error:
        if "inline assembly is disabled" not in str(error):
            raise
        return True
    return False


@pytest.mark.parametrize(
    ("other", "kernel_set"),
    sample(
        [(other, each) for other in _OTHERS for each in _SETS],
        _USUAL,
    ),
)
def test_set_for_a_core_on_another_processor_is_plain_c(other: str, kernel_set: str, tmp_path: Path) -> None:
    """No assembly is compiled in another byte order or another state, nor where words must be aligned; the C gives no warning."""
    compiler, processor = _OTHERS[other]
    if compiler == "gcc":
        check_cross()
    sources = _sources(kernel_set, tmp_path)
    # The small cores' set reads words at aligned addresses alone, but is for those cores alone, too.
    assert not [path.name for path in sources if _has_assembly(path, processor, compiler)]
    compile_objects(sources, processor, compiler=compiler, includes=[tmp_path])


@pytest.mark.parametrize("kernel_set", _SETS)
@pytest.mark.parametrize("compiler", ["zig", pytest.param("gcc", marks=[pytest.mark.cross, pytest.mark.slow])])
def test_set_for_a_core_on_that_core_is_assembly(kernel_set: str, compiler: str, tmp_path: Path) -> None:
    """Each compiler's names for what its core has lead to the fast kernels."""
    if compiler == "gcc":
        check_cross()
        if kernel_set == "riscv":
            pytest.skip("the cross compiler is for Arm")
    marked = [path for path in _sources(kernel_set, tmp_path) if "KIBI_NAKED" in path.read_text(encoding="utf-8")]
    for name in [
        _SETS[kernel_set],
        *(["cortex-m7", "cortex-m33"] if kernel_set == "armv7em" and IS_EXHAUSTIVE else []),
    ]:
        assert not [path.name for path in marked if not _has_assembly(path, target(name), compiler)]
