"""Importers of exponentials, logarithms, circular functions, and of what is divided by a norm."""

from collections.abc import Mapping

from kibi.frontends.tflite.importers.base import Importer, plain
from kibi.ops import Cos, Exp, Log, Sin

TRANSCENDENTAL: Mapping[str, Importer] = {
    "COS": plain(Cos),
    "EXP": plain(Exp),
    "LOG": plain(Log),
    "SIN": plain(Sin),
}
"""By the schema's name of the operator."""
