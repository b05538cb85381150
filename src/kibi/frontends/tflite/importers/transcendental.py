"""Importers of exponentials, logarithms, circular functions, and of division by a norm."""

from collections.abc import Mapping

from kibi.frontends.tflite.importers.base import Importer, OptionsError, activation_of, plain
from kibi.frontends.tflite.reader import Options
from kibi.ir import Operator
from kibi.ops import Activation, Cos, Exp, L2Normalization, Log, LogSoftmax, Sin


def _l2_normalization(options: Options) -> Operator:
    activation = activation_of(options)
    if activation is not Activation.NONE:
        what = f"fused activation {activation.name} is not supported; TFLM refuses it, too"
        raise OptionsError(what, "Make it an operator of its own")
    return L2Normalization()


TRANSCENDENTAL: Mapping[str, Importer] = {
    "COS": plain(Cos),
    "EXP": plain(Exp),
    "L2_NORMALIZATION": Importer(_l2_normalization, "L2NormOptions"),
    "LOG": plain(Log),
    "LOG_SOFTMAX": plain(LogSoftmax),
    "SIN": plain(Sin),
}
"""By the schema's name of the operator."""
