"""A model whose inferences may end early."""

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from tests.support.offline_models import NAME

DEPTH = 3
_OPTIONS = b"cycles_max\0\1\x0c\1\1\1\2\4\2\x24\1"
"""A flexbuffer: cycles_max is 2."""


def _buffer(b: ModelBuilder, x: int, slots: int, cycles: int) -> int:
    y = b.tensor([1, slots, 1, DEPTH], DType.S8, 0.5, 3, variable=True)
    options = _OPTIONS.replace(b"\1\2\4", bytes([1, cycles, 4]))
    b.operator("CUSTOM", [x], [y], custom_code="CIRCULAR_BUFFER", custom_options=options)
    return y


def _pooled(b: ModelBuilder, x: int, slots: int) -> int:
    y = b.tensor([1, 1, 1, DEPTH], DType.S8, 0.5, 3)
    attributes: dict[str, Attribute] = {
        "padding": "VALID",
        "filter_height": slots,
        "filter_width": 1,
        "stride_h": 1,
        "stride_w": 1,
    }
    b.operator("MAX_POOL_2D", [x], [y], attributes)
    return y


def early_ending_model(offsets: bytes = b"") -> bytes:
    """Outputs in every sixth inference: a buffer of 3 slots, a pooling, another of 4; a third runs in each, being in front."""
    b = ModelBuilder()
    x = b.input([1, 1, 1, DEPTH], DType.S8, 0.5, 3, name="x")
    always = b.tensor([1, 1, 1, DEPTH], DType.S8, 0.5, 3)
    b.operator("ABS", [_pooled(b, _buffer(b, x, 5, 1), 5)], [always])
    first = _pooled(b, _buffer(b, x, 3, 2), 3)
    second = _buffer(b, first, 4, 3)
    y = b.tensor([1, 4, 1, DEPTH], DType.S8, 0.5, 3)
    b.operator("ABS", [second], [y])
    z = b.tensor([1, 4, 1, DEPTH], DType.S8, 0.5, 3)
    b.operator("ADD", [y, always], [z])
    if offsets:
        b.metadata(NAME, offsets)
    return b.finish([z])
