"""Four ways to run one model: the Python runtime, its C on this machine, on an emulated core, and on a board."""

from kibi.engines.device import DeviceEngine
from kibi.engines.engine import Engine
from kibi.engines.host import HostEngine

__all__ = ["DeviceEngine", "Engine", "HostEngine"]
