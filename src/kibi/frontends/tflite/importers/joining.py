"""Importers of operators that join, cut and transpose tensors."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kibi.frontends.tflite.importers.base import Importer, OptionsError, activation_of, plain
from kibi.frontends.tflite.reader import Options
from kibi.ir import Operator, Tensor
from kibi.ops import (
    Activation,
    Concatenation,
    ExpandDims,
    Pack,
    Reshape,
    ReverseV2,
    Slice,
    Split,
    SplitV,
    Squeeze,
    StridedSlice,
    Transpose,
    Unpack,
)


def _concatenation(options: Options) -> Operator:
    activation = activation_of(options)
    if activation is not Activation.NONE:
        remedy = "Make the activation an operator of its own"
        raise OptionsError(f"fused activation {activation.name} is not supported, neither by TFLM", remedy)
    return Concatenation(axis=options.integer("Axis"))


def _check_values_count(options: Options, inputs: Sequence[Tensor | None]) -> None:
    """TFLM takes the number of inputs from the options. Source: `micro/kernels/pack.cc`."""
    count = options.integer("ValuesCount")
    if count != len(inputs):
        what = f"its options say {count} inputs, but it has {len(inputs)}"
        raise OptionsError(what, "Export the model again; the file is damaged")


def _strided_slice(options: Options) -> Operator:
    for name, text in (("EllipsisMask", "an ellipsis mask"), ("NewAxisMask", "a new axis mask")):
        if options.integer(name):
            what = f"{text} ({options.integer(name)}) is not supported; TFLM takes it for 0"
            raise OptionsError(what, "Export the model with a begin, end and stride for each axis of the input")
    if options.flag("Offset"):
        what = "ends that are counted from the begins are not supported; TFLM counts them from the front"
        raise OptionsError(what, "Export the model with ends that are indices")
    masks = {"begin_mask": "BeginMask", "end_mask": "EndMask", "shrink_axis_mask": "ShrinkAxisMask"}
    return StridedSlice(**{field: options.integer(name) for field, name in masks.items()})


def _unpack_part(op: Operator, number: int, count: int) -> Operator:
    """One output of UNPACK; TFLM takes the number of outputs from the options."""
    if not isinstance(op, Unpack) or count != op.parts:
        raise OptionsError(
            f"its options say another number of outputs than {count}", "Export the model again; the file is damaged"
        )
    return replace(op, part=number)


def _unpack(options: Options) -> Operator:
    return Unpack(axis=options.integer("Axis"), parts=options.integer("Num"))


JOINING: Mapping[str, Importer] = {
    "CONCATENATION": Importer(_concatenation, "ConcatenationOptions"),
    "EXPAND_DIMS": plain(ExpandDims),
    "PACK": Importer(lambda options: Pack(axis=options.integer("Axis")), "PackOptions", _check_values_count),
    "RESHAPE": Importer(lambda _: Reshape(), ignores=1),
    "REVERSE_V2": plain(ReverseV2),
    "SLICE": plain(Slice),
    "SPLIT": Importer(lambda _: Split(), part=lambda _, number, count: Split(number, count), order=(1, 0)),
    "SPLIT_V": Importer(lambda _: SplitV(), part=lambda _, number, count: SplitV(number, count)),
    "SQUEEZE": Importer(lambda options: Squeeze(dims=options.integers("SqueezeDims")), "SqueezeOptions"),
    "STRIDED_SLICE": Importer(_strided_slice, "StridedSliceOptions"),
    "TRANSPOSE": plain(Transpose),
    "UNPACK": Importer(_unpack, "UnpackOptions", part=_unpack_part),
}
"""By the schema's name of the operator."""
