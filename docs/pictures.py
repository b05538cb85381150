"""The pictures in the documents: memory plans of the shipped model, and how a kernel sees rows."""  # noqa: INP001

from collections.abc import Mapping
from dataclasses import replace

from beside_tflm import beside_picture
from packages import packages_picture
from update_states import update_states_picture

import kibi
import kibi.demo
from kibi.cli.options.variants import VARIANTS
from kibi.eager.memory import Handle, HandleArena, Kind, Recording
from kibi.planner import PlannedModel, Run
from kibi.reports.fences import fences
from kibi.reports.fences_svg import fences_svg
from kibi.reports.memory_comparison_svg import memory_comparison_svg
from kibi.reports.memory_plot import Plot, clear_boxes, shared_stripes
from kibi.reports.memory_shapes import INK, SCRATCH_FILL, Box, document, label, line, turned_label
from kibi.reports.memory_svg import memory_svg
from kibi.reports.memory_timeline import legend, operator
from kibi.reports.plan_comparison import ComparedPlan
from kibi.reports.recording_svg import recording_svg
from kibi.text.markup import Markup

_BLUE, _GREEN, _GREY, _INK = "#77aadd", "#44bb99", "#dddddd", "#222222"
_STYLE = (
    f"text{{font-family:system-ui,Helvetica,Arial,'DejaVu Sans',sans-serif;font-size:13px;fill:{_INK}}}"
    ".small{font-size:11px}"
)
_ROW_HEIGHT, _ROW_WIDTH = 22.0, 190.0
_LABELLED = 10.0
"""Boxes higher than this bear a label."""


def pictures() -> Mapping[str, str]:
    """Returns the SVG text of each picture, by its file name."""
    model = kibi.load(kibi.demo.model_path())
    planned = [
        ComparedPlan(PlannedModel.of(model, kibi.plan(model, **options)), name) for name, options in VARIANTS.items()
    ]
    by_rows = kibi.plan(model, granularity="row")
    return {
        "plan.svg": memory_svg(PlannedModel.of(model, kibi.plan(model, granularity="tensor"))),
        "plan_by_rows.svg": memory_svg(PlannedModel.of(model, by_rows)),
        "plans_side_by_side.svg": memory_comparison_svg(planned),
        "fences.svg": _fences_picture(model, by_rows),
        "first_rows.svg": _first_rows_picture(model, by_rows),
        "rows.svg": _rows_picture(),
        "recording.svg": _recording_picture(),
        "packages.svg": packages_picture(),
        "update_states.svg": update_states_picture(),
        "beside_tflm.svg": beside_picture(),
    }


def _fences_picture(model: kibi.Graph, plan: kibi.Plan) -> str:
    """When the constants of the shipped model may be written: as in `field-updates.md`."""
    planned = PlannedModel.of(model, plan)
    return fences_svg(model.name, fences(planned), len(plan.steps))


def _recording_picture() -> str:
    """An unbound block is lost and a bound one moves, so that a third finds room: as in `runtime.md`."""
    recording, handle = Recording(HandleArena(256)), Handle()
    recording.allocate(96)
    address = recording.allocate(100, Kind.PLANNED)
    if address is not None:
        recording.bind(address, handle)
    recording.deallocate(recording.allocate(117, Kind.SCRATCH))
    return recording_svg(recording, "Rebalancing in 256 bytes")


