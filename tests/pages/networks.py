"""Models of tests of reports: hostile names, and long chains."""

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import Attribute, ModelBuilder

HOSTILE = (
    "<script>document.title = 'stolen'</script>",
    '</script><img src=x onerror="document.title=1">',
    "\"' onclick='document.title=2' &amp; ${7 * 7} {{ 7 * 7 }}",
    "</style>\u2028<!-- \u202e",
)
"""Names that end elements, attributes, scripts, templates or lines, or turn the direction of text."""


def hostile_bytes() -> bytes:
    """Three operators, none of which a pass takes away, whose tensors have hostile names."""
    builder = ModelBuilder()
    window: dict[str, Attribute] = {
        "padding": "SAME",
        "stride_h": 1,
        "stride_w": 1,
        "filter_height": 2,
        "filter_width": 2,
    }
    names = iter(HOSTILE)
    last = builder.input((1, 4, 4, 2), DType.S8, 0.05, 0, name=next(names))
    for name in names:
        made = builder.tensor((1, 4, 4, 2), DType.S8, 0.05, 0, name=name)
        builder.operator("MAX_POOL_2D", [last], [made], window)
        last = made
    return builder.finish([last])


def chain_bytes(operators: int) -> bytes:
    """Convolutions, poolings and additions in a chain, each addition of what is three operators before."""
    builder = ModelBuilder()
    random = np.random.default_rng(0)
    shape = (1, 4, 4, 4)
    window: dict[str, Attribute] = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    made = [builder.input(shape, DType.S8, 0.05, 3)]
    for number in range(operators):
        output = builder.tensor(shape, DType.S8, 0.05, 3)
        if number % 4 == 0:
            kernel = builder.constant(random.integers(-127, 128, (4, 1, 1, 4)).astype(np.int8), 0.01, 0)
            builder.operator("CONV_2D", [made[-1], kernel], [output], window)
        elif number % 4 == 3:
            builder.operator("ADD", [made[-1], made[-3]], [output])
        else:
            size: dict[str, Attribute] = {"filter_height": 3, "filter_width": 3}
            builder.operator("MAX_POOL_2D", [made[-1]], [output], {**window, **size})
        made.append(output)
    return builder.finish([made[-1]])
