"""Parameters of the kernels that multiply matrices: FULLY_CONNECTED and BATCH_MATMUL."""

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number
from kibi.kernels.params.geometry import VectorsParams


class BatchMatMulParams(Params):
    """The geometry of BATCH_MATMUL, which all its kernels take first."""

    matrices: Array = array(
        DType.S32, "[matrix_count][4]: pointer and element at which each of input 1, then of input 2, begins"
    )
    matrix_count: int = number(DType.S32)
    rows: int = number(DType.S32, "of a product")
    columns: int = number(DType.S32, "of a product")
    depth: int = number(DType.S32, "elements that are multiplied and added up")
    pointers1: int = number(DType.S32, "pointers to pieces of input 1; those of input 2 follow")
    row_pointers: int = number(DType.S32, "pointers from one row of input 1 to the next")
    depth1_pointers: int = number(DType.S32, "pointers from one element of a row of input 1 to the next")
    depth2_pointers: int = number(DType.S32, "pointers from one element of a column of input 2 to the next")
    column_pointers: int = number(DType.S32, "pointers from one column of input 2 to the next")
    row_step: int = number(DType.S32, "elements from one row of input 1 to the next; 0 where row_pointers is not")
    depth1_step: int = number(
        DType.S32, "elements from one element of a row of input 1 to the next; 0 where depth1_pointers is not"
    )
    depth2_step: int = number(
        DType.S32, "elements from one element of a column of input 2 to the next; 0 where depth2_pointers is not"
    )
    column_step: int = number(
        DType.S32, "elements from one column of input 2 to the next; 0 where column_pointers is not"
    )
    contract = """
        require: 1 <= min(matrix_count, min(rows, min(columns, min(depth, pointers1))))
        require: 0 <= min(row_pointers, min(depth1_pointers, min(depth2_pointers, column_pointers)))
        require: 0 <= min(row_step, min(depth1_step, min(depth2_step, column_step)))
        require: 0 <= least(matrices, 0, 1)
        require: most(matrices, 0, 4) + (rows - 1) * row_pointers + (depth - 1) * depth1_pointers < pointers1
        require: most(matrices, 2, 4) + (columns - 1) * column_pointers + (depth - 1) * depth2_pointers < pointers - pointers1
        input: pointers1 x most(matrices, 1, 4) + (rows - 1) * row_step + (depth - 1) * depth1_step + 1
        input: pointers - pointers1 x most(matrices, 3, 4) + (columns - 1) * column_step + (depth - 1) * depth2_step + 1
        output: matrix_count * rows * columns
    """


class BatchMatMulF32Params(BatchMatMulParams, kernels=("kibi_batch_matmul_f32",)):
    """BATCH_MATMUL of f32."""


class BatchMatMulS16Params(BatchMatMulParams, kernels=("kibi_batch_matmul_s16",)):
    """BATCH_MATMUL of s16."""

    output_multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    output_shift: int = number(DType.S32, "-31 … 7")


class BatchMatMulS8Params(BatchMatMulParams, kernels=("kibi_batch_matmul_s8",)):
    """BATCH_MATMUL of s8."""

    output_multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    output_shift: int = number(DType.S32, "-31 … 30")
    zero_point1: int = number(DType.S32, "of input 1")
    zero_point2: int = number(DType.S32, "of input 2")
    output_zero_point: int = number(DType.S32)
    contract = """
        require: -128 <= zero_point1 <= 127
        require: -128 <= zero_point2 <= 127
    """


class FullyConnectedF32Params(Params, kernels=("kibi_fully_connected_f32",)):
    """FULLY_CONNECTED of f32, given whole vectors."""

    filter: Array = array(DType.F32, "[output_channels][depth]")
    bias: Array = array(DType.F32, "[output_channels]")
    depth: int = number(DType.S32, "elements of an input vector")
    piece: int = number(DType.S32, "neighbouring elements of a vector that are read at once")
    pieces: int = number(DType.S32, "pieces of a vector: depth / piece")
    vectors: int = number(DType.S32, "input vectors, and output vectors, of a step")
    vectors_per_row: int = number(DType.S32, "more than 1 only where pieces is 1; divides vectors")
    output_channels: int = number(DType.S32)
    activation_min: float = number(DType.F32)
    activation_max: float = number(DType.F32)
    contract = """
        require: 1 <= piece
        require: 1 <= pieces
        require: 1 <= output_channels
        require: 1 <= vectors
        require: 1 <= vectors_per_row
        require: depth == piece * pieces
        require: (vectors_per_row - 1) * (pieces - 1) <= 0
        require: vectors == vectors // vectors_per_row * vectors_per_row
        input: vectors // vectors_per_row * pieces x vectors_per_row * piece
        output: vectors * output_channels
    """


