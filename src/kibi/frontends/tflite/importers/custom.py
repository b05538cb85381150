"""Importers of the custom operators that TFLM has."""

from collections.abc import Mapping

from kibi.frontends.tflite.importers.base import Importer
from kibi.frontends.tflite.importers.detection import DETECTION

CUSTOM: Mapping[str, Importer] = {"TFLite_Detection_PostProcess": DETECTION}
"""By the code of the custom operator, which is its name in Kibi, too."""
