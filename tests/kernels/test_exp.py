"""The exponential of a float in integers: that of the rule's doubles, whatever the float."""

import ctypes
from pathlib import Path

from kibi.kernels import kernel_folder
from kibi.toolchain import build_shared
from tests.support.amount import amount
from tests.support.kernel_files import portable_folder

_STEP = amount(997, 1)
"""From the bits of a float to those of the next one that is tried."""


def test_integers_give_the_bits_of_doubles() -> None:
    """Floats of both signs and every exponent, infinities and NaN; `make check-all` tries all floats."""
    source = Path(__file__).parent / "exp_check.c"
    library = ctypes.CDLL(str(build_shared([source], includes=[kernel_folder("armv7em"), portable_folder()])))
    library.differing.restype = ctypes.c_uint32
    assert library.differing(0, _STEP, (1 << 32) // _STEP) == 0
