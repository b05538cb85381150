"""Importers of operators that divide, add up and multiply matrices."""

from collections.abc import Mapping

from kibi.frontends.tflite.importers.base import Importer, plain
from kibi.frontends.tflite.importers.mixed_matmul import widened
from kibi.frontends.tflite.importers.repeated_axes import broadcasting
from kibi.frontends.tflite.reader import Options
from kibi.ir import Operator
from kibi.ops import AddN, BatchMatmul, Cumsum, FloorDiv, FloorMod


def _batch_matmul(options: Options) -> Operator:
    return BatchMatmul(adj_x=options.flag("AdjX"), adj_y=options.flag("AdjY"))


def _cumsum(options: Options) -> Operator:
    return Cumsum(exclusive=options.flag("Exclusive"), reverse=options.flag("Reverse"))


ARITHMETIC: Mapping[str, Importer] = {
    "ADD_N": plain(AddN),
    "BATCH_MATMUL": Importer(_batch_matmul, "BatchMatMulOptions", instead=widened),
    "CUMSUM": Importer(_cumsum, "CumsumOptions"),
    "FLOOR_DIV": broadcasting(FloorDiv),
    "FLOOR_MOD": broadcasting(FloorMod),
}
"""By the schema's name of the operator."""
