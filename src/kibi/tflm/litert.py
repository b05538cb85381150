"""LiteRT in a child process: what TensorFlow Lite's interpreter for large machines computes of the same inputs."""

import importlib.util
import io
import subprocess
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from kibi.dtypes import Array
from kibi.errors import OracleError
from kibi.tflm import litert_worker
from kibi.tflm.child import Child

_TIMEOUT_SECONDS = 60.0


def has_litert() -> bool:
    """True if LiteRT is installed; the function does not import it."""
    return importlib.util.find_spec("ai_edge_litert") is not None


def litert_outputs(model: bytes, runs: Sequence[Sequence[Array]]) -> list[list[Array]]:
    """Runs a model in LiteRT as its users get it: with the kernels of XNNPACK where it has them.

    Args:
        model: the contents of a `.tflite` file.
        runs: for each run the model's inputs; variables carry over from run to run.

    Returns:
        For each run the outputs, in the model's order.

    Raises:
        OracleError: LiteRT refused the model or an input, crashed, or took too long.
    """
    arrays: dict[str, Any] = {
        f"{number}.{place}": array for number, run in enumerate(runs) for place, array in enumerate(run)
    }
    request = io.BytesIO()
    np.savez(request, model=np.frombuffer(model, np.uint8), **arrays)
    child = Child(litert_worker)
    try:
        child.allow_seconds(_TIMEOUT_SECONDS)
        answer, _ = child.process.communicate(request.getvalue(), timeout=_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        raise OracleError(f"it gave no answer within {_TIMEOUT_SECONDS:g} s") from None
    finally:
        child.close()
    try:
        found = np.load(io.BytesIO(answer), allow_pickle=False)
        counts = [sum(name.startswith(f"{number}.") for name in found.files) for number in range(len(runs))]
        return [[found[f"{number}.{place}"] for place in range(count)] for number, count in enumerate(counts)]
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile):
        raise OracleError("it does not run this model") from None