class FullyConnectedF32AccumulateParams(Params, kernels=("kibi_fully_connected_f32_accumulate",)):
    """FULLY_CONNECTED of f32, given the rows of vectors step by step."""

    filter: Array = array(DType.F32, "[output_channels][pieces][piece]")
    bias: Array = array(DType.F32, "[output_channels]")
    piece: int = number(DType.S32, "elements of a row")
    pieces: int = number(DType.S32, "rows of a vector")
    vectors: int = number(DType.S32, "input vectors, and output vectors, of all steps")
    output_channels: int = number(DType.S32)
    activation_min: float = number(DType.F32)
    activation_max: float = number(DType.F32)
    contract = """
        require: 1 <= piece
        require: 1 <= pieces
        require: 1 <= output_channels
        require: 1 <= vectors
        require: node_steps == vectors * pieces
        input: 1 x piece
        output: vectors * output_channels
        scratch: 4 * vectors * output_channels aligned 4
    """


class FullyConnectedS16Params(Params, kernels=("kibi_fully_connected_s16",)):
    """FULLY_CONNECTED of s16 elements and s8 weights, given whole vectors."""

    filter: Array = array(DType.S8, "[output_channels][depth]")
    bias: Array = array(
        DType.S64, "[output_channels], which includes -input zero point * the sum of the channel's filter"
    )
    multiplier: Array = array(DType.S32, "[output_channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[output_channels], -31 … 7 where is_wide, else -31 … 30")
    is_wide: int = number(
        DType.S32, "1: sums have 64 bits and are rounded once; 0: they have 32 bits and are rounded twice"
    )
    depth: int = number(DType.S32, "elements of an input vector")
    piece: int = number(DType.S32, "neighbouring elements of a vector that are read at once")
    pieces: int = number(DType.S32, "pieces of a vector: depth / piece")
    vectors: int = number(DType.S32, "input vectors, and output vectors, of a step")
    vectors_per_row: int = number(DType.S32, "more than 1 only where pieces is 1; divides vectors")
    output_channels: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    contract = """
        require: 1 <= min(piece, min(pieces, min(output_channels, min(vectors, vectors_per_row))))
        require: 0 <= is_wide <= 1
        require: -31 <= least(shift, 0, 1)
        require: most(shift, 0, 1) <= 30 - 23 * is_wide
        require: depth == piece * pieces
        require: (vectors_per_row - 1) * (pieces - 1) <= 0
        require: vectors == vectors // vectors_per_row * vectors_per_row
        input: vectors // vectors_per_row * pieces x vectors_per_row * piece
        output: vectors * output_channels
    """


class FullyConnectedS16AccumulateParams(Params, kernels=("kibi_fully_connected_s16_accumulate",)):
    """FULLY_CONNECTED of s16 elements and s8 weights, given the rows of vectors step by step."""

    filter: Array = array(DType.S8, "[output_channels][pieces][piece]")
    bias: Array = array(
        DType.S64, "[output_channels], which includes -input zero point * the sum of the channel's filter"
    )
    multiplier: Array = array(DType.S32, "[output_channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[output_channels], -31 … 7 where is_wide, else -31 … 30")
    is_wide: int = number(
        DType.S32, "1: sums have 64 bits and are rounded once; 0: they have 32 bits and are rounded twice"
    )
    piece: int = number(DType.S32, "elements of a row")
    pieces: int = number(DType.S32, "rows of a vector")
    vectors: int = number(DType.S32, "input vectors, and output vectors, of all steps")
    output_channels: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    contract = """
        require: 1 <= min(piece, min(pieces, min(output_channels, vectors)))
        require: 0 <= is_wide <= 1
        require: -31 <= least(shift, 0, 1)
        require: most(shift, 0, 1) <= 30 - 23 * is_wide
        require: node_steps == vectors * pieces
        input: 1 x piece
        output: vectors * output_channels
        scratch: 8 * vectors * output_channels
    """


