"""Importers of operators that divide, add up and multiply matrices."""

from collections.abc import Mapping

from kibi.frontends.tflite.importers.base import Importer, plain
from kibi.ops import FloorDiv, FloorMod

ARITHMETIC: Mapping[str, Importer] = {
    "FLOOR_DIV": plain(FloorDiv),
    "FLOOR_MOD": plain(FloorMod),
}
"""By the schema's name of the operator."""
