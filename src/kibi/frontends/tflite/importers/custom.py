"""Importers of the custom operators that TFLM has."""

from collections.abc import Mapping

from kibi.frontends.tflite.importers.base import Importer

CUSTOM: Mapping[str, Importer] = {}
"""By the code of the custom operator, which is its name in Kibi, too."""
