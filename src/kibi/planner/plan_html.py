"""A plan in a notebook: its facts, and a picture of time and addresses."""

from typing import TYPE_CHECKING

from kibi.text.markup import Markup, attributes, element_text, markup
from kibi.text.notebook import Cell, facts_table, titled

if TYPE_CHECKING:
    from kibi.planner.plan import Buffer, Plan

_WIDTH, _HEIGHT = 640, 240
_MOST_BOXES = 4000
"""Plans of more buffers have no picture: notebooks keep what they show."""
_HUES = 137
"""Degrees between the hues of two tensors: neighbours differ."""


def plan_html(plan: "Plan") -> str:
    """HTML of a plan; it knows no names of tensors, so that boxes have numbers."""
    proof = (
        "proven the least for its order" if plan.proven_optimal else f"no less than {plan.lower_bound_bytes:,} bytes"
    )
    facts: list[tuple[str, Cell]] = [
        ("target", plan.target),
        ("arena", f"{plan.arena_bytes:,} bytes, {proof}"),
        ("buffers", len(plan.buffers)),
        ("row steps", len(plan.steps)),
    ]
    facts += [(use.name, f"{use.used_bytes:,} of {use.size_bytes:,} bytes") for use in plan.regions]
    has_picture = not plan.regions and 0 < len(plan.buffers) <= _MOST_BOXES and plan.arena_bytes > 0
    return titled(f"Plan of {plan.model}", facts_table(facts), _picture(plan) if has_picture else markup(""))


def _picture(plan: "Plan") -> Markup:
    """Time goes right, addresses go up."""
    boxes = markup("").join(_box(plan, buffer) for buffer in plan.buffers)
    return markup(
        "<svg viewBox='0 0 $width $height' width='$width' height='$height' role='img' aria-label='memory plan'>$boxes</svg>",
        width=_WIDTH,
        height=_HEIGHT,
        boxes=boxes,
    )


def _box(plan: "Plan", buffer: "Buffer") -> Markup:
    across, up = _WIDTH / max(len(plan.steps), 1), _HEIGHT / plan.arena_bytes
    fill = "#bbb" if buffer.tensor is None else f"hsl({buffer.tensor * _HUES % 360} 55% 74%)"
    what = "scratch" if buffer.tensor is None else f"tensor {buffer.tensor}, row {buffer.first_row} and on"
    title = f"{what}: {buffer.size_bytes:,} bytes at {buffer.offset:,}, steps {buffer.start} to {buffer.end - 1}"
    places = attributes(
        x=f"{buffer.start * across:.2f}",
        y=f"{_HEIGHT - (buffer.offset + buffer.size_bytes) * up:.2f}",
        width=f"{(buffer.end - buffer.start) * across:.2f}",
        height=f"{buffer.size_bytes * up:.2f}",
        fill=fill,
        stroke="#555",
        stroke_width="0.4",
    )
    return markup("<rect $places><title>$title</title></rect>", places=places, title=element_text(title))