class FullyConnectedS8Params(Params, kernels=("kibi_fully_connected_s8",)):
    """FULLY_CONNECTED of s8, given whole vectors."""

    filter: Array = array(DType.S8, "[output_channels][depth]")
    bias: Array = array(
        DType.S32, "[output_channels], which includes -input zero point * the sum of the channel's filter"
    )
    multiplier: Array = array(DType.S32, "[output_channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[output_channels], -31 … 30")
    depth: int = number(DType.S32, "elements of an input vector")
    piece: int = number(DType.S32, "neighbouring elements of a vector that are read at once")
    pieces: int = number(DType.S32, "pieces of a vector: depth / piece")
    vectors: int = number(DType.S32, "input vectors, and output vectors, of a step")
    vectors_per_row: int = number(DType.S32, "more than 1 only where pieces is 1; divides vectors")
    output_channels: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    contract = """
        require: 1 <= piece
        require: 1 <= pieces
        require: 1 <= output_channels
        require: 1 <= vectors
        require: 1 <= vectors_per_row
        require: depth == piece * pieces
        require: (vectors_per_row - 1) * (pieces - 1) <= 0
        require: vectors == vectors // vectors_per_row * vectors_per_row
        input: vectors // vectors_per_row * pieces x vectors_per_row * piece
        output: vectors * output_channels
    """


class FullyConnectedS8AccumulateParams(Params, kernels=("kibi_fully_connected_s8_accumulate",)):
    """FULLY_CONNECTED of s8, given the rows of vectors step by step."""

    filter: Array = array(DType.S8, "[output_channels][pieces][piece]")
    bias: Array = array(
        DType.S32, "[output_channels], which includes -input zero point * the sum of the channel's filter"
    )
    multiplier: Array = array(DType.S32, "[output_channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[output_channels], -31 … 30")
    piece: int = number(DType.S32, "elements of a row")
    pieces: int = number(DType.S32, "rows of a vector")
    vectors: int = number(DType.S32, "input vectors, and output vectors, of all steps")
    output_channels: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    contract = """
        require: 1 <= piece
        require: 1 <= pieces
        require: 1 <= output_channels
        require: 1 <= vectors
        require: node_steps == vectors * pieces
        input: 1 x piece
        output: vectors * output_channels
        scratch: 4 * vectors * output_channels aligned 4
    """


class FullyConnectedCodebookParams(Params, kernels=("kibi_fully_connected_s8_codebook",)):
    """FULLY_CONNECTED of s8 with a filter of indices into tables."""

    indices: Array = array(DType.S8, "of [output_channels][depth] values, packed as kibi_codebook_s8.h says")
    tables: Array = array(DType.S8, "the values of each channel, or those that all channels share")
    bias: Array = array(
        DType.S32, "[output_channels], which includes -input zero point * the sum of the channel's filter"
    )
    multiplier: Array = array(DType.S32, "[output_channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[output_channels], -31 … 30")
    bits: int = number(DType.S32, "bits of an index, 1 … 7")
    values: int = number(DType.S32, "values from one channel's table to the next; 0: all channels share one table")
    depth: int = number(DType.S32, "elements of an input vector")
    piece: int = number(DType.S32, "neighbouring elements of a vector that are read at once")
    pieces: int = number(DType.S32, "pieces of a vector: depth / piece")
    vectors: int = number(DType.S32, "input vectors, and output vectors, of a step")
    vectors_per_row: int = number(DType.S32, "more than 1 only where pieces is 1; divides vectors")
    output_channels: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    contract = """
        require: 1 <= piece
        require: 1 <= pieces
        require: 1 <= output_channels
        require: 1 <= vectors
        require: 1 <= vectors_per_row
        require: 0 <= values
        require: depth == piece * pieces
        require: (vectors_per_row - 1) * (pieces - 1) <= 0
        require: vectors == vectors // vectors_per_row * vectors_per_row
        array indices: ceil(output_channels * depth * bits, 8)
        array tables: (output_channels - 1) * values + power(bits)
        input: vectors // vectors_per_row * pieces x vectors_per_row * piece
        output: vectors * output_channels
    """


class FullyConnectedInt4Params(
    VectorsParams,
    struct="kibi_fully_connected_s8_int4_params",
    kernels=("kibi_fully_connected_s8_int4", "kibi_fully_connected_s8_int4_blocks"),
    pointers_first=True,
):
    """FULLY_CONNECTED of s8 with a filter of int4."""

    filter: Array = array(
        DType.S32,
        "[blocks of four channels][pieces][words for piece elements], as kibi_int4_s8.h says; of "
        "kibi_fully_connected_s8_int4_blocks words for four elements",
        is_packed=True,
    )
    bias: Array = array(
        DType.S32, "[output_channels], which includes -input zero point * the sum of the channel's filter"
    )
    multiplier: Array = array(DType.S32, "[output_channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[output_channels], -31 … 30")
    contract = """
        [!blocks] array filter: ceil(output_channels, 4) * pieces * ceil(piece, 2)
        [blocks] array filter: ceil(output_channels, 4) * pieces * ceil(piece, 4) * 2
    """


