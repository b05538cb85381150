"""What runs programs for Linux and WebAssembly, where it is installed."""

from importlib.util import find_spec

import pytest

from kibi.errors import ToolchainError
from kibi.programs.linux import qemu_for
from kibi.targets import Runner, target, targets

TARGETS = tuple(each.name for each in targets() if each.is_program)


def requires(name: str) -> None:
    """Skip a test where nothing on this machine runs the target."""
    found = target(name)
    if found.runner is Runner.WASMTIME:
        if find_spec("wasmtime") is None:
            pytest.skip("wasmtime is not installed: pip install 'kibi[wasm]'")
        return
    try:
        qemu = qemu_for(found)
    except ToolchainError:
        pytest.skip(f"nothing runs programs of {name}: QEMU for them comes with qemu-user")
    if qemu is None:
        pytest.skip(f"nothing counts instructions of {name}: QEMU for them comes with qemu-user")
