"""Parameters of the kernels that move elements without computing with them: copies, slices, padding, gathering, selection."""

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number


class BroadcastArgsParams(
    Params, struct="kibi_broadcast_args_params", kernels=("kibi_broadcast_args_s32", "kibi_broadcast_args_s64")
):
    """BROADCAST_ARGS: the shape that two shapes broadcast to."""

    elements1: int = number(DType.S32, "of the first shape")
    elements2: int = number(DType.S32, "of the second shape")
    elements: int = number(DType.S32, "of the output: the larger of both")


class ConcatenationParams(Params, kernels=("kibi_concatenation_any",)):
    """CONCATENATION and PACK: pieces of several inputs, one input after another, as often as the inputs take turns."""

    repeats: int = number(DType.S32, "how often the inputs take turns")
    inputs: int = number(DType.S32, "how many there are")
    pieces: Array = array(DType.S32, "[inputs][2]: pointers of an input; bytes that each gives in a turn")


class CopyBytesParams(Params, kernels=("kibi_copy_any",)):
    """RESHAPE of any type: a copy of pieces, one after another."""

    pieces: int = number(DType.S32)
    bytes: int = number(DType.S32, "of a piece")


class CopyParams(Params, struct="kibi_copy_params", kernels=("kibi_copy_f32", "kibi_copy_s8")):
    """RESHAPE of s8 or f32: a copy of pieces, one after another."""

    pieces: int = number(DType.S32)
    elements: int = number(DType.S32, "of a piece")


class DynamicUpdateSliceParams(Params, kernels=("kibi_dynamic_update_slice_any",)):
    """DYNAMIC_UPDATE_SLICE: a tensor, part of which another tensor replaces, from a computed place on."""

    pointers: int = number(DType.S32, "of the tensor")
    row_bytes: int = number(DType.S32, "of the tensor, at each pointer")
    update_pointers: int = number(DType.S32, "of the update")
    update_row_bytes: int = number(DType.S32, "of the update, at each pointer")
    axes: int = number(DType.S32, "1 to 8")
    sizes: Array = array(DType.S32, "[axes] of the tensor")
    update_sizes: Array = array(DType.S32, "[axes] of the update, none larger than the tensor's")
    bytes: int = number(DType.S32, "of an element")
    index_bytes: int = number(DType.S32, "of a number of the place: 4 or 8")


class EmbeddingLookupParams(Params, kernels=("kibi_embedding_lookup_s8_f32",)):
    """EMBEDDING_LOOKUP of an s8 table: items by computed numbers, each element times the scale."""

    lookups: int = number(DType.S32, "how many items are looked up")
    items: int = number(DType.S32, "how many the table has")
    pieces: int = number(DType.S32, "of an item")
    elements: int = number(DType.S32, "of a piece")
    row_elements: int = number(DType.S32, "of the table, at each pointer: a multiple of a piece")
    scale: float = number(DType.F32, "of the table")


class GatherParams(Params, kernels=("kibi_gather_any",)):
    """GATHER, GATHER_ND and EMBEDDING_LOOKUP: copies of a table's items, by computed numbers."""

    batches: int = number(DType.S32, "parts of the table and of the numbers that belong together")
    outer: int = number(DType.S32, "parts of a batch of the table; all numbers of the batch apply to each")
    lookups: int = number(DType.S32, "of a batch")
    depth: int = number(DType.S32, "numbers of a lookup; the item is the sum of their products with the strides")
    strides: Array = array(DType.S32, "[depth]")
    items: int = number(DType.S32, "of a part of the table")
    pieces: int = number(DType.S32, "of an item")
    bytes: int = number(DType.S32, "of a piece")
    row_bytes: int = number(DType.S32, "of the table, at each pointer: a multiple of a piece")
    number_row_elements: int = number(DType.S32, "numbers at each pointer to numbers")
    table: int = number(DType.S32, "which of the rows' pointers is the table's first")
    numbers: int = number(DType.S32, "which of the rows' pointers is the first to numbers")


class PaddingParams(Params):
    """The shared parameters of PAD: an input row, with columns and channels added on both sides."""

    pieces: int = number(DType.S32, "pointers that hold the input row one after another")
    width: int = number(DType.S32, "columns in each piece")
    channels: int = number(DType.S32, "of the input")
    before_width: int = number(DType.S32, "columns added before the input's")
    after_width: int = number(DType.S32, "columns added after the input's")
    before_channels: int = number(DType.S32, "channels added before the input's, in each of its columns")
    after_channels: int = number(DType.S32, "channels added after the input's, in each of its columns")


