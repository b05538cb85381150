"""Importers of operators that have states."""

from collections.abc import Mapping

from kibi.frontends.tflite.importers.base import Importer, OptionsError, activation_of
from kibi.frontends.tflite.reader import ACTIVATIONS, Options
from kibi.ir import Operator
from kibi.ops import Svdf, UnidirectionalSequenceLstm


def _svdf(options: Options) -> Operator:
    return Svdf(options.integer("Rank"), activation_of(options))


def _lstm(options: Options) -> Operator:
    activation = ACTIVATIONS.get(options.integer("FusedActivationFunction"))
    if activation != "TANH":
        remedy = "Export an LSTM with the activation tanh"
        raise OptionsError(f"activation {activation} is not supported; TFLM has TANH alone", remedy)
    if options.real("ProjClip"):
        raise OptionsError("clipping of a projection is not supported, neither by TFLM", "Export an LSTM without one")
    return UnidirectionalSequenceLstm(options.flag("TimeMajor"), options.real("CellClip"))


REMEMBERING: Mapping[str, Importer] = {
    "SVDF": Importer(_svdf, "SVDFOptions"),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Importer(_lstm, "UnidirectionalSequenceLSTMOptions"),
}
"""By the schema's name of the operator."""
