"""Parameters of the kernels of RESIZE_BILINEAR."""

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number


class ResizeBilinearF32Params(Params, kernels=("kibi_resize_bilinear_f32",)):
    """RESIZE_BILINEAR of f32: a whole image."""

    rows: Array = array(
        DType.S32,
        "[row_count][4]: pointer and place of the first neighbour of an output row, then of its second neighbour",
    )
    row_weights: Array = array(DType.F32, "[row_count], of the second neighbour")
    row_count: int = number(DType.S32, "rows of the output")
    columns: Array = array(DType.S32, "[column_count][4]: the same for an output column, to be added")
    column_weights: Array = array(DType.F32, "[column_count], of the second neighbour")
    column_count: int = number(DType.S32, "columns of the output")
    channels: int = number(DType.S32)
    contract = """
        require: 1 <= min(row_count, min(column_count, channels))
        array rows: 4 * row_count in 0 … 2**24 - 1
        array columns: 4 * column_count in 0 … 2**24 - 1
        require: max(most(rows, 0, 2), 0) + most(columns, 0, 2) < pointers
        require: (most(rows, 1, 2) + most(columns, 1, 2) + channels) * 4 <= room(0)
        input: pointers x 0
        output: row_count * column_count * channels
    """


class ResizeBilinearS8Params(Params, kernels=("kibi_resize_bilinear_s8",)):
    """RESIZE_BILINEAR of s8: the output rows of a step."""

    rows: Array = array(DType.S32, "[row_count][3]: pointers to the two neighbours, weight of the second in 1/1024")
    row_count: int = number(DType.S32, "rows of the output that a step makes")
    columns: Array = array(
        DType.S32,
        "[column_count][3]: first elements of the two neighbours in their rows, weight of the second in 1/1024",
    )
    column_count: int = number(DType.S32, "columns of the output")
    channels: int = number(DType.S32)
    row_step: int = number(DType.S32, "elements of the output from row to row")
    column_step: int = number(DType.S32, "elements of the output from column to column")
    contract = """
        require: 1 <= min(row_count, min(column_count, channels))
        array rows: 3 * row_count in 0 … 1024
        array columns: 3 * column_count in 0 … 2**24 - 1
        require: max(most(rows, 0, 3), most(rows, 1, 3)) < pointers
        require: most(columns, 2, 3) <= 1024
        require: max(most(columns, 0, 3), most(columns, 1, 3)) + channels <= room(0)
        require: 0 <= row_step
        require: 0 <= column_step
        input: pointers x 0 or some null
        output: (row_count - 1) * row_step + (column_count - 1) * column_step + channels
    """