class PadF32Params(PaddingParams, kernels=("kibi_pad_f32",)):
    """PAD of f32."""

    value: float = number(DType.F32, "of all that is added")


class PadParams(PaddingParams, struct="kibi_pad_params", kernels=("kibi_pad_s16", "kibi_pad_s32", "kibi_pad_s8")):
    """PAD of integers."""

    value: int = number(DType.S32, "of all that is added, -128 … 127")


class PickingParams(Params):
    """The shared parameters of the kernels that pick elements: runs of neighbouring elements, at the sums of two tables' entries.

    They run operators whose places in the input are known when the model is compiled: SPACE_TO_DEPTH, MIRROR_PAD, BROADCAST_TO, …
    """

    outer: Array = array(DType.S32, "[outer_count][2]: pointer, and place in its row, counted in elements")
    outer_count: int = number(DType.S32)
    inner: Array = array(
        DType.S32,
        "[inner_count][2]: the same, to be added; where the sum of the places is below 0, the run is filled",
    )
    inner_count: int = number(DType.S32)
    elements: int = number(DType.S32, "of a run")


class GatherRunsBytesParams(PickingParams, kernels=("kibi_gather_runs_any",)):
    """Elements of any type, moved to other places."""

    bytes: int = number(DType.S32, "of an element: 1 to 8")
    filler: Array = array(DType.S8, "[bytes]: the element that runs are filled with")


class GatherRunsF32Params(PickingParams, kernels=("kibi_gather_runs_f32",)):
    """Elements f32, moved to other places."""

    filler: Array = array(DType.F32, "[1]: the element that runs are filled with")


class GatherRunsS16Params(PickingParams, kernels=("kibi_gather_runs_s16",)):
    """Elements s16, moved to other places."""

    filler: Array = array(DType.S16, "[1]: the element that runs are filled with")


class GatherRunsS32Params(PickingParams, kernels=("kibi_gather_runs_s32",)):
    """Elements s32, moved to other places."""

    filler: Array = array(DType.S32, "[1]: the element that runs are filled with")


class GatherRunsS8Params(PickingParams, kernels=("kibi_gather_runs_s8",)):
    """Elements s8, moved to other places."""

    filler: Array = array(DType.S8, "[1]: the element that runs are filled with")


class SelectParams(Params, kernels=("kibi_select_any",)):
    """SELECT_V2: elements of one input where a condition holds, of another where it does not; all three broadcast."""

    pieces: int = number(DType.S32, "parts of an output row: 1, or its columns")
    elements: int = number(DType.S32, "of a piece of the output")
    rows1: int = number(DType.S32, "pointers of the condition: 1, or one for each piece")
    rows2: int = number(DType.S32, "pointers of the first input")
    row_step1: int = number(DType.S32, "of the condition: pointers from one piece to the next, 0 or 1")
    piece_step1: int = number(DType.S32, "elements from one piece to the next")
    step1: int = number(DType.S32, "elements from one element to the next, 0 or 1")
    row_step2: int = number(DType.S32, "the same of the first input")
    piece_step2: int = number(DType.S32)
    step2: int = number(DType.S32)
    row_step3: int = number(DType.S32, "the same of the second input")
    piece_step3: int = number(DType.S32)
    step3: int = number(DType.S32)
    bytes: int = number(DType.S32, "of an element of the inputs and the output: 1, 2 or 4")


class ShapeParams(Params, kernels=("kibi_shape_any",)):
    """SHAPE: a copy of constant numbers."""

    sizes: Array = array(DType.S32, "[rank]")
    rank: int = number(DType.S32)


class StridedCopyParams(Params, kernels=("kibi_strided_copy_any",)):
    """SLICE, STRIDED_SLICE, SPLIT, UNPACK, TRANSPOSE, REVERSE_V2: pieces of one input in another order, by nested loops."""

    bytes: int = number(DType.S32, "of a piece, which is contiguous in the input and in the output")
    first_pointer: int = number(DType.S32, "number of the pointer to the row of the first piece")
    first_byte: int = number(DType.S32, "where the first piece begins in that row")
    axes: int = number(DType.S32, "loops, 1 to 8")
    loops: Array = array(
        DType.S32,
        "[axes][3], the outermost first: steps, at least 1; pointers and bytes from one step to the next",
    )
