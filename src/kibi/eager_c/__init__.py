"""The device's half of `kibi.eager`: a C library of arenas, handles, tensors, and operators by hand."""
