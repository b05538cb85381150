"""TFLM's child process: what it may use, what it sees, and how it ends."""

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from kibi.tflm.child import FILE_BYTES, MEMORY_BYTES, Child

_FACTS = """
import json, os, resource, sys
sys.stdin.readline()
kinds = ("RLIMIT_CORE", "RLIMIT_FSIZE", "RLIMIT_AS")
limits = [resource.getrlimit(getattr(resource, kind))[0] for kind in kinds]
print(json.dumps([dict(os.environ), os.getcwd(), limits, os.getpgid(0) == os.getpid()]), flush=True)
"""
pytestmark = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="this system sets no limits of others")


def _script(tmp_path: Path, text: str) -> ModuleType:
    path = tmp_path / "script.py"
    path.write_text(text, encoding="utf-8")
    module = ModuleType("script")
    module.__file__ = str(path)
    return module


def _answer(child: Child) -> bytes:
    assert child.process.stdin is not None
    assert child.process.stdout is not None
    child.process.stdin.write(b"go\n")
    child.process.stdin.flush()
    return child.process.stdout.readline()


def test_child_has_limits_a_folder_and_a_group_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of our environment but what Python needs; the folder goes with the child."""
    monkeypatch.setenv("SECRET_TOKEN", "x")
    monkeypatch.setenv("PYTHONPATH", "relative")
    child = Child(_script(tmp_path, _FACTS))
    environment, folder, limits, leads = json.loads(_answer(child))
    assert Path(folder).is_dir()
    assert folder != str(Path.cwd())
    child.close()
    assert not Path(folder).exists()
    assert "SECRET_TOKEN" not in environment
    assert environment["PYTHONPATH"] == str(Path.cwd() / "relative")
    assert (limits[0], leads) == (0, True)
    assert all(0 < limit <= most for limit, most in zip(limits[1:], (FILE_BYTES, MEMORY_BYTES), strict=True))


def test_child_that_takes_too_much_memory_is_refused_it(tmp_path: Path) -> None:
    """The machine's memory is not the model's."""
    text = "import sys\nsys.stdin.readline()\ntry:\n    bytearray(8 << 30)\nexcept MemoryError:\n    print('refused', flush=True)\n"
    child = Child(_script(tmp_path, text))
    assert _answer(child) == b"refused\n"
    child.close()


def test_child_that_uses_up_its_time_is_stopped_by_the_system(tmp_path: Path) -> None:
    """Even if nobody watches it any more."""
    child = Child(_script(tmp_path, "while True: pass"))
    child.allow_seconds(0)
    assert "used up its processor time" in child.ending()
    child.close()


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE])
def test_child_that_crashes_is_named_by_its_signal(tmp_path: Path, number: signal.Signals) -> None:
    """Who crashed of what, and on what."""
    text = f"import os, signal\nsignal.signal({int(number)}, signal.SIG_DFL)\nos.kill(os.getpid(), {int(number)})"
    child = Child(_script(tmp_path, text))
    assert child.ending() == f"crashed with {number.name} on this model"
    child.close()


def test_child_takes_its_own_children_with_it(tmp_path: Path) -> None:
    """All that it has started is in its group."""
    text = (
        "import subprocess, sys, time\nsys.stdin.readline()\n"
        f"print(subprocess.Popen([{sys.executable!r}, '-c', 'import time; time.sleep(600)']).pid, flush=True)\ntime.sleep(600)"
    )
    child = Child(_script(tmp_path, text))
    grandchild = int(_answer(child))
    os.kill(grandchild, 0)
    child.close()
    for _ in range(500):
        if not Path(f"/proc/{grandchild}").exists() or "\nState:\tZ" in Path(f"/proc/{grandchild}/status").read_text():
            return
        time.sleep(0.02)
    pytest.fail("it lives on")
