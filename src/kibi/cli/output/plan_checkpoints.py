"""`kibi plan --checkpoints`: where an inference is saved at the least cost."""

from typing import TYPE_CHECKING

from kibi.cli.terminal import byte_text, name_of, output, say, show, table

if TYPE_CHECKING:
    from kibi.planner import PlannedModel
    from kibi.reports.checkpoints import CheckpointPlace


def show_checkpoints(planned: "PlannedModel", places: "tuple[CheckpointPlace, ...]") -> None:
    """Prints the cheapest places, one for each eighth of the work."""
    console, total = output(), max(planned.graph.macs, 1)
    arena = byte_text(planned.plan.arena_bytes)
    say(console, f"\nThe cheapest place for a checkpoint in each eighth of the inference (the arena has {arena}):\n")
    rows = table(console, ">steps that ran", ">of the MACs", ">bytes to save", "!after", "output")
    for each in places:
        share = f"{each.macs / total:.0%}"
        rows.add_row(f"{each.steps:,}", share, f"{each.size_bytes:,}", each.op or "the inputs", name_of(each.name, 28))
    show(console, rows)
