"""The C writer: a graph and its plan as a C99 library."""

from kibi.codegen.library import CompiledModel, Library, generate, write

__all__ = ["CompiledModel", "Library", "generate", "write"]
