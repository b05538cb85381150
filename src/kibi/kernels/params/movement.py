"""Parameters of the kernels that move elements without computing with them: copies, slices, padding, gathering, selection."""

from types import MappingProxyType

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number


class BroadcastArgsParams(
    Params, struct="kibi_broadcast_args_params", kernels=("kibi_broadcast_args_s32", "kibi_broadcast_args_s64")
):
    """BROADCAST_ARGS: the shape that two shapes broadcast to."""

    elements1: int = number(DType.S32, "of the first shape")
    elements2: int = number(DType.S32, "of the second shape")
    elements: int = number(DType.S32, "of the output: the larger of both")
    contract = """
        require: 0 <= elements1 <= elements
        require: 0 <= elements2 <= elements
        input: 1 x elements1
        input: 1 x elements2
        output: elements
    """


class ConcatenationParams(Params, kernels=("kibi_concatenation_any",)):
    """CONCATENATION and PACK: pieces of several inputs, one input after another, as often as the inputs take turns."""

    repeats: int = number(DType.S32, "how often the inputs take turns")
    inputs: int = number(DType.S32, "how many there are")
    pieces: Array = array(DType.S32, "[inputs][2]: pointers of an input; bytes that each gives in a turn")
    contract = """
        require: 1 <= repeats
        require: 1 <= inputs
        array pieces: 2 * inputs in 0 … 2**24 - 1
        inputs from pieces: inputs times repeats or null
        output from pieces: inputs times repeats
    """


class CopyBytesParams(Params, kernels=("kibi_copy_any",)):
    """RESHAPE of any type: a copy of pieces, one after another."""

    pieces: int = number(DType.S32)
    bytes: int = number(DType.S32, "of a piece")
    contract = """
        require: 1 <= pieces
        input: pieces x bytes
        output: pieces * bytes
    """


class CopyParams(Params, struct="kibi_copy_params", kernels=("kibi_copy_f32", "kibi_copy_s8")):
    """RESHAPE of s8 or f32: a copy of pieces, one after another."""

    pieces: int = number(DType.S32)
    elements: int = number(DType.S32, "of a piece")
    contract = """
        require: 1 <= pieces
        input: pieces x elements
        output: pieces * elements
    """


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
    contract = """
        require: 1 <= axes <= 8
        require: index_bytes == index_bytes // 4 * 4
        require: 4 <= index_bytes <= 8
        array sizes: axes in 1 … 2**24 - 1
        array update_sizes: axes in 1 … 2**24 - 1
        each: update_sizes <= sizes
        require: 1 <= bytes <= 8
        require: 1 <= update_row_bytes
        require: product(sizes, 0, 1) * bytes == pointers * row_bytes
        require: product(update_sizes, 0, 1) * bytes == update_pointers * update_row_bytes
        input: pointers x row_bytes
        input: update_pointers x update_row_bytes
        input: 1 x axes * index_bytes
        output: pointers * row_bytes
        aligned: 2 to index_bytes
    """


class EmbeddingLookupParams(Params, kernels=("kibi_embedding_lookup_s8_f32",)):
    """EMBEDDING_LOOKUP of an s8 table: items by computed numbers, each element times the scale."""

    lookups: int = number(DType.S32, "how many items are looked up")
    items: int = number(DType.S32, "how many the table has")
    pieces: int = number(DType.S32, "of an item")
    elements: int = number(DType.S32, "of a piece")
    row_elements: int = number(DType.S32, "of the table, at each pointer: a multiple of a piece")
    scale: float = number(DType.F32, "of the table")
    contract = """
        require: 1 <= lookups
        require: 1 <= items
        require: 1 <= pieces
        require: 1 <= elements
        require: 1 <= row_elements
        require: row_elements == row_elements // elements * elements
        require: items * pieces * elements <= (pointers - 1) * row_elements
        input: 1 x lookups of_bytes 4
        input: pointers - 1 x row_elements
        output: 4 * lookups * pieces * elements
    """


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
    # Two numbers of at most 1 add up to 1 if one is 1, and the other one 0.
    contract = """
        require: 1 <= batches
        require: 1 <= outer
        require: 1 <= lookups
        require: 1 <= depth <= 8
        require: 1 <= items
        require: 1 <= pieces
        require: 1 <= bytes
        require: 1 <= number_row_elements
        require: bytes <= row_bytes
        require: row_bytes == row_bytes // bytes * bytes
        array strides: depth in 0 … 2**28 - 1
        require: min(1, table) + min(1, numbers) == 1
        require: batches * outer * items * pieces * bytes <= (numbers + min(1, table) * (pointers - table)) * row_bytes
        require: batches * lookups * depth <= (table + min(1, numbers) * (pointers - numbers)) * number_row_elements
        input: table + numbers x min(1, numbers) * row_bytes + min(1, table) * 4 * number_row_elements
        input: pointers - table - numbers x min(1, table) * row_bytes + min(1, numbers) * 4 * number_row_elements
        aligned: min(1, numbers) to 4
        output: batches * outer * lookups * pieces * bytes
    """


