"""Custom operators of installed distributions, which entry points name."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kibi import ops
from kibi.errors import InputError, ModelError
from kibi.ops.custom.plugins import installed
from tests.ops.custom.motion import (
    CODE,
    EXAMPLE,
    FrameDifference,
    flex,
    model_bytes,
    motion_graph,
)


def _distribution(folder: Path, name: str, code: str, value: str) -> None:
    """What `pip install` leaves of a distribution with one entry point."""
    record = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    record.mkdir(parents=True)
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (record / "entry_points.txt").write_text(f"[kibi.operators]\n{code} = {value}\n")


def _python(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A new process in which those distributions and the example's package are installed."""
    paths = os.pathsep.join([str(folder), str(EXAMPLE)])
    environment = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "300"}
    return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=False)


def test_installed_distribution_adds_its_operator(tmp_path: Path) -> None:
    """An entry point is enough: models with the code load, and `kibi operators` lists it with where it is from."""
    _distribution(tmp_path, "kibi-motion", CODE, "kibi_motion.frame_difference:FRAME_DIFFERENCE")
    model = tmp_path / "motion.tflite"
    model.write_bytes(model_bytes(flex({"threshold": 7})))
    listed = _python(tmp_path, "-m", "kibi", "operators")
    assert "FRAME_DIFFERENCE" in listed.stdout
    assert "distribution kibi-motion 1.0" in listed.stdout
    record = json.loads(_python(tmp_path, "-m", "kibi", "operators", "--json").stdout)
    (custom,) = record["custom_operators"]
    assert (custom["name"], custom["kernels"]) == (CODE, ["kibi_frame_difference_s8"])
    assert len(record["operators"]) == len(ops.operators())
    code = f"import kibi, sys; kibi.load({str(model)!r}); print('kibi_motion.frame_difference' in sys.modules)"
    assert _python(tmp_path, "-c", code).stdout == "True\n"


def test_distribution_that_is_installed_while_the_process_runs_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As in a notebook: what was looked up before is looked up again when a folder of the path has changed."""
    monkeypatch.syspath_prepend(tmp_path)
    assert "LATE" not in installed()
    os.utime(tmp_path, (0, 0))
    assert "LATE" not in installed()
    _distribution(tmp_path, "kibi-late", "LATE", "kibi_late:Operator")
    assert installed()["LATE"].value == "kibi_late:Operator"


def test_distributions_are_not_imported_before_they_are_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A broken distribution harms no model that does without it, and is named by one that needs it."""
    _distribution(tmp_path, "kibi-broken", "BROKEN", "kibi_broken_module:Operator")
    _distribution(tmp_path, "kibi-strange", "STRANGE", "json:dumps")
    (tmp_path / "kibi_broken_module.py").write_text("raise RuntimeError('no licence')\n")
    monkeypatch.syspath_prepend(tmp_path)
    ops.register_custom(CODE, FrameDifference)
    motion_graph()
    with pytest.raises(ModelError) as caught:
        motion_graph(code="BROKEN")
    assert "CUSTOM:BROKEN: custom operator 'BROKEN' of distribution kibi-broken 1.0 cannot be loaded" in str(
        caught.value
    )
    assert "RuntimeError: no licence. Update or uninstall it." in str(caught.value)
    with pytest.raises(ModelError, match=r"'STRANGE' of distribution kibi-strange 1.0: .* is no class derived from"):
        motion_graph(code="STRANGE")
    with pytest.raises(InputError, match=r"distribution kibi-broken 1\.0"):
        ops.custom_operators()


def test_two_distributions_with_one_code_are_both_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Which of them would win must not depend on the order of folders."""
    for name in ("first", "second"):
        _distribution(tmp_path / name, f"kibi-{name}", "SHARED", f"{name}:Operator")
        monkeypatch.syspath_prepend(tmp_path / name)
    with pytest.raises(
        InputError, match=r"given by distribution kibi-first 1.0 .* and by distribution kibi-second 1.0"
    ):
        ops.custom_operators()
