"""The library `onnx`, which the extra `kibi[onnx]` installs. It is imported when it is used."""

from types import ModuleType

from kibi.errors import ToolchainError


def onnx_library() -> ModuleType:
    """The module `onnx`.

    Raises:
        ToolchainError: it is not installed.
    """
    try:
        import onnx  # noqa: PLC0415 - an extra: imported where it is used
    except ImportError:
        raise ToolchainError(
            "ONNX files are read with the library onnx, which is not installed: pip install 'kibi[onnx]'"
        ) from None
    module: ModuleType = onnx
    return module
