"""Importers of operators that reduce axes."""

from collections.abc import Mapping
from math import isfinite

from kibi.frontends.tflite.importers.base import Importer, OptionsError, plain
from kibi.frontends.tflite.reader import Options
from kibi.ir import Operator
from kibi.ops import ArgMax, ArgMin, Mean, ReduceMax, ReduceMin, Softmax, Sum


def _softmax(options: Options) -> Operator:
    beta = options.real("Beta")
    if not isfinite(beta):
        raise OptionsError(f"beta is {beta}", "Export the model again; the file is damaged")
    return Softmax(beta=beta)


REDUCING: Mapping[str, Importer] = {
    "ARG_MAX": plain(ArgMax),
    "ARG_MIN": plain(ArgMin),
    "MEAN": Importer(lambda options: Mean(keep_dims=options.flag("KeepDims")), "ReducerOptions"),
    "REDUCE_MAX": Importer(lambda options: ReduceMax(keep_dims=options.flag("KeepDims")), "ReducerOptions"),
    "REDUCE_MIN": Importer(lambda options: ReduceMin(keep_dims=options.flag("KeepDims")), "ReducerOptions"),
    "SOFTMAX": Importer(_softmax, "SoftmaxOptions"),
    "SUM": Importer(lambda options: Sum(keep_dims=options.flag("KeepDims")), "ReducerOptions"),
}
"""By the schema's name of the operator."""
