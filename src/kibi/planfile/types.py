"""The numbers of element types in plan files."""

from kibi.dtypes import DType

TYPES = (DType.S8, DType.U8, DType.S16, DType.S32, DType.U32, DType.S64, DType.U64, DType.F32, DType.BOOL)
"""Element types by their numbers in a file."""
