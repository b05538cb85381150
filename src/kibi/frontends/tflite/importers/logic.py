"""Importers of operators that compare and decide."""

from collections.abc import Mapping

from kibi.frontends.tflite.importers.base import Importer, plain
from kibi.frontends.tflite.importers.repeated_axes import broadcasting
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
    "EQUAL": broadcasting(Equal),
    "GREATER": broadcasting(Greater),
    "GREATER_EQUAL": broadcasting(GreaterEqual),
    "LESS": broadcasting(Less),
    "LESS_EQUAL": broadcasting(LessEqual),
    "LOGICAL_AND": broadcasting(LogicalAnd),
    "LOGICAL_NOT": plain(LogicalNot),
    "LOGICAL_OR": broadcasting(LogicalOr),
    "NOT_EQUAL": broadcasting(NotEqual),
    "SELECT_V2": broadcasting(SelectV2),
}
"""By the schema's name of the operator."""
