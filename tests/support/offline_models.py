"""Models for plans that model files carry."""

import struct
from collections.abc import Sequence

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder

NAME = "OfflineMemoryAllocation"


def branches(*, metadata: Sequence[tuple[str, bytes]] = ()) -> bytes:
    """Two branches of one input, made in turns: x → a, b; a → pa; b → pb; pa + pb → y.

    x, a and b have 256 bytes, the others 64. In the file's order 768 bytes live at once; branch after branch, 576.
    """
    builder = ModelBuilder()
    scale = 0.05
    x = builder.input((1, 8, 8, 4), DType.S8, scale, 0, name="x")
    large = [builder.tensor((1, 8, 8, 4), DType.S8, scale, 0, name=name) for name in "ab"]
    small = [builder.tensor((1, 4, 4, 4), DType.S8, scale, 0, name=name) for name in ("pa", "pb", "y")]
    builder.operator("RELU", [x], [large[0]])
    builder.operator("RELU6", [x], [large[1]])
    for source, made in zip(large, small, strict=False):
        builder.operator(
            "MAX_POOL_2D", [source], [made], padding="VALID", stride_h=2, stride_w=2, filter_height=2, filter_width=2,
        )  # fmt: skip
    builder.operator("ADD", small[:2], [small[2]])
    for name, contents in metadata:
        builder.metadata(name, contents)
    return builder.finish([small[2]])


def packed(offsets: Sequence[int], count: int | None = None) -> bytes:
    """The contents of the metadata's buffer, with a count that may lie."""
    return struct.pack(f"<{3 + len(offsets)}i", 1, 1, len(offsets) if count is None else count, *offsets)


def with_offsets(offsets: Sequence[int], count: int | None = None) -> bytes:
    """`branches` with these offsets for x, a, b, pa, pb and y."""
    return branches(metadata=[(NAME, packed(offsets, count))])
