"""uTensor's half: contexts, arenas, handles, tensors, events, and operators."""
