"""What a plan with stages in stripes, or with rows of several pixels, computes, for people and for other tools."""

from typing import Any

from kibi.planner import PlannedModel


def work_factor(planned: PlannedModel) -> float:
    """Returns the multiply-accumulates that a plan computes, as a multiple of the model's; 1 where nothing is computed twice."""
    return planned.graph.macs / planned.model.macs if planned.plan.stripes and planned.model.macs else 1.0


def recomputation_record(planned: PlannedModel) -> dict[str, Any]:
    """The same for JSON, as `recomputation`: multiply-accumulates and the factor; empty where nothing is computed twice."""
    if not planned.plan.stripes:
        return {}
    return {"recomputation": {"macs": planned.graph.macs, "factor": round(work_factor(planned), 6)}}


def recomputation_text(planned: PlannedModel) -> str:
    """Returns a sentence on the stages that are computed in stripes; empty where there are none."""
    if not planned.plan.stripes:
        return ""
    # Stages are of the model's nodes, after those that receive its inputs.
    receivers = len(planned.graph.streamed_inputs)
    stages = [
        f"operators {_source(planned, stage.begin - receivers)} to {_source(planned, stage.end - 1 - receivers)} in "
        f"{len(stage.columns) + 1} stripes"
        for stage in planned.plan.stripes
    ]
    return f"{work_factor(planned):.3f} x the MACs of the model: {'; '.join(stages)}"


def pixel_rows_text(planned: PlannedModel) -> str:
    """Returns a sentence on the convolutions that compute several rows of one pixel as one; empty where there are none."""
    receivers = len(planned.graph.streamed_inputs)
    return ", ".join(
        f"operator {_source(planned, each.node - receivers)} {each.pixels}" for each in planned.plan.pixel_rows
    )


def _source(planned: PlannedModel, number: int) -> int:
    return planned.model.nodes[number].source
