"""`kibi compile --package KIND` on the command line."""

from pathlib import Path

import pytest

from kibi.packages import kinds
from tests.cli.conftest import Kibi
from tests.support.amount import sample


@pytest.mark.parametrize("name", sample(((each.name,) for each in kinds()), [("cmake",), ("micropython",)]))
def test_package_is_written_and_its_use_said(name: str, kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """The last line says what to do with the folder, and every C file which command made it."""
    done = kibi("compile", glyphs, "-o", tmp_path / "lib", "--package", name)
    assert (done.code, done.err) == (0, "")
    assert str(tmp_path / "lib") in done.out.splitlines()[-1]
    made_by = "--package" if name != "cmake" else "kibi compile glyphs.tflite --target cortex-m4 */"
    assert made_by in next((tmp_path / "lib").rglob("glyphs.c")).read_text(encoding="utf-8").splitlines()[1]


def test_json_names_the_kind(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """With the files of the package."""
    record = kibi("compile", glyphs, "-o", tmp_path / "lib", "--package", "arduino", "--json").record
    assert record["package"] == "arduino"
    assert {"glyphs.zip", "glyphs/library.properties"} <= set(record["files"])
    assert kibi("compile", glyphs, "-o", tmp_path / "lib", "--json").record["package"] == "cmake"


def test_unknown_kind_is_refused(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """With the nearest name, and before the work."""
    done = kibi("compile", glyphs, "-o", tmp_path / "lib", "--package", "zefyr")
    assert done.code == 4
    assert "Did you mean 'zephyr'?" in done.err
    assert not (tmp_path / "lib").exists()


def test_plan_file_is_no_package(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Both together are refused."""
    done = kibi("compile", glyphs, "-o", tmp_path / "x.kplan", "--format", "plan", "--package", "zephyr")
    assert done.code == 4
    assert "--package is for C" in done.err


def test_generic_target_is_compiled_and_not_measured(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Portable kernels alone; measuring says that nothing emulates it, and what is."""
    assert kibi("compile", glyphs, "-o", tmp_path / "lib", "--target", "generic").code == 0
    sources = [path.read_text(encoding="utf-8") for path in (tmp_path / "lib" / "kernels").glob("*.[ch]")]
    assert not any("__ARM_FEATURE" in text or "__AVX" in text or "__asm" in text for text in sources)
    done = kibi("measure", glyphs, "--target", "generic")
    assert done.code == 6
    assert "'generic' is not emulated" in done.err
