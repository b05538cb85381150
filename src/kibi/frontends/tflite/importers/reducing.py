"""Importers of operators that reduce axes."""

from collections.abc import Mapping
from math import isfinite

from kibi.frontends.tflite.importers.base import Importer, OptionsError, plain
from kibi.frontends.tflite.importers.merged_axes import merged
from kibi.frontends.tflite.reader import Options
from kibi.ir import Operator
from kibi.ops import ArgMax, ArgMin, Mean, ReduceAll, ReduceMax, ReduceMin, Softmax, Sum


def _softmax(options: Options) -> Operator:
    beta = options.real("Beta")
    if not isfinite(beta):
        raise OptionsError(f"beta is {beta}", "Export the model again; the file is damaged")
    return Softmax(beta=beta)


def _reduction(operator: type[Mean | ReduceAll | ReduceMax | ReduceMin | Sum]) -> Importer:
    return Importer(lambda options: operator(keep_dims=options.flag("KeepDims")), "ReducerOptions", instead=merged)


REDUCING: Mapping[str, Importer] = {
    "ARG_MAX": plain(ArgMax),
    "ARG_MIN": plain(ArgMin),
    "MEAN": _reduction(Mean),
    "REDUCE_ALL": _reduction(ReduceAll),
    "REDUCE_MAX": _reduction(ReduceMax),
    "REDUCE_MIN": _reduction(ReduceMin),
    "SOFTMAX": Importer(_softmax, "SoftmaxOptions"),
    "SUM": _reduction(Sum),
}
"""By the schema's name of the operator."""
