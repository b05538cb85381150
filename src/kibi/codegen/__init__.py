"""The C writer: a graph and its plan as a C99 library."""

from kibi.codegen.extras import Extras
from kibi.codegen.library import CompiledModel, Library, check_library, generate, write

__all__ = ["CompiledModel", "Extras", "Library", "check_library", "generate", "write"]
