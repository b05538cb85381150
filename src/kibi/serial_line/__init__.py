"""Boards over a serial line: ports, frames, a session with a measuring program, and a core that calls its functions."""

from kibi.serial_line.core import SerialCore
from kibi.serial_line.ports import PortPlace
from kibi.serial_line.session import SerialSession, greeted

__all__ = ["PortPlace", "SerialCore", "SerialSession", "greeted"]
