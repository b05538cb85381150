"""Importers of the operators that read and assign variables; `kibi.frontends.tflite.variables` puts their nodes together."""

from collections.abc import Mapping

from kibi.frontends.tflite.compression import DECODE, DESCRIPTION
from kibi.frontends.tflite.importers.base import Importer
from kibi.ops import AssignVariable, ReadVariable

VARIABLES: Mapping[str, Importer] = {
    "ASSIGN_VARIABLE": Importer(lambda _: AssignVariable(), takes_handle=True, operands=(("variable", "input"), ())),
    "READ_VARIABLE": Importer(lambda _: ReadVariable(), takes_handle=True, operands=(("variable",), ("output",))),
}
"""By the schema's name of the operator."""

RESOLVED: Mapping[str, str] = {
    "CALL_ONCE": "The subgraph that gives variables their first values is computed when the model is loaded.",
    DECODE.partition(":")[2]: DESCRIPTION,
    "VAR_HANDLE": "The name of a variable, known when the model is loaded.",
}
"""Operators that are done with when a model has been loaded, so that no graph has them: name and description."""
