"""Importers of the custom operators that TFLM has."""

from collections.abc import Mapping

from kibi.frontends.tflite.importers.base import Importer
from kibi.frontends.tflite.importers.signal import SIGNAL

CUSTOM: Mapping[str, Importer] = {**SIGNAL}
"""By the code of the custom operator, which is its name in Kibi, too."""
