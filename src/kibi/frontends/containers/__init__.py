"""Files that have a model inside: C source with arrays of bytes, and zip archives."""

from kibi.frontends.containers.c_array import arrays
from kibi.frontends.containers.choice import ContainerError, Found, chosen
from kibi.frontends.containers.zip_archive import members

__all__ = ["ContainerError", "Found", "arrays", "chosen", "members"]