def _first_rows_picture(model: kibi.Graph, plan: kibi.Plan, steps: int = 24) -> str:
    """Draws the first steps of a plan, each equally wide and named: the places of rows, and when they die."""
    box = Box(96, 64, 96 + 40.0 * steps, 64 + 400)
    runs = tuple(Run(node, row, 1) for node, row in plan.steps[:steps])
    live = tuple(replace(each, end=min(each.end, steps)) for each in plan.buffers if each.start < steps)
    edges = tuple(box.left + 40.0 * step for step in range(steps + 1))
    plot = Plot(model, replace(plan, runs=runs, buffers=live), box, plan.arena_bytes, edges)
    shown = {entry.tensor: entry for entry in legend(model, plan)}
    lines = [label(24, 36, f"The first {steps} steps of {plan.model} by the row", "title")]
    for buffer in live:
        fill = SCRATCH_FILL if buffer.tensor is None else shown[buffer.tensor].color
        lines.append(plot.place(buffer).draw(class_="box", fill=fill))
    lines += shared_stripes(plot)
    clear = clear_boxes(plot)
    for buffer in live:
        entry, place = shown[buffer.tensor], clear.get(buffer, plot.place(buffer))
        if place.height > _LABELLED:
            last = f" to {buffer.first_row + buffer.rows - 1}" if buffer.rows > 1 else ""
            name = (
                f"{entry.tag}: row {buffer.first_row}{last}" if place.width > 60 else f"{entry.tag}:{buffer.first_row}"
            )
            lines.append(label(place.middle[0], place.middle[1] + 4, name, "on", "middle"))
    pinned = [plot.place(buffer) for buffer in live if buffer.is_pinned]
    if pinned:
        middle = (min(each.top for each in pinned) + max(each.bottom for each in pinned)) / 2
        lines.append(label(box.left + 8, middle + 4, "rows of the stored input", "on"))
    for step, run in enumerate(runs):
        words = f"{operator(model, run.node)} row {run.first_step}"
        lines.append(turned_label(edges[step] + 26, box.bottom + 12, -50, words, "end"))
        lines.append(line((edges[step], box.bottom), (edges[step], box.bottom + 4), INK))
    lines.append(line((box.left, box.bottom), (box.right, box.bottom), INK))
    lines += [label(box.left - 8, plot.y(at) + 4, f"{at:,}", anchor="end") for at in (0, plan.arena_bytes)]
    lines.append(turned_label(40, box.middle[1], -90, "address (bytes)", "middle"))
    return document(box.right + 24, box.bottom + 150, f"The first steps of {plan.model} by the row", lines)


def _rows_picture() -> str:
    """A 3x3 kernel at the top border: three pointers, of which one leads to the constant row."""
    inputs = [Box(40, 110 + 26 * row, 40 + _ROW_WIDTH, 110 + 26 * row + _ROW_HEIGHT) for row in range(5)]
    padding = Box(40, 50, 40 + _ROW_WIDTH, 50 + _ROW_HEIGHT)
    pointers = [Box(330, 84 + 30 * k, 400, 84 + 30 * k + 24) for k in range(3)]
    kernel = Box(450, 84, 560, 168)
    output = Box(630, 115, 630 + _ROW_WIDTH, 115 + _ROW_HEIGHT)
    lines = [label(40, 40, "constant, in flash"), padding.draw(fill=_GREY)]
    lines.append(label(padding.middle[0], 66, "zero points", "small", "middle"))
    for row, box in enumerate(inputs):
        lines.append(box.draw(fill=_BLUE, fill_opacity="1" if row < 2 else "0.35"))
        lines.append(label(box.middle[0], box.top + 16, f"input row {row}", "small", "middle"))
    lines.append(label(40, 262, "in the arena: anywhere, in any order"))
    for k, (pointer, source) in enumerate(zip(pointers, (padding, *inputs[:2]), strict=True)):
        lines.append(pointer.draw(fill="#ffffff", stroke=_INK))
        lines.append(label(pointer.middle[0], pointer.top + 17, f"rows[{k}]", "small", "middle"))
        lines.append(_arrow((pointer.left, pointer.middle[1]), (source.right + 2, source.middle[1])))
        lines.append(line((pointer.right, pointer.middle[1]), (kernel.left, pointer.middle[1]), _INK))
    lines.append(kernel.draw(rx="6", fill="#eedd88", stroke=_INK))
    lines.append(label(kernel.middle[0], 121, "row kernel", anchor="middle"))
    lines.append(label(kernel.middle[0], 140, "3 x 3", "small", "middle"))
    lines.append(_arrow((kernel.right, kernel.middle[1]), (output.left - 2, output.middle[1])))
    lines.append(output.draw(fill=_GREEN))
    lines.append(label(output.middle[0], output.top + 16, "output row 0", "small", "middle"))
    head = '<path d="M0 0 8 4 0 8z" fill="#222222"/>'
    marker = f'<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">{head}</marker>'
    size = 'width="860" height="280"'
    body = "\n".join(each.text for each in lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 280" {size} role="img">\n'
        f"<title>A row kernel reads rows through pointers and writes one row</title>\n<style>{_STYLE}</style>\n"
        f'<defs>{marker}</defs>\n<rect {size} rx="6" fill="#ffffff"/>\n{body}\n</svg>\n'
    )


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> Markup:
    return line(start, end, _INK, marker_end="url(#tip)")
