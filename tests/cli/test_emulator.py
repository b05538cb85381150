"""`--emulator`: QEMU instead of unicorn, and what is said of it."""

from pathlib import Path

import pytest

from tests.cli.conftest import Kibi
from tests.debugger.qemu import needs_qemu
from tests.engines.networks import residual_bytes


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A small model."""
    path = tmp_path / "residual.tflite"
    path.write_bytes(residual_bytes(4, 3, 2))
    return path


@needs_qemu
def test_measure_says_which_machine_ran_the_code(kibi: Kibi, model: Path) -> None:
    """The figures are those of unicorn, without cycles; a core that replaces another is named with the reason."""
    text = kibi("measure", model, "--emulator", "qemu", "--no-oracle")
    assert "emulator      QEMU, machine mps2-an386, core cortex-m4\n" in text.out
    assert "no estimate: QEMU counts no cycles" in text.out
    first, second = (
        kibi("measure", model, "--no-oracle", "--emulator", name, "--json") for name in ("qemu", "unicorn")
    )
    same = ("instructions", "stack_bytes", "flash_bytes", "ram_bytes", "bit_exact", "vector_instructions", "beats")
    assert [first.record[each] for each in same] == [second.record[each] for each in same]
    assert (first.record["cycles_estimate"], second.record["cycles_estimate"] is None) == (None, False)
    replaced = kibi("measure", model, "--target", "cortex-m85", "--no-oracle").out
    assert "core cortex-m55, because QEMU has the Cortex-M55 alone of the cores with Helium" in replaced


@needs_qemu
def test_verify_and_plan_files_run_in_qemu(kibi: Kibi, model: Path) -> None:
    """The C library and the core of plan files."""
    done = kibi("verify", model, "--target", "cortex-m55", "--format", "plan", "--runs", "1", "--no-oracle")
    assert done.code == 0
    assert "cortex-m55               yes" in done.out
    assert "plan file on cortex-m55  yes" in done.out


def test_missing_qemu_is_listed_and_refused(kibi: Kibi, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`kibi targets` says what to install, `kibi measure` fails with it, and `kibi verify` leaves the device out."""
    monkeypatch.setattr("shutil.which", lambda _: None)
    why = "qemu-system-arm is not on PATH. Install it, for example by `apt install qemu-system-arm`"
    listed = kibi("targets")
    assert f"Not here: {why}." in listed.out
    record = {each["name"]: each for each in kibi("targets", "--json").record["targets"]}
    assert (record["cortex-m55"]["missing"], record["cortex-m4"]["missing"]) == (why, "")
    assert [record[each]["qemu"]["replaces"] for each in ("cortex-m4", "cortex-m0plus")] == [
        "",
        "QEMU has no Cortex-M0+",
    ]
    assert (record["cortex-m55"]["runner"], record["cortex-m4"]["runner"]) == ("qemu", "unicorn")
    refused = kibi("measure", model, "--target", "cortex-m55", "--no-oracle")
    assert refused.code == 7
    assert why in refused.err
    left_out = kibi("verify", model, "--target", "cortex-m55", "--runs", "1", "--no-oracle")
    assert left_out.code == 0
    assert f"skipped: {why}" in " ".join(left_out.out.split())


def test_emulator_that_is_unknown_or_does_not_run_the_target_is_refused(kibi: Kibi, model: Path) -> None:
    """The text names those that are there."""
    unknown = kibi("measure", model, "--emulator", "renode")
    assert "there is no emulator 'renode'. Emulators are: unicorn, qemu." in unknown.err
    other = kibi("measure", model, "--emulator", "unicorn", "--target", "cortex-m55")
    assert "unicorn does not run code for cortex-m55." in other.err
