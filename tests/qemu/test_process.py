"""QEMU's process: what is said where it is missing or too old, and that nothing of it is left."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import kibi
from kibi import demo
from kibi.errors import TargetError, ToolchainError
from kibi.programs.qemu_command import version_text
from kibi.qemu import QemuCore, missing_qemu, process, why_not_emulated
from kibi.targets import target
from kibi.toolchain import build_image
from tests.debugger.qemu import ARM, needs_qemu

_PROGRAM = """
import sys
from pathlib import Path
from kibi.qemu import QemuCore
from kibi.targets import target
from kibi.toolchain import build_image

processor = target("cortex-m4").emulated_by("qemu")
core = QemuCore(build_image([Path(sys.argv[1])], processor, entries=["f"]), processor)
print(core.process_id, flush=True)
core.call("f")
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A function that does not end."""
    path = tmp_path / "program.c"
    path.write_text('void f(void);\nvoid f(void) { for (;;) { __asm volatile(""); } }\n', encoding="utf-8")
    return path


def _ends(number: int) -> bool:
    """True if a process ends within seconds."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@needs_qemu
def test_qemu_ends_with_its_core(source: Path) -> None:
    """When it is closed, and when nothing refers to it any more."""
    processor = target("cortex-m4").emulated_by("qemu")
    image = build_image([source], processor, entries=["f"])
    first, second = QemuCore(image, processor), QemuCore(image, processor)
    numbers = first.process_id, second.process_id
    first.close()
    del second
    assert all(map(_ends, numbers))


@needs_qemu
def test_qemu_ends_when_its_user_is_killed(source: Path) -> None:
    """In the middle of a call, by a signal that nobody can catch."""
    with subprocess.Popen([sys.executable, "-c", _PROGRAM, str(source)], stdout=subprocess.PIPE, text=True) as user:
        assert user.stdout is not None
        number = int(user.stdout.readline())
        user.send_signal(signal.SIGKILL)
        user.wait()
        assert _ends(number)


def test_missing_qemu_is_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """To measure fails; to verify leaves the device out, and runs the portable twins in C on this machine."""
    monkeypatch.setattr("shutil.which", lambda _: None)
    text = "qemu-system-arm is not on PATH. Install it, for example by `apt install qemu-system-arm`"
    processor = target("cortex-m55")
    assert missing_qemu(processor) == why_not_emulated(processor) == text
    assert not missing_qemu(target("cortex-m4"))
    model = kibi.simplify(kibi.load(demo.model_path()))
    library = kibi.compile(model, None, tmp_path, target=processor)
    with pytest.raises(ToolchainError, match="qemu-system-arm is not on PATH"):
        kibi.measure(library, oracle=False)
    found = kibi.verify(model, target=processor, runs=1, oracle=False)
    assert found.engines == ("host C",)
    assert found.skipped[0] == f"cortex-m55: {text}"


@needs_qemu
def test_qemu_that_is_too_old_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its version, and what it does not have."""
    monkeypatch.setattr(process, "_listed", lambda *_: frozenset({"mps2-an385", "mps3-an547", "cortex-m3"}))
    assert not missing_qemu(target("cortex-m3").emulated_by("qemu"))
    version = version_text(shutil.which(ARM) or "")
    wanted = (
        f"{version} has no core cortex-m55, which code for cortex-m85 runs on. Install a newer one: version 7.2 has it"
    )
    assert missing_qemu(target("cortex-m85")) == wanted
    assert "has no machine mps2-an386" in missing_qemu(target("cortex-m4").emulated_by("qemu"))


@needs_qemu
def test_qemu_that_takes_no_plugin_is_said(monkeypatch: pytest.MonkeyPatch, source: Path) -> None:
    """What QEMU printed is in the error, and nothing is left."""
    processor = target("cortex-m4").emulated_by("qemu")
    image = build_image([source], processor, entries=["f"])
    monkeypatch.setattr(process, "plugin_library", lambda _: source)
    with pytest.raises(ToolchainError, match=r"QEMU does not start: .*Could not load plugin"):
        QemuCore(image, processor)


@pytest.mark.parametrize(
    ("name", "emulator", "text"),
    [
        ("cortex-m4", "renode", "there is no emulator 'renode'. Emulators are: unicorn, qemu"),
        ("cortex-m55", "unicorn", "unicorn does not run code for cortex-m55. It does so for: cortex-m0plus, cortex-m3"),
        ("host", "qemu", "qemu does not run code for host. It does so for: cortex-m0plus, cortex-m3"),
    ],
)
def test_emulator_that_does_not_run_a_target_is_refused(name: str, emulator: str, text: str) -> None:
    """The text names those that are there."""
    with pytest.raises(TargetError, match=text):
        target(name).emulated_by(emulator)
