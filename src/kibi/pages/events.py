"""The events of a model: those that its C code can report, and how often each occurred in the measured run."""

from typing import Any

from kibi.eager.event_scan import scan_c
from kibi.eager.events import ID_BYTES
from kibi.eager.inference_events import InferenceEnded, MoreInputNeeded
from kibi.eager.own_events import own_events
from kibi.pages.measured import MeasuredModel


def events_record(measured: MeasuredModel) -> dict[str, Any]:
    """The events and errors that the C code or the measured run reports; those that occurred come first.

    Each has its ids by their width in bytes, as `kibi events --json` has them, and `count`: how often the Python runtime reported
    it in the `inferences` whose bits were compared with the device's.
    """
    counts = measured.events
    files = measured.library.files
    declared = {each.type for path in measured.library.sources for each in scan_c(files[path], path)}
    meanings = {each: each.meaning for each in own_events()}
    kinds = sorted(
        {*declared, *counts}, key=lambda each: (not counts.get(each), each.severity.value != "event", each.name)
    )
    return {
        "inferences": counts.get(InferenceEnded, 0) + counts.get(MoreInputNeeded, 0),
        "types": [
            {
                "name": each.name,
                "kind": each.severity.value,
                "ids": {str(width): each.id(width) for width in ID_BYTES},
                "meaning": meanings.get(each, ""),
                "count": counts.get(each, 0),
            }
            for each in kinds
        ],
    }
