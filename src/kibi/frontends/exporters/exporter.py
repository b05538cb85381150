"""Runs a framework's own converter in a child process."""

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from types import ModuleType
from typing import Final

from kibi.errors import ModelError, Problem, ToolchainError
from kibi.files import temporary_folder
from kibi.frontends.exporters import tensorflow_script, torch_script

_SECONDS = 900.0
_MOST_KEPT = 4
"""So many models stay in memory: an oracle, for instance, asks for the same one again."""
_SHOWN_CHARACTERS = 2000
_ENVIRONMENT = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TORCH_FORCE_WEIGHTS_ONLY_LOAD": "1",  # pickled objects are code
    "CUDA_VISIBLE_DEVICES": "-1",  # conversion needs no accelerator, and finding one takes long
    "PYTHONDONTWRITEBYTECODE": "1",
}


@dataclass(frozen=True, slots=True)
class Exporter:
    """A framework that converts its own models.

    Attributes:
        name: of the framework.
        module: what is imported if it is installed.
        install: the command that installs it.
        script: runs in the child process as `script IN OUT`; it imports nothing of Kibi's. It writes the model to OUT, or the
            reason why it cannot to OUT with `.error` after it.
    """

    name: str
    module: str
    install: str
    script: ModuleType


TENSORFLOW: Final = Exporter("TensorFlow", "tensorflow", "pip install tensorflow-cpu", tensorflow_script)
"""Converts Keras models and SavedModels."""
PYTORCH: Final = Exporter("PyTorch", "torch", "pip install torch onnxscript 'kibi[onnx]'", torch_script)
"""Converts programs of torch.export, by litert-torch if it is installed, else to ONNX."""


def exported(exporter: Exporter, path: Path) -> bytes:
    """The `.tflite` or ONNX file that a framework makes of a model. What was made before, of the same contents, is not made again.

    Args:
        exporter: the framework.
        path: of the model's file or folder.

    Raises:
        ToolchainError: the framework is not installed, or does not start.
        ModelError: it cannot convert the model; with its reason.
    """
    if importlib.util.find_spec(exporter.module) is None:
        raise ToolchainError(
            f"{path}: {exporter.name} converts this model, and is not installed. Install it beside Kibi: "
            f"{exporter.install}. Or convert the model elsewhere, and give the .tflite file."
        )
    return _made(exporter, path, contents_digest(path))


@lru_cache(maxsize=_MOST_KEPT)
def _made(exporter: Exporter, path: Path, digest: str) -> bytes:
    """The same, once for a digest of the model's contents."""
    del digest
    with temporary_folder() as folder:
        made, reason = folder / "model", folder / "model.error"
        printed = _run([str(exporter.script.__file__), str(path.absolute()), str(made)], folder, exporter)
        if made.is_file():
            return made.read_bytes()
        text = reason.read_text("utf-8") if reason.is_file() else printed
    what = f"{exporter.name} cannot convert it: {text.strip()[-_SHOWN_CHARACTERS:]}"
    raise ModelError(str(path), [Problem(what, "Change the model, or convert it elsewhere and give the .tflite file")])


def contents_digest(path: Path) -> str:
    """The SHA-256 of a file, or of the names and contents of all files in a folder."""
    whole = sha256()
    for each in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if each.is_file():
            whole.update(f"{each.relative_to(path)}\0".encode())
            with each.open("rb") as stream:
                whole.update(file_digest(stream, "sha256").digest())
    return whole.hexdigest()


def _run(words: list[str], folder: Path, exporter: Exporter) -> str:
    """Runs a Python script to its end, and returns what it printed as errors; all that it started ends with it.

    Raises:
        ToolchainError: it does not start, or takes too long.
    """
    try:
        child = subprocess.Popen(
            # -P: the script's folder must not come before the installed packages on the child's path.
            [sys.executable, "-P", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={**os.environ, **_ENVIRONMENT},
            start_new_session=True,
        )
    except OSError as error:
        raise ToolchainError(f"{exporter.name} does not start: {error.strerror}.") from None
    with child:
        try:
            _, printed = child.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            what = f"{exporter.name} took more than {_SECONDS:g} s to convert the model, and was stopped."
            raise ToolchainError(what) from None
        finally:  # also where the user interrupts it
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if hasattr(os, "killpg"):
                    os.killpg(child.pid, signal.SIGKILL)
                else:
                    child.kill()
    text = printed.decode("utf-8", errors="replace")
    return text if text.strip() else f"it ended with code {child.returncode}"
