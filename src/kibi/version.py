"""The version, in one place: the package and the generated files read it from here."""

__version__ = "0.1.0"
