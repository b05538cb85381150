"""The table of kinds of packages, and the function that makes a package of a library."""

from collections.abc import Sequence

from kibi.codegen import Library
from kibi.errors import InputError, did_you_mean
from kibi.packages.arduino import ARDUINO
from kibi.packages.cmake import CMAKE
from kibi.packages.cmsis_pack import CMSIS_PACK
from kibi.packages.esp_idf import ESP_IDF
from kibi.packages.golden import golden_of
from kibi.packages.kind import Kind
from kibi.packages.mbed import MBED
from kibi.packages.micropython import MICROPYTHON
from kibi.packages.platformio import PLATFORMIO
from kibi.packages.python import PYTHON
from kibi.packages.rust import RUST
from kibi.packages.zephyr import ZEPHYR

_KINDS = (CMAKE, ARDUINO, PLATFORMIO, MBED, ZEPHYR, ESP_IDF, CMSIS_PACK, RUST, MICROPYTHON, PYTHON)
DEFAULT = CMAKE.name


def kinds() -> Sequence[Kind]:
    """Returns all kinds, in the order of the table."""
    return _KINDS


def kind(name: str) -> Kind:
    """Returns the kind of that name.

    Raises:
        InputError: no kind has that name; the text lists all.
    """
    found = next((each for each in _KINDS if each.name == name), None)
    if found is None:
        names = [each.name for each in _KINDS]
        raise InputError(f"unknown package {name!r}.{did_you_mean(name, names)} Packages are: {', '.join(names)}.")
    return found


def packaged(library: Library, name: str) -> Library:
    """Returns the library with all files of a package.

    Args:
        library: as `generate` made it.
        name: of the kind.

    Raises:
        InputError: there is no such kind, or it cannot hold this library.
    """
    chosen = kind(name)
    made = chosen.arrange(library, golden_of(library.model.planned))
    return library.arranged(made.texts, {**library.data, **made.data}, package=chosen.name, root=made.root)
