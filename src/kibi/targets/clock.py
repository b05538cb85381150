"""Clock rates as people write them: `64M`, `120MHz`, `48_000_000`."""

import re
from decimal import Decimal

from kibi.errors import TargetError

HIGHEST_HZ = 10_000_000_000
_FORM = re.compile(r"([0-9][0-9_]{0,19}(?:\.[0-9]{1,9})?)\s*([kKmMgG]?)(?:[hH][zZ])?", re.ASCII)
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}


def clock_of(text: str) -> int:
    """Returns the clock in hertz that a text states.

    Raises:
        TargetError: it states none, or one that is not from 1 Hz to 10 GHz.
    """
    found = _FORM.fullmatch(text.strip())
    if found is not None:
        hertz = Decimal(found[1].replace("_", "")) * _UNITS[found[2].lower()]
        if 1 <= hertz <= HIGHEST_HZ and hertz == hertz.to_integral_value():
            return int(hertz)
    raise TargetError(f"the clock is {text[:40]!r}. Give hertz, from 1 to 10 GHz: 64M, 120MHz or 48_000_000.")
