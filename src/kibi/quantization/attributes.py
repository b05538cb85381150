"""The attributes of an operator of a file, all of them, to be written again."""

import re
from collections.abc import Mapping

import numpy as np
import tflite

from kibi.frontends.tflite.builder import Attribute
from kibi.frontends.tflite.flatbuffer import Budget, enter, reading
from kibi.frontends.tflite.reader import OperatorRecord

_WORD = re.compile(r"(?<!^)(?=[A-Z])")


def attributes_of(record: OperatorRecord, file_bytes: int) -> Mapping[str, Attribute]:
    """The fields of an operator's table of options, by their names in the schema; none if the file leaves the table out.

    Args:
        record: the operator.
        file_bytes: the size of the file.

    Raises:
        CorruptError: the table is no sound one.
        OverlapError: its fields overlap many times over.
    """
    kind, found = record.options_type, dict[str, Attribute]()
    if record.options is None or not hasattr(tflite, kind):
        return found
    with reading():
        table = getattr(tflite, kind)()
        table.Init(record.options.Bytes, record.options.Pos)
        enter(table, Budget(file_bytes))
        for name in _fields(kind):
            value = _value(table, name)
            if value is not None:
                found[_WORD.sub("_", name).lower()] = value
    return found


def _fields(kind: str) -> list[str]:
    """The names of a table's fields, as the generated code has them."""
    prefix = f"{kind}Add"
    names = (name.removeprefix(prefix) for name in dir(tflite) if name.startswith(prefix))
    return [name for name in names if hasattr(getattr(tflite, kind), name)]


def _value(table: object, name: str) -> Attribute | None:
    """A field; None if the file leaves it out."""
    if hasattr(table, f"{name}AsNumpy"):
        vector = getattr(table, f"{name}AsNumpy")()
        return (
            None if isinstance(vector, int) else np.array(vector)
        )  # the generated code gives 0 for one that is left out
    value = getattr(table, name)()
    found: Attribute | None = value.decode() if isinstance(value, bytes) else value
    return found
