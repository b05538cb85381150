"""The library that reads ONNX files is an extra."""

import importlib.util
import sys
from pathlib import Path

import pytest

import kibi
from kibi.errors import ToolchainError

_ONNX = b"\x08\x08\x12\x07pytorch\x1a\x052.1.0:\x10\n\x04\n\x01x\x12\x01y"


def test_load_without_the_library_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the extra, and no traceback of an import is shown."""
    monkeypatch.setitem(sys.modules, "onnx", None)
    path = tmp_path / "model.onnx"
    path.write_bytes(_ONNX)
    with pytest.raises(ToolchainError, match=r"pip install 'kibi\[onnx\]'"):
        kibi.load(path)


def test_the_libraries_of_the_other_tests_are_installed() -> None:
    """Where they are not, the other tests of this folder do not run."""
    missing = [name for name in ("onnx", "onnxruntime") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} are not installed: the tests of the ONNX reader do not run")
