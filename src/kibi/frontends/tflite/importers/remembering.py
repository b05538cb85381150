"""Importers of operators that have states."""

from collections.abc import Mapping

from kibi.frontends.tflite.importers.base import Importer, activation_of
from kibi.frontends.tflite.reader import Options
from kibi.ir import Operator
from kibi.ops import Svdf


def _svdf(options: Options) -> Operator:
    return Svdf(options.integer("Rank"), activation_of(options))


REMEMBERING: Mapping[str, Importer] = {
    "SVDF": Importer(_svdf, "SVDFOptions"),
}
"""By the schema's name of the operator."""
