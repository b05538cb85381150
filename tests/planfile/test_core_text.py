"""The text of the core."""

import re

from kibi.eager.own_events import own_events
from kibi.planfile.core_c import CORE

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
