"""Compilers as functions: from C sources to programs, libraries and their exact sizes, all cached for each user."""

from kibi.toolchain.build import build_image, build_program, build_shared, load_shared
from kibi.toolchain.cache import cache_folder
from kibi.toolchain.compile import compile_objects
from kibi.toolchain.compilers import COMPILERS, host_compiler
from kibi.toolchain.flags import LEVELS
from kibi.toolchain.image import FLASH_ADDRESS, RAM_ADDRESS, Image, Segment, Symbol, read_image
from kibi.toolchain.layout import LAYOUT, MemoryLayout, MemoryRange, layout_of

__all__ = [
    "COMPILERS",
    "FLASH_ADDRESS",
    "LAYOUT",
    "LEVELS",
    "RAM_ADDRESS",
    "Image",
    "MemoryLayout",
    "MemoryRange",
    "Segment",
    "Symbol",
    "build_image",
    "build_program",
    "build_shared",
    "cache_folder",
    "compile_objects",
    "host_compiler",
    "layout_of",
    "load_shared",
    "read_image",
]
