"""The tests of this folder need the extra `onnx`, and `onnxruntime`."""

import importlib.util
import os

_MISSING = [name for name in ("onnx", "onnxruntime") if importlib.util.find_spec(name) is None]
if _MISSING and os.environ.get("CI") == "true":
    raise ImportError(f"{' and '.join(_MISSING)} must be installed in CI: they are in the group dev")
# `test_library.py` alone runs without them, and says that the others are skipped.
collect_ignore_glob = ["test_[!l]*.py", "test_l[!i]*.py"] if _MISSING else []
