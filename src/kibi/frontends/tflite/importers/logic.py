"""Importers of operators that compare and decide."""

from collections.abc import Mapping

from kibi.frontends.tflite.importers.base import Importer, plain
from kibi.ops import (
    Equal,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    NotEqual,
    SelectV2,
)

LOGIC: Mapping[str, Importer] = {
    "EQUAL": plain(Equal),
    "GREATER": plain(Greater),
    "GREATER_EQUAL": plain(GreaterEqual),
    "LESS": plain(Less),
    "LESS_EQUAL": plain(LessEqual),
    "LOGICAL_AND": plain(LogicalAnd),
    "LOGICAL_NOT": plain(LogicalNot),
    "LOGICAL_OR": plain(LogicalOr),
    "NOT_EQUAL": plain(NotEqual),
    "SELECT_V2": plain(SelectV2),
}
"""By the schema's name of the operator."""