class PaddingParams(Params):
    """The shared parameters of PAD: an input row, with columns and channels added on both sides."""

    pieces: int = number(DType.S32, "pointers that hold the input row one after another")
    width: int = number(DType.S32, "columns in each piece")
    channels: int = number(DType.S32, "of the input")
    before_width: int = number(DType.S32, "columns added before the input's")
    after_width: int = number(DType.S32, "columns added after the input's")
    before_channels: int = number(DType.S32, "channels added before the input's, in each of its columns")
    after_channels: int = number(DType.S32, "channels added after the input's, in each of its columns")
    contract = """
        require: 1 <= pieces
        require: 0 <= width
        require: 0 <= channels
        require: 0 <= before_width
        require: 0 <= after_width
        require: 0 <= before_channels
        require: 0 <= after_channels
        input: pieces x width * channels
        output: (before_width + pieces * width + after_width) * (before_channels + channels + after_channels)
    """


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
    contract = """
        require: 1 <= outer_count
        require: 1 <= inner_count
        require: 1 <= elements
        array outer: 2 * outer_count in -2**29 … 2**29
        array inner: 2 * inner_count in -2**29 … 2**29
        require: 0 <= least(outer, 0, 2) + least(inner, 0, 2)
        require: most(outer, 0, 2) + most(inner, 0, 2) < count(0)
    """


class GatherRunsBytesParams(PickingParams, kernels=("kibi_gather_runs_any",)):
    """Elements of any type, moved to other places."""

    bytes: int = number(DType.S32, "of an element: 1 to 8")
    filler: Array = array(DType.S8, "[bytes]: the element that runs are filled with")
    contract = """
        require: 1 <= bytes <= 8
        require: max(0, most(outer, 1, 2) + most(inner, 1, 2) + elements) * bytes <= room(0)
        input: count(0) x 0 or null
        rest
        output: outer_count * inner_count * elements * bytes
    """


class _GatherRunsParams(PickingParams):
    """What the kernels have that move elements of one type."""

    contract = """
        require: max(0, most(outer, 1, 2) + most(inner, 1, 2) + elements) * input_bytes <= room(0)
        input: count(0) x 0 or null
        rest
        output: outer_count * inner_count * elements
    """


class GatherRunsF32Params(_GatherRunsParams, kernels=("kibi_gather_runs_f32",)):
    """Elements f32, moved to other places."""

    filler: Array = array(DType.F32, "[1]: the element that runs are filled with")


class GatherRunsS16Params(_GatherRunsParams, kernels=("kibi_gather_runs_s16",)):
    """Elements s16, moved to other places."""

    filler: Array = array(DType.S16, "[1]: the element that runs are filled with")


class GatherRunsS32Params(_GatherRunsParams, kernels=("kibi_gather_runs_s32",)):
    """Elements s32, moved to other places."""

    filler: Array = array(DType.S32, "[1]: the element that runs are filled with")


class GatherRunsS8Params(_GatherRunsParams, kernels=("kibi_gather_runs_s8",)):
    """Elements s8, moved to other places."""

    filler: Array = array(DType.S8, "[1]: the element that runs are filled with")


class RepeatRunsS8Params(Params, kernels=("kibi_repeat_runs_s8",)):
    """Neighbouring runs of elements s8, each repeated."""

    outer: Array = array(
        DType.S32, "[outer_count][2]: pointer, and place in its row, counted in elements; below 0 where all is filled"
    )
    outer_count: int = number(DType.S32)
    runs: int = number(DType.S32, "neighbouring runs at each entry")
    elements: int = number(DType.S32, "1 … 32: of a run")
    repeats: int = number(DType.S32, "how often each run is written")
    filler: Array = array(DType.S8, "[1]: the element that runs are filled with")
    contract = """
        require: 1 <= min(outer_count, min(runs, repeats))
        array outer: 2 * outer_count in -2**29 … 2**29
        require: 1 <= least(outer, 0, 2) + 1
        require: most(outer, 0, 2) < count(0)
        require: max(0, most(outer, 1, 2) + runs * elements) * input_bytes <= room(0)
        input: count(0) x 0 or null
        rest
        output: outer_count * runs * repeats * elements
    """
    parts = MappingProxyType(
        {
            "KIBI_REPEAT_RUNS_S8_OF_SMALL": ("5 <= elements + (repeats - 2) * 4",),
            "KIBI_REPEAT_RUNS_S8_OF_TWO": ("elements <= 4 + (repeats - 2) * 28",),
            "KIBI_REPEAT_RUNS_S8_OF_MORE": ("repeats == 2",),
        }
    )


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
    contract = """
        require: 1 <= pieces
        require: 1 <= elements
        require: 0 <= row_step1 <= 1
        require: 0 <= row_step2 <= 1
        require: 0 <= row_step3 <= 1
        require: 0 <= min(piece_step1, min(piece_step2, piece_step3))
        require: 0 <= step1 <= 1
        require: 0 <= step2 <= 1
        require: 0 <= step3 <= 1
        require: 1 <= bytes <= 8
        require: (pieces - 1) * row_step1 < rows1
        require: (pieces - 1) * row_step2 < rows2
        require: (pieces - 1) * row_step3 < pointers - rows1 - rows2
        input: rows1 x (pieces - 1) * piece_step1 + (elements - 1) * step1 + 1
        input: rows2 x ((pieces - 1) * piece_step2 + (elements - 1) * step2 + 1) * bytes
        input: pointers - rows1 - rows2 x ((pieces - 1) * piece_step3 + (elements - 1) * step3 + 1) * bytes
        output: pieces * elements * bytes
    """


class ShapeParams(Params, kernels=("kibi_shape_any",)):
    """SHAPE: a copy of constant numbers."""

    sizes: Array = array(DType.S32, "[rank]")
    rank: int = number(DType.S32)
    contract = """
        require: 1 <= rank
        rest
        output: rank * 4
    """


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
    contract = """
        require: 1 <= axes <= 8
        require: 1 <= bytes
        require: 0 <= first_pointer + lowest(loops, 1, 3)
        require: first_pointer + highest(loops, 1, 3) < count(0)
        require: 0 <= first_byte + lowest(loops, 2, 3)
        require: first_byte + highest(loops, 2, 3) + bytes <= room(0)
        input: count(0) x 0
        rest
        output: product(loops, 0, 3) * bytes
    """
