"""Converts the schema's operators and options to Kibi's operators; `kibi.ops.register_custom` registers custom ones.

A new operator is one function and one line in the table of its family. Options that an operator leaves out have the schema's
defaults.
"""

from collections.abc import Mapping

from kibi.errors import InputError
from kibi.frontends.tflite.importers.arithmetic import ARITHMETIC
from kibi.frontends.tflite.importers.base import Importer, OptionsError, TensorTable
from kibi.frontends.tflite.importers.control import CONTROL
from kibi.frontends.tflite.importers.custom import CUSTOM
from kibi.frontends.tflite.importers.elementwise import ELEMENTWISE
from kibi.frontends.tflite.importers.joining import JOINING
from kibi.frontends.tflite.importers.logic import LOGIC
from kibi.frontends.tflite.importers.moving import MOVING
from kibi.frontends.tflite.importers.reducing import REDUCING
from kibi.frontends.tflite.importers.remembering import REMEMBERING
from kibi.frontends.tflite.importers.transcendental import TRANSCENDENTAL
from kibi.frontends.tflite.importers.variables import RESOLVED, VARIABLES
from kibi.frontends.tflite.importers.vendors import vendor_of
from kibi.frontends.tflite.importers.windows import WINDOWS
from kibi.frontends.tflite.reader import Options
from kibi.ir import Operator, OperatorError
from kibi.ops import CustomOperator, CustomOptions, find_custom

__all__ = ["CUSTOM", "IMPORTERS", "RESOLVED", "Importer", "OptionsError", "TensorTable", "importer_of", "refusal_of"]

_FAMILIES = (
    CONTROL,
    REMEMBERING,
    VARIABLES,
    ARITHMETIC,
    ELEMENTWISE,
    JOINING,
    LOGIC,
    MOVING,
    REDUCING,
    TRANSCENDENTAL,
    WINDOWS,
)

IMPORTERS: Mapping[str, Importer] = dict(sorted(entry for family in _FAMILIES for entry in family.items()))
"""By the schema's name of the operator."""

_PREFIX = "CUSTOM:"
"""The prefix of a custom operator's name, as `reader` gives it."""


def importer_of(name: str) -> Importer | None:
    """The importer of an operator by the name that `reader` gives it; None where Kibi has none.

    Raises:
        OptionsError: a custom operator's distribution is broken.
    """
    if not name.startswith(_PREFIX):
        return IMPORTERS.get(name)
    code = name.removeprefix(_PREFIX)
    if code in CUSTOM:
        return CUSTOM[code]
    try:
        custom = find_custom(code)
    except InputError as error:
        what, _, remedy = str(error).rstrip(".").rpartition(". ")
        raise OptionsError(what, remedy) from error
    return None if custom is None else Importer(lambda options: _custom(custom, options))


def _custom(custom: CustomOperator, options: Options) -> Operator:
    if options.is_external:
        what = "its options are stored after the flatbuffer, which is not supported"
        raise OptionsError(what, "Export the model in less than 2 GB")
    try:
        return custom.make(CustomOptions(options.data))
    except OperatorError as error:
        raise OptionsError(error.what, error.remedy) from error


def refusal_of(name: str) -> tuple[str, str]:
    """Returns what an unsupported operator is (empty if unknown), and what to do: custom operators can be added."""
    if not name.startswith(_PREFIX):
        return "", ""
    code = name.removeprefix(_PREFIX)
    remedy = f"Register it with kibi.ops.register_custom({code!r}, …), or install a distribution that has it"
    return vendor_of(code) or ("", f"{remedy}: see `help(kibi.ops.register_custom)`")
