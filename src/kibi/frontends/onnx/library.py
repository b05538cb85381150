"""The library `onnx`, which the extra `kibi[onnx]` installs. It is imported when it is used."""

from types import ModuleType
from typing import Any

from kibi.errors import ToolchainError
from kibi.frontends.onnx.graph import Numbers


class DamagedError(Exception):
    """A part of a file that the library's checker lets pass, and that means nothing."""


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


def array_of(tensor: Any) -> Numbers:
    """The elements of a `TensorProto`.

    Raises:
        DamagedError: its type, shape and data do not fit.
    """
    try:
        array: Numbers = onnx_library().numpy_helper.to_array(tensor)
    except Exception as error:
        raise DamagedError(f"constant {tensor.name!r} is damaged: {error}") from error
    return array


def type_name(number: int) -> str:
    """ONNX's name of an element type.

    Raises:
        DamagedError: there is no such type.
    """
    try:
        return str(onnx_library().TensorProto.DataType.Name(number))
    except ValueError as error:
        raise DamagedError(f"elements have type {number}, which does not exist") from error
