"""What coding weights saves in a planned model, and what it costs, layer by layer."""

from dataclasses import dataclass
from typing import Any

from kibi.reports.measurement import Measurement
from kibi.selection import CodedWeights


@dataclass(frozen=True, slots=True)
class CodingCost:
    """The instructions of one inference with weights as they are, and with coded ones.

    Attributes:
        before, after: of each coded layer, by its node.
        total_before, total_after: of the model.
        flash_before, flash_after: bytes of flash of the program.
    """

    before: dict[int, int]
    after: dict[int, int]
    total_before: int
    total_after: int
    flash_before: int
    flash_after: int


def coding_cost(coded: CodedWeights, before: Measurement, after: Measurement) -> CodingCost:
    """Compares two measurements of a model.

    Args:
        coded: what coding does for it.
        before: of the model with weights as they are.
        after: with coded ones.
    """
    nodes = [layer.node for layer in coded.coded]
    return CodingCost(
        {node: before.ops[node].instructions for node in nodes},
        {node: after.ops[node].instructions for node in nodes},
        before.instructions,
        after.instructions,
        before.flash_bytes,
        after.flash_bytes,
    )


def coding_record(coded: CodedWeights, cost: CodingCost | None = None) -> dict[str, Any]:
    """Returns both as plain data, for JSON."""
    record = coded.to_dict()
    if cost is None:
        return record
    for layer in record["layers"]:
        if layer["is_coded"]:
            layer["instructions_before"] = cost.before[layer["node"]]
            layer["instructions"] = cost.after[layer["node"]]
    totals = {
        "instructions_before": cost.total_before,
        "instructions": cost.total_after,
        "flash_bytes_before": cost.flash_before,
        "flash_bytes": cost.flash_after,
    }
    return {**record, **totals}
