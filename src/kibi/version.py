"""The version, in one place: the package and the generated files read it from here."""

__version__ = "0.1.0"

SCHEMA_VERSION = 1
"""The version of what `--json` prints. It rises when a key goes away or changes its meaning, not when one is added."""
