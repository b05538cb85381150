"""Packages: the C library as CMake, Arduino, Zephyr, Rust, Python and others expect it, with an example that checks bits."""

from kibi.packages.kind import Arrangement, Kind
from kibi.packages.table import DEFAULT, kind, kinds, packaged

__all__ = ["DEFAULT", "Arrangement", "Kind", "kind", "kinds", "packaged"]
