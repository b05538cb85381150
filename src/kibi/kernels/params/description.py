"""Descriptions of kernels' parameters: once, in Python. The struct in C, its layout, its checks and its bytes follow.

    class ReluParams(Params, kernels=("kibi_relu_s16",)):
        elements: int = number(DType.S32, "of a row")
        multiplier: int = number(DType.S32, "0 … 2**31 - 1")

A subclass of `Params` declares the fields of the C struct `<kernel>_params`, in its order; an instance holds the parameters of one
call. It behaves as a frozen dataclass whose fields are given by name. (It is none, because making a dataclass takes time at each
start, and there are more than a hundred of them.)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np

from kibi.dtypes import Array, DType
from kibi.errors import InternalError

_NO_DEFAULT: Any = object()
_GRAPH_BYTES = 4
"""Of the number of a graph in a plan file."""


class FieldKind(Enum):
    """The kind of value that a field of a struct holds."""

    NUMBER = "number"
    """A number of the type."""
    ARRAY = "array"
    """A pointer to constants of the type, or null."""
    SUBGRAPH = "subgraph"
    """A graph that the node runs: its kernel takes it as an argument, and the struct in C has no such field."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a parameter struct.

    Attributes:
        name: in C and in Python.
        kind: what it holds.
        dtype: of the number, or of the elements that it points to; None for a subgraph.
        meaning: unit, range, shape.
        is_packed: True if elements are words that hold several numbers each, or numbers of several meanings.
    """

    name: str
    kind: FieldKind
    dtype: DType | None
    meaning: str = ""
    is_packed: bool = False

    @property
    def is_pointer(self) -> bool:
        """True if the field is a pointer."""
        return self.kind is FieldKind.ARRAY

    @property
    def type(self) -> str:
        """The C type of the number, or of what it points to; `kibi_subgraph` of a graph."""
        return "kibi_subgraph" if self.dtype is None else self.dtype.c

    def size_bytes(self, pointer_bytes: int) -> int:
        """Returns its size, which is its alignment, too."""
        if self.dtype is None:
            return _GRAPH_BYTES
        return pointer_bytes if self.is_pointer else self.dtype.size_bytes

    def problem(self, value: object) -> str:
        """Returns what is wrong with a value; nothing where it is right."""
        if self.dtype is None or (value is None and self.kind is FieldKind.ARRAY):
            return ""
        if self.kind is FieldKind.ARRAY:
            is_right = isinstance(value, np.ndarray) and value.dtype.newbyteorder("<") == self.dtype.numpy
            return "" if is_right else f"it is no array of {self.dtype}"
        if self.dtype is DType.F32:
            return "" if isinstance(value, int | float) else f"{_shown(value)} is no number"
        low, high = self.dtype.limits
        return (
            ""
            if isinstance(value, int) and low <= value <= high
            else f"{_shown(value)} is not an integer in {low} … {high}"
        )


@dataclass(frozen=True, slots=True)
class _Declared:
    """The value that `number`, `array` and `subgraph` leave in the body of a class."""

    kind: FieldKind
    dtype: DType | None
    meaning: str
    default: Any
    is_packed: bool = False


def number(dtype: DType, meaning: str = "", *, default: float = _NO_DEFAULT) -> Any:
    """Declares a field that holds a number; without a default, each call states it."""
    return _Declared(FieldKind.NUMBER, dtype, meaning, default)


def array(dtype: DType, meaning: str = "", *, default: None = _NO_DEFAULT, is_packed: bool = False) -> Any:
    """Declares a field that points to constants; None is a null pointer. Packed words are written in hexadecimal digits."""
    return _Declared(FieldKind.ARRAY, dtype, meaning, default, is_packed)


def subgraph(meaning: str = "", *, default: None = None) -> Any:
    """Declares a graph of the node; graphs come after all other fields."""
    return _Declared(FieldKind.SUBGRAPH, None, meaning, default)


@dataclass_transform(
    kw_only_default=True, frozen_default=True, eq_default=True, field_specifiers=(number, array, subgraph)
)
class Params:
    """The parameters of one call of a kernel. Subclasses declare the struct's fields.

    Those of base classes come first, in the order of the classes. A field that is declared again keeps its place. With
    `pointers_first`, pointers come before all numbers, as in structs whose numbers of 16 bits are shared by several kernels.

    Attributes:
        struct: its name in C. Where it is not given, it is the name of the one kernel, with `_params` after it.
        kernels: Kibi's own kernels that take this struct.
        fields: of the struct, in its order; then the graphs that the kernel runs, which it takes as an argument.
        contract: what a call must keep to, in the form that `kibi.kernels.params.contract` states; lines of a base class come
            first.
        parts: macros that enable parts of the kernel's files, each with requirements as in a contract: a call that meets them does
            not need the part.
        defaults: the values of fields that a call need not give, by their names.
        time_depends_on_elements: true if kernels with this struct take much longer for some elements than for others.
    """

    struct: ClassVar[str] = ""
    kernels: ClassVar[tuple[str, ...]] = ()
    fields: ClassVar[tuple[Field, ...]] = ()
    contract: ClassVar[str] = ""
    parts: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
    defaults: ClassVar[Mapping[str, Any]] = {}
    time_depends_on_elements: ClassVar[bool] = False

    def __init_subclass__(
        cls, *, kernels: tuple[str, ...] = (), struct: str = "", pointers_first: bool = False
    ) -> None:
        own = {name: value for name, value in vars(cls).items() if isinstance(value, _Declared)}
        for name in own:
            if hasattr(Params, name):
                raise InternalError(
                    f"{cls.__name__}: no field can be called {name}, as all parameters have that attribute"
                )
            delattr(cls, name)
        if len(kernels) > 1 and not struct:
            raise InternalError(f"{cls.__name__} is the struct of several kernels: give its name in C, struct=...")
        cls.struct = struct or "".join(f"{kernel}_params" for kernel in kernels)
        cls.kernels = kernels
        bases = [each for each in cls.__bases__ if issubclass(each, Params)]
        cls.contract = "\n".join((*(each.contract for each in bases), vars(cls).get("contract", "")))
        described = {each.name: each for base in bases for each in base.fields}
        described |= {
            name: Field(name, each.kind, each.dtype, each.meaning, each.is_packed) for name, each in own.items()
        }
        cls.fields = tuple(sorted(described.values(), key=lambda each: pointers_first and not each.is_pointer))
        defaults = {name: each.default for name, each in own.items() if each.default is not _NO_DEFAULT}
        cls.defaults = {**{name: value for base in bases for name, value in base.defaults.items()}, **defaults}

    def __init__(self, **values: Any) -> None:
        """Keeps the values of a call; numbers of NumPy become Python's.

        Raises:
            InternalError: a field has no value or an unknown name, a number is not in the range of its type, or an array has
                elements of another one.
        """
        given = {name: _plain(value) for name, value in {**self.defaults, **values}.items()}
        names = {each.name for each in self.fields}
        if given.keys() != names:
            wrong = ", ".join(sorted(given.keys() ^ names))
            raise InternalError(f"{type(self).__name__} has other fields than those given: {wrong}")
        for each in self.fields:
            problem = each.problem(given[each.name])
            if problem:
                raise InternalError(f"{type(self).__name__}.{each.name}: {problem}")
        vars(self).update(given)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be changed: parameters are frozen")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self) or not isinstance(other, Params):
            return NotImplemented
        return self is other or all(_is_same(value, vars(other)[name]) for name, value in self.by_name.items())

    def __hash__(self) -> int:
        return hash((type(self), *(value for value in self.by_name.values() if not isinstance(value, np.ndarray))))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_shown(value)}" for name, value in vars(self).items())
        return f"{type(self).__name__}({shown})"

    def __iter__(self) -> Iterator[tuple[Field, Any]]:
        """Yields each field with its value, in the order of the struct."""
        return ((each, vars(self)[each.name]) for each in self.fields)

    @property
    def by_name(self) -> Mapping[str, Any]:
        """The value of each field, in the order of the struct."""
        return {each.name: vars(self)[each.name] for each in self.fields}

    @classmethod
    def members(cls) -> tuple[Field, ...]:
        """Returns the fields that the struct in C has: all but the graphs."""
        return tuple(each for each in cls.fields if each.kind is not FieldKind.SUBGRAPH)

    @property
    def constants(self) -> Mapping[str, Array]:
        """The constants that the struct points to, by the names of the fields; null pointers are left out."""
        return {each.name: value for each, value in self if each.kind is FieldKind.ARRAY and value is not None}

    @property
    def scalars(self) -> Mapping[str, Any]:
        """The numbers, by the names of the fields."""
        return {each.name: value for each, value in self if each.kind is FieldKind.NUMBER}

    def scalars_for(self, kind: "type[Params]") -> dict[str, Any]:
        """Returns the numbers of the fields that a struct of that class has, too: for another kernel of the same node."""
        wanted = {each.name for each in kind.fields if each.kind is FieldKind.NUMBER}
        return {name: value for name, value in self.scalars.items() if name in wanted}

    def replaced(self, **values: Any) -> Self:
        """Returns the same with other values of some fields."""
        return type(self)(**{**self.by_name, **values})


def _is_same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return type(one) is type(other) and one == other


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _shown(value: object) -> str:
    return f"<{value.size} of {value.dtype}>" if isinstance(value, np.ndarray) else repr(value)
