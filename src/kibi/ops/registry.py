"""The registry: Kibi's own operators by their names, and custom ones by the codes that models have for them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from threading import RLock
from types import MappingProxyType

from kibi import kernels as kernel_files
from kibi.errors import InputError, InternalError
from kibi.ir import Operator
from kibi.ops.control.stream_input import StreamInput
from kibi.ops.custom.custom_operator import CustomOperator, CustomOptions, check_custom
from kibi.ops.custom.plugins import installed, load_plugin
from kibi.ops.elementwise.lookup import Lookup

_OPERATORS: dict[str, type[Operator]] = {}
_CUSTOM: dict[str, CustomOperator] = {}
_LOCK = RLock()


def register(operator: type[Operator]) -> None:
    """Add an operator of Kibi's own; the last line of its file.

    Raises:
        InternalError: the name is taken.
    """
    if operator.name in _OPERATORS:
        raise InternalError(f"operator {operator.name} is registered twice")
    _OPERATORS[operator.name] = operator


def operators() -> Mapping[str, type[Operator]]:
    """Kibi's own operators by name, in alphabetical order."""
    return MappingProxyType(dict(sorted(_OPERATORS.items())))


def is_custom(operator: Operator) -> bool:
    """True if an operator is not Kibi's own, so that TensorFlow Lite Micro does not have it either."""
    is_made = operator.receives or operator.fetches or operator.waits or isinstance(operator, Lookup)
    return operator.name not in _OPERATORS and not is_made


def register_custom(
    code: str,
    operator: type[Operator],
    *,
    importer: Callable[[CustomOptions], Operator] | None = None,
    kernels: str | PathLike[str] | None = None,
) -> None:
    """Add a custom operator, for this process; distributions use an entry point of the group `kibi.operators` instead.

    Args:
        code: the custom code that models have.
        operator: the class.
        importer: from a model's options to the operator; None: options are a flexbuffer map of its attributes.
        kernels: the folder of its C files; None: it has none of its own.

    Raises:
        InputError: the class or its files are not as they must be, or the name is taken.
    """
    _add(code, CustomOperator(operator, importer, None if kernels is None else Path(kernels)))


def unregister_custom(code: str) -> None:
    """Take back `register_custom`, for instance to register a corrected class.

    Raises:
        InputError: nothing is registered under that code.
    """
    with _LOCK:
        if code not in _CUSTOM:
            raise InputError(
                f"no custom operator is registered as {code!r}. Registered: {', '.join(_CUSTOM) or 'none'}."
            )
        folder = _CUSTOM.pop(code).kernels
        if folder is not None and all(custom.kernels != folder for custom in _CUSTOM.values()):
            kernel_files.remove_folder(folder)


def find_custom(code: str) -> CustomOperator | None:
    """The custom operator of a code: one that was registered, or that an installed distribution gives.

    Raises:
        InputError: the distribution is broken.
    """
    with _LOCK:
        if code not in _CUSTOM:
            entry = installed().get(code)
            if entry is None:
                return None
            _add(code, load_plugin(entry))
        return _CUSTOM[code]


def custom_operators() -> Mapping[str, CustomOperator]:
    """All custom operators by code, in alphabetical order; loads those of installed distributions.

    Raises:
        InputError: a distribution is broken.
    """
    with _LOCK:
        for code in installed():
            find_custom(code)
        return MappingProxyType(dict(sorted(_CUSTOM.items())))


def operators_by_name() -> Mapping[str, type[Operator]]:
    """Returns every operator that a graph can have, by name: Kibi's own, those that passes and importers make, and custom ones."""
    custom = {each.operator.name: each.operator for each in custom_operators().values()}
    return {**custom, StreamInput.name: StreamInput, Lookup.name: Lookup, **_OPERATORS}


def _add(code: str, custom: CustomOperator) -> None:
    """Check a custom operator and add it.

    Raises:
        InputError: it is not as it must be, or the name is taken.
    """
    with _LOCK:
        if code in _CUSTOM:
            origin = _CUSTOM[code].origin or "a call"
            raise InputError(
                f"custom operator {code!r} is already registered by {origin}. To replace it: "
                f"kibi.ops.unregister_custom({code!r})."
            )
        if custom.kernels is not None:
            custom = replace(custom, kernels=Path(custom.kernels).resolve())
        check_custom(code, custom, _OPERATORS)
        if custom.kernels is not None:
            kernel_files.add_folder(custom.kernels)
        _CUSTOM[code] = custom
