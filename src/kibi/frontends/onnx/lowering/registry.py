"""The operators that are converted, by domain and name."""

from collections.abc import Mapping

from kibi.frontends.onnx.lowering.control import CONTROL
from kibi.frontends.onnx.lowering.elementwise import ELEMENTWISE
from kibi.frontends.onnx.lowering.entry import Lowering
from kibi.frontends.onnx.lowering.functions import FUNCTIONS
from kibi.frontends.onnx.lowering.gathering import GATHERING
from kibi.frontends.onnx.lowering.layers import LAYERS
from kibi.frontends.onnx.lowering.moving import MOVING
from kibi.frontends.onnx.lowering.normalizing import NORMALIZING
from kibi.frontends.onnx.lowering.quantizing import QUANTIZING
from kibi.frontends.onnx.lowering.recurrent import RECURRENT
from kibi.frontends.onnx.lowering.reducing import REDUCING
from kibi.frontends.onnx.lowering.resizing import RESIZING
from kibi.frontends.onnx.lowering.windows import WINDOWS

LOWERINGS: Mapping[str, Lowering] = dict(
    sorted(
        {
            **CONTROL,
            **ELEMENTWISE,
            **FUNCTIONS,
            **GATHERING,
            **LAYERS,
            **MOVING,
            **NORMALIZING,
            **QUANTIZING,
            **RECURRENT,
            **REDUCING,
            **RESIZING,
            **WINDOWS,
        }.items()
    )
)
"""By ONNX's name of the operator, in alphabetic order; all are in ONNX's own domain."""
