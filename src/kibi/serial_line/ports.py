"""Serial ports, by the library pyserial, which the extra `kibi[serial]` installs. It is imported when it is used."""

import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from kibi.errors import BoardError, InputError, ToolchainError

DEFAULT_BAUD = 115_200
_MOST_BAUD = 100_000_000
_WITH_BAUD = re.compile(r"(.+):([0-9]{1,9})", re.ASCII)
_URL = re.compile(r"[a-z0-9]+://.+", re.ASCII)
_LONGEST = 1000


class Port(Protocol):
    """An open port, as pyserial has it.

    Attributes:
        timeout: seconds that a read may take.
        write_timeout: seconds that a write may take.
    """

    timeout: float | None
    write_timeout: float | None

    def read(self, size: int, /) -> bytes:
        """Returns that many bytes, or fewer if the time is over."""

    def write(self, data: bytes, /) -> Any:
        """Sends bytes."""

    def close(self) -> None:
        """Closes the port."""


@dataclass(frozen=True, slots=True)
class PortPlace:
    """A serial port.

    Attributes:
        name: of the port, as `/dev/ttyACM0` or `COM3`; or one of pyserial's URLs, as `socket://localhost:5555`.
        baud: bits in a second.
    """

    name: str
    baud: int = DEFAULT_BAUD

    @staticmethod
    def named(text: str) -> "PortPlace":
        """Reads `PORT`, `PORT:BAUD` or a URL.

        Raises:
            InputError: the text is something else.
        """
        if not text.strip() or len(text) > _LONGEST or not text.isprintable():
            raise InputError(
                f"the serial port is {text[:80]!r}. Give PORT or PORT:BAUD, as in /dev/ttyACM0:115200 or COM3, or a URL, as in "
                "socket://localhost:5555."
            )
        found = None if _URL.fullmatch(text) else _WITH_BAUD.fullmatch(text)
        if found is None:
            return PortPlace(text)
        baud = int(found[2])
        if not 1 <= baud <= _MOST_BAUD:
            raise InputError(f"a serial port runs at 1 to {_MOST_BAUD:,} baud, not at {baud:,}.")
        return PortPlace(found[1], baud)

    def __str__(self) -> str:
        return self.name

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What the port raises where it fails."""
        return (OSError, _library().SerialException)

    def opened(self) -> Port:
        """Opens the port.

        Raises:
            ToolchainError: pyserial is not installed.
            BoardError: there is no such port, it is in use, or its URL is of no kind that pyserial knows.
        """
        library = _library()
        try:
            port: Port = library.serial_for_url(self.name, baudrate=self.baud, timeout=1.0, write_timeout=5.0)
        except (OSError, ValueError, library.SerialException) as error:
            raise BoardError(
                f"cannot open the serial port {self.name}: {error}. See whether the board is connected, whether another program "
                "uses the port, and whether you may: `python -m serial.tools.list_ports` lists the ports."
            ) from None
        return port


def _library() -> Any:
    """The module `serial`.

    Raises:
        ToolchainError: it is not installed.
    """
    try:
        library = import_module("serial")
    except ImportError:
        library = None
    if not hasattr(library, "serial_for_url"):  # another package has the same name
        raise ToolchainError(
            "--serial needs the library pyserial, which is not installed. Run: pip install 'kibi[serial]'."
        )
    return library
