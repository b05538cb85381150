"""`kibi measure --checkpoints`: what saving and resuming take on the device."""

from typing import TYPE_CHECKING

from kibi.cli.terminal import byte_text, facts, output, say, show, table

if TYPE_CHECKING:
    from kibi.reports.checkpoint_costs import CheckpointCost


def show_checkpoint_cost(found: "CheckpointCost") -> None:
    """Prints what checkpoints take, then each place that was measured."""
    console = output()
    say(console)
    facts(
        console,
        [
            ("checkpoints", f"{byte_text(found.code_bytes)} of code, two slots of {byte_text(found.slot_bytes)}"),
            (
                "checkpoint",
                f"at most {found.checkpoint_instructions:,} instructions, stack {byte_text(found.checkpoint_stack_bytes)}",
            ),
            (
                "resume",
                f"at most {found.resume_instructions:,} instructions, stack {byte_text(found.resume_stack_bytes)}",
            ),
        ],
    )
    say(console)
    rows = table(console, ">steps that ran", ">bytes saved", ">checkpoint", ">resume")
    for each in found.places:
        costs = f"{each.checkpoint_instructions:,}", f"{each.resume_instructions:,}"
        rows.add_row(f"{each.steps:,}", f"{each.size_bytes:,}", *costs)
    show(console, rows)
