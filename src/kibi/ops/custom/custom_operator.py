"""Custom operators: what is registered beside the operators that Kibi ships."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from kibi.errors import InputError, InternalError
from kibi.ir import Operator, OperatorError
from kibi.kernels import is_shipped
from kibi.kernels.headers import struct_fields
from kibi.ops.custom.flexbuffer import FlexValue, read_flexbuffer

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_KERNEL = re.compile(r"kibi_[a-z0-9_]+")


@dataclass(frozen=True, slots=True)
class CustomOptions:
    """The options of a custom operator as a model has them.

    Attributes:
        data: the bytes; empty where the model has none.
    """

    data: bytes

    def values(self) -> Mapping[str, FlexValue]:
        """The names and values of options that are a flexbuffer map, as TensorFlow Lite's converters write them.

        Raises:
            OperatorError: they are none.
        """
        if not self.data:
            return {}
        try:
            found = read_flexbuffer(self.data)
        except ValueError as error:
            raise OperatorError(f"its options are no sound flexbuffer: {error}", _EXPORT) from None
        if not isinstance(found, Mapping):
            raise OperatorError(f"its options are a flexbuffer of type {type(found).__name__}, not a map", _EXPORT)
        return found


_EXPORT = "Export the model again, or register the operator with an importer that knows its options"


@dataclass(frozen=True, slots=True)
class CustomOperator:
    """An operator that is not Kibi's own; an entry point of the group `kibi.operators` gives one, or the operator alone.

    Attributes:
        operator: the class.
        importer: from a model's options to the operator, `OperatorError` where they make no sense; None: a flexbuffer map
            whose keys are the operator's attributes, each left out where it has its default: numbers, texts, enumerators by
            name, and tuples of these.
        kernels: the folder with `<kernel>.c` and `<kernel>.h` for each of `operator.kernels` that Kibi does not ship; None:
            there are none, and where Kibi does not ship them the operator runs in Python alone.
        origin: the distribution that it is from; empty where a call registered it.
    """

    operator: type[Operator]
    importer: Callable[[CustomOptions], Operator] | None = None
    kernels: Path | None = None
    origin: str = ""

    def make(self, options: CustomOptions) -> Operator:
        """The operator with the attributes that a model gives it.

        Raises:
            OperatorError: the options make no sense, or the importer is broken.
        """
        try:
            made = self._by_attributes(options) if self.importer is None else self.importer(options)
        except OperatorError:
            raise
        except Exception as error:  # other people's code: whatever it raises, the model's error says whose it is
            what = f"the importer{_of(self.origin)} failed: {type(error).__name__}: {error}"
            raise OperatorError(what, "Update or correct it") from error
        if not isinstance(made, self.operator):
            what = f"the importer{_of(self.origin)} gave {made!r}, which is no {self.operator.__name__}"
            raise OperatorError(what, "Update or correct it")
        return made

    def _by_attributes(self, options: CustomOptions) -> Operator:
        values = options.values()
        known = [field.name for field in fields(self.operator)]  # type: ignore[arg-type]  # checked: it is a dataclass
        unknown = ", ".join(sorted(set(values) - set(known)))
        if unknown:
            attributes = ", ".join(known) or "none"
            raise OperatorError(f"its options have {unknown}, but its attributes are: {attributes}", _EXPORT)
        hints = get_type_hints(self.operator)
        return self.operator(**{name: _attribute(name, value, hints[name]) for name, value in values.items()})


def _attribute(name: str, value: FlexValue, kind: Any) -> Any:
    """An option as an attribute of that type: a number, a text, an enumerator by its name, or a tuple of these.

    Raises:
        OperatorError: it is no such value.
    """
    if kind in (int, str, bytes) and type(value) is kind:
        return value
    if kind is float and type(value) in (int, float):
        return float(value)  # type: ignore[arg-type]  # it is a number
    if kind is bool and value in (0, 1):  # some writers have no truth values
        return bool(value)
    if isinstance(kind, type) and issubclass(kind, Enum) and isinstance(value, str) and value in kind.__members__:
        return kind[value]
    if get_origin(kind) is tuple and isinstance(value, tuple):
        kinds = get_args(kind)
        kinds = kinds[:1] * len(value) if kinds[1:] == (...,) else kinds
        if len(kinds) == len(value):
            return tuple(_attribute(name, each, one) for each, one in zip(value, kinds, strict=True))
    wanted = kind.__name__ if isinstance(kind, type) else kind
    raise OperatorError(f"its option {name} is {value!r}, but {wanted} is required", _EXPORT)


def _of(origin: str) -> str:
    return f" of {origin}" if origin else ""


def check_custom(code: str, custom: CustomOperator, shipped: Mapping[str, type[Operator]]) -> None:
    """Check what can be checked before a model is there.

    Args:
        code: the custom code in models.
        custom: the operator.
        shipped: Kibi's own operators, which cannot be replaced.

    Raises:
        InputError: something is missing or wrong.
    """
    where = f"custom operator {code!r}{_of(custom.origin)}"
    if not code:
        raise InputError("a custom operator needs a name: the custom code that models have.")
    operator = _class(where, custom.operator)
    for name in (code, operator.name):
        if name in shipped:
            raise InputError(f"{where}: {name} is an operator of Kibi's own and cannot be replaced. Take another name.")
    _check_operands(where, operator)
    _check_kernels(where, custom)


_FACTS = ("name", "inputs", "kernels", "types")


def _class(where: str, given: object) -> type[Operator]:
    """The operator's class, which leaves nothing out."""
    if not (isinstance(given, type) and issubclass(given, Operator)):
        raise InputError(f"{where}: {given!r} is no class derived from kibi.ir.Operator. Give such a class.")
    operator: type[Operator] = given
    missing = ", ".join(sorted(operator.__abstractmethods__))
    missing = ", ".join(filter(None, [missing, *(name for name in _FACTS if not hasattr(operator, name))]))
    if missing:
        raise InputError(
            f"{where}: {operator.__name__} leaves out {missing}. Kibi's page on custom operators shows one."
        )
    if "__dataclass_fields__" not in vars(operator) or vars(operator).get("__hash__", ...) is None:
        raise InputError(f"{where}: {operator.__name__} is no frozen dataclass. Put @dataclass(frozen=True) in front.")
    if not _NAME.fullmatch(operator.name):
        raise InputError(f"{where}: its name {operator.name!r} is no C identifier. Use letters, digits and _.")
    return operator