class FullyConnectedInt4AccumulateParams(
    Params,
    struct="kibi_fully_connected_s8_int4_accumulate_params",
    kernels=("kibi_fully_connected_s8_int4_accumulate", "kibi_fully_connected_s8_int4_blocks_accumulate"),
):
    """FULLY_CONNECTED of s8 with a filter of int4, given the rows of vectors step by step."""

    filter: Array = array(
        DType.S32,
        "[blocks of four channels][pieces][words for piece elements], as kibi_int4_s8.h says; of "
        "kibi_fully_connected_s8_int4_blocks_accumulate words for four elements",
        is_packed=True,
    )
    bias: Array = array(
        DType.S32, "[output_channels], which includes -input zero point * the sum of the channel's filter"
    )
    multiplier: Array = array(DType.S32, "[output_channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[output_channels], -31 … 30")
    piece: int = number(DType.S32, "elements of a row")
    pieces: int = number(DType.S32, "rows of a vector")
    vectors: int = number(DType.S32, "input vectors, and output vectors, of all steps")
    output_channels: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    contract = """
        require: 1 <= min(piece, min(pieces, min(output_channels, vectors)))
        require: node_steps == vectors * pieces
        [!blocks] array filter: ceil(output_channels, 4) * pieces * ceil(piece, 2)
        [blocks] array filter: ceil(output_channels, 4) * pieces * ceil(piece, 4) * 2
        input: 1 x piece
        output: vectors * output_channels
        scratch: 4 * vectors * output_channels aligned 4
    """


class FullyConnectedRiceParams(VectorsParams, kernels=("kibi_fully_connected_s8_rice",), pointers_first=True):
    """FULLY_CONNECTED of s8 with a filter of Golomb-Rice codes."""

    weights: Array = array(
        DType.S8,
        "[weights_bytes], codes of [output_channels][pieces][piece] weights; the kernel's header describes them",
    )
    codings: Array = array(DType.S8, "[output_channels], without sign: 2**k + offset of each channel's codes")
    bias: Array = array(
        DType.S32, "[output_channels], which includes -input zero point * the sum of the channel's filter"
    )
    multiplier: Array = array(DType.S32, "0 … 2**31 - 1, of each channel, or one of all")
    shift: Array = array(DType.S8, "-31 … 30, of each channel, or one of all")
    weights_bytes: int = number(DType.S32, "of all codes, with at least 3 more before them")
    scale_step: int = number(DType.S32, "1: each channel has its multiplier and shift; 0: all channels share them")
    contract = """
        require: 4 <= weights_bytes
        require: output_channels * pieces * piece <= 8 * weights_bytes
        require: 0 <= scale_step <= 1
        array multiplier: 1 + (output_channels - 1) * scale_step
        array shift: 1 + (output_channels - 1) * scale_step
    """


class FullyConnectedRiceAccumulateParams(Params, kernels=("kibi_fully_connected_s8_rice_accumulate",)):
    """FULLY_CONNECTED of s8 with a filter of Golomb-Rice codes, given the rows of one vector step by step."""

    weights: Array = array(
        DType.S8,
        "[weights_bytes], codes of [pieces][output_channels][piece] weights; the kernel's header describes them",
    )
    codings: Array = array(DType.S8, "[output_channels], without sign: 2**k + offset of each channel's codes")
    bias: Array = array(
        DType.S32, "[output_channels], which includes -input zero point * the sum of the channel's filter"
    )
    multiplier: Array = array(DType.S32, "0 … 2**31 - 1, of each channel, or one of all")
    shift: Array = array(DType.S8, "-31 … 30, of each channel, or one of all")
    weights_bytes: int = number(DType.S32, "of all codes, with at least 3 more before them")
    scale_step: int = number(DType.S32, "1: each channel has its multiplier and shift; 0: all channels share them")
    piece: int = number(DType.S32, "elements of a row")
    pieces: int = number(DType.S32, "rows of the vector")
    output_channels: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    contract = """
        require: 1 <= min(piece, min(pieces, output_channels))
        require: 4 <= weights_bytes
        require: output_channels * pieces * piece <= 8 * weights_bytes
        require: 0 <= scale_step <= 1
        require: node_steps == pieces
        array multiplier: 1 + (output_channels - 1) * scale_step
        array shift: 1 + (output_channels - 1) * scale_step
        input: 1 x piece
        output: output_channels
        scratch: 4 * output_channels + 4 aligned 4
    """
