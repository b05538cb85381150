"""Importers of operators that move elements, or make them from shapes."""

from collections.abc import Mapping

from kibi.frontends.tflite.importers.base import Importer, OptionsError, plain
from kibi.frontends.tflite.reader import Options
from kibi.ir import Operator
from kibi.ops import (
    BatchToSpaceNd,
    BroadcastArgs,
    BroadcastTo,
    Cast,
    DepthToSpace,
    DynamicUpdateSlice,
    EmbeddingLookup,
    Fill,
    Gather,
    GatherNd,
    MirrorPad,
    Pad,
    PadV2,
    ResizeBilinear,
    ResizeNearestNeighbor,
    Shape,
    SpaceToBatchNd,
    SpaceToDepth,
    ZerosLike,
)

# The schema's `MirrorPadMode`.
_REFLECT, _SYMMETRIC = 0, 1


def _resize_bilinear(options: Options) -> Operator:
    return ResizeBilinear(
        align_corners=options.flag("AlignCorners"), half_pixel_centers=options.flag("HalfPixelCenters")
    )


def _gather(options: Options) -> Operator:
    return Gather(axis=options.integer("Axis"), batch_dims=options.integer("BatchDims"))


def _mirror_pad(options: Options) -> Operator:
    """TFLM takes every mode but REFLECT for SYMMETRIC; one that the schema lacks is refused."""
    code = options.integer("Mode")
    if code not in (_REFLECT, _SYMMETRIC):
        raise OptionsError(f"mode {code} is unknown", "Use REFLECT or SYMMETRIC")
    return MirrorPad(is_reflecting=code == _REFLECT)


def _resize_nearest_neighbor(options: Options) -> Operator:
    return ResizeNearestNeighbor(
        align_corners=options.flag("AlignCorners"), half_pixel_centers=options.flag("HalfPixelCenters")
    )


MOVING: Mapping[str, Importer] = {
    "BATCH_TO_SPACE_ND": plain(BatchToSpaceNd),
    "BROADCAST_ARGS": plain(BroadcastArgs),
    "BROADCAST_TO": plain(BroadcastTo),
    "CAST": plain(Cast),
    "DEPTH_TO_SPACE": Importer(
        lambda options: DepthToSpace(block_size=options.integer("BlockSize")), "DepthToSpaceOptions"
    ),
    "DYNAMIC_UPDATE_SLICE": plain(DynamicUpdateSlice),
    "EMBEDDING_LOOKUP": plain(EmbeddingLookup),
    "FILL": plain(Fill),
    "GATHER": Importer(_gather, "GatherOptions"),
    "GATHER_ND": plain(GatherNd),
    "MIRROR_PAD": Importer(_mirror_pad, "MirrorPadOptions"),
    "PAD": plain(Pad),
    "PADV2": plain(PadV2),
    "RESIZE_BILINEAR": Importer(_resize_bilinear, "ResizeBilinearOptions"),
    "RESIZE_NEAREST_NEIGHBOR": Importer(_resize_nearest_neighbor, "ResizeNearestNeighborOptions"),
    "SHAPE": plain(Shape),
    "SPACE_TO_BATCH_ND": plain(SpaceToBatchNd),
    "SPACE_TO_DEPTH": Importer(
        lambda options: SpaceToDepth(block_size=options.integer("BlockSize")), "SpaceToDepthOptions"
    ),
    "ZEROS_LIKE": plain(ZerosLike),
}
"""By the schema's name of the operator."""