def _check_operands(where: str, operator: type[Operator]) -> None:
    if operator.outputs != ("output",):
        raise InputError(f"{where}: its outputs are {operator.outputs}; one, named 'output', is supported.")
    names = [name.rstrip("?") for name in operator.inputs]
    unknown = ", ".join(name for name in operator.row_inputs if name not in operator.inputs)
    if not names or len(set(names)) != len(names) or unknown:
        raise InputError(
            f"{where}: its inputs are {operator.inputs}, and by the row it reads {operator.row_inputs}. Name at least one "
            "input, each once, and by the row only such as must be there."
        )


def _check_kernels(where: str, custom: CustomOperator) -> None:
    """Each kernel has its two files, in the form that the code generator reads."""
    folder = custom.kernels
    if folder is None:
        return
    for kernel in custom.operator.kernels:
        if is_shipped(f"{kernel}.h"):
            continue
        if not _KERNEL.fullmatch(kernel):
            raise InputError(f"{where}: a kernel is named {kernel!r}. Name it kibi_<operator>_<type>, in lower case.")
        for name in (f"{kernel}.c", f"{kernel}.h"):
            if not (folder / name).is_file():
                raise InputError(f"{where}: there is no file {folder / name}. Each kernel needs a .c and a .h file.")
        try:
            struct_fields(kernel, (), (folder,))
        except InternalError as error:
            raise InputError(f"{where}: {error}.") from None
