"""The events and errors that tensors report."""

from kibi.eager.events import declare_error

InvalidMemoryAccess = declare_error(
    "InvalidMemoryAccess", "those bytes are not the tensor's; keep indices and widths within its shape"
)
ReadOnlyTensor = declare_error("ReadOnlyTensor", "the tensor cannot be written; copy it into a RamTensor first")
TensorFreed = declare_error("TensorFreed", "the tensor's bytes have been given back; make a new one")
DirectAccessRefused = declare_error(
    "DirectAccessRefused",
    "bytes are reached directly by operators marked fast, and of tensors that have them in one piece; use row() and [] else",
)
RowOverwritten = declare_error(
    "RowOverwritten",
    "another row is stored in the row's place by now; read rows in the plan's order, or keep more of them",
)
RowNotWritten = declare_error("RowNotWritten", "nobody has written the row yet; write rows before they are read")
RowsEnded = declare_error("RowsEnded", "the source has no more rows; give one that yields each row of the tensor")
