"""The text of the core."""

import re
from pathlib import Path

import pytest

import kibi
from kibi.eager.own_events import own_events
from kibi.kernels import kernel_folder
from kibi.planfile.core_c import CORE
from kibi.toolchain import compile_objects
from tests.support.amount import sample

_REPORT = re.compile(r"KIBI_(?:EVENT|ERROR)\((\w+), (0x[0-9A-F]{8})u\)")


def test_events_of_the_core_have_the_ids_of_their_names() -> None:
    """The core is a file of C, which cannot compute a hash: its numbers are compared."""
    texts = "".join(path.read_text() for path in sorted(CORE.glob("*.c")))
    found = {name: int(number, 16) for name, number in _REPORT.findall(texts)}
    known = {each.name: each.id() for each in own_events()}
    assert found.items() <= known.items()
    assert {
        "NullPointer",
        "FileRefused",
        "KernelMissing",
        "NoSteps",
        "ArenaTaken",
        "NoCheckpoint",
        "CheckpointRead",
        "InferenceEnded",
        "ModelInstalled",
        "ModelConfirmed",
        "UpdateRolledBack",
        "PackageRefused",
        "SignatureRefused",
        "OtherDevice",
        "VersionTooOld",
        "OtherBase",
        "SlotTooSmall",
        "NoModel",
        "InferenceMixed",
        "InvalidMemoryAccess",
    } <= found.keys()


@pytest.mark.parametrize(
    ("target", "kernel_set"),
    sample(
        [("cortex-m4", "armv7em"), ("cortex-m55", "helium"), ("rv32imac", "riscv"), ("cortex-m3", "armv7m")],
        [("cortex-m4", "armv7em")],
    ),
)
def test_every_kernel_of_a_set_compiles_in_a_core(tmp_path: Path, target: str, kernel_set: str) -> None:
    """Pointers of a plan file's parameters are distances there: no kernel may take them for pointers."""
    kibi.compile_core([], tmp_path, target=target, kernels=["all"])
    own = {path.name for path in kernel_folder(kernel_set).glob("*.c")}
    sources = [path for path in sorted(tmp_path.rglob("*.c")) if path.name in own]
    assert len(sources) > len(own) // 3
    compile_objects(sources, kibi.target(target), level="0", includes=[tmp_path])
