"""C text of the header of several models: one arena for all of them, or one memory with buffers of the application, too."""

from collections.abc import Iterator, Sequence

from kibi.codegen import memory_c
from kibi.codegen.emit_context import EmitContext
from kibi.errors import InputError
from kibi.planner.together import BUFFER_ALIGNMENT, JointPlan, PlacedBuffer
from kibi.text.c import CCode, code, comment, comment_lines, include, lines, name_part
from kibi.text.file_name import FileName

_ONE_ARENA = "One arena of this size serves all models of this library, one after another: the largest, not the sum."
_ONE_MEMORY = (
    "One memory of this size holds all models of this library and the buffers below, as they were planned together. Give each "
    "model's `init` its part of it. Steps count the row steps of all models, one after another, as `run_for` runs them."
)
_MODELS = "Each model's part, and the steps that it runs: from ..._FROM to before ..._UNTIL."
_BUFFERS = (
    "The application's buffers: ..._OFFSET bytes from the start of the memory. A buffer is the application's from when ..._FROM "
    "steps have run until ..._UNTIL have; before and after, its bytes are those of the models."
)


def least_lead(bindings: Sequence[EmitContext], joint: JointPlan | None) -> int:
    """Returns the bytes that each model leaves before its first buffer at least: in one memory they all have the same lease."""
    if joint is None or not any(b.extras.lease for b in bindings):
        return 0
    return max((BUFFER_ALIGNMENT, *(b.lead_bytes for b in bindings)))


def joint_header(library: CCode, bindings: Sequence[EmitContext], joint: JointPlan | None) -> CCode:
    """Returns the header of all models of a library.

    Args:
        library: its name.
        bindings: the models, in the order in which they run.
        joint: the plan of all of them, where they were planned together.

    Raises:
        InputError: a model's macros would be those of this header.
    """
    body = code("")
    if joint is not None:
        body = _memory(library, bindings, joint)
    elif not any(b.regions for b in bindings):
        body = _arena(library, _ONE_ARENA, max(map(memory_c.arena_bytes, bindings)), _alignment(bindings))
    return code(
        """\
#ifndef ${upper}_MODELS_H
#define ${upper}_MODELS_H

${includes}${body}
#endif
""",
        upper=library.upper(),
        includes=lines(include(FileName(f"{b.prefix.text}.h")) for b in bindings),
        body=body,
    )


def _alignment(bindings: Sequence[EmitContext]) -> int:
    return max(memory_c.alignment(b, b.plan.region_names[0]) for b in bindings)


def _arena(library: CCode, about: str, size_bytes: int, alignment: int) -> CCode:
    return code(
        """
${about}#define ${upper}_MODELS_ARENA_BYTES ${size}u
#define ${upper}_MODELS_ARENA_ALIGNMENT ${alignment}u
""",
        about=comment(about),
        upper=library.upper(),
        size=size_bytes,
        alignment=alignment,
    )


def _memory(library: CCode, bindings: Sequence[EmitContext], joint: JointPlan) -> CCode:
    """The memory that models and buffers share, who has which part of it, and when."""
    upper, lead = library.upper(), bindings[0].lead_bytes
    for b in bindings:
        if b.upper.text.startswith((f"{upper.text}_BUFFER_", f"{upper.text}_MODEL_")):
            raise InputError(
                f"the model {b.prefix.text!r} would have macros of the library {library.text!r}. Rename it, or give --name."
            )
    size_bytes, alignment = lead + joint.arena_bytes, max(BUFFER_ALIGNMENT, _alignment(bindings))
    parts = [_arena(library, _ONE_MEMORY, size_bytes, alignment), code("\n"), comment(_MODELS)]
    for b, first in zip(bindings, joint.first_steps, strict=True):
        own = code("${upper}_MODEL_$name", upper=upper, name=b.upper)
        size = code("${name}_ARENA_BYTES", name=b.upper)
        parts.append(_place(own, code("0u"), size, first, first + len(b.plan.steps)))
    if joint.buffers:
        parts += [code("\n"), comment(_BUFFERS)]
    for each in joint.buffers:
        own = code("${upper}_BUFFER_$name", upper=upper, name=name_part(each.name).upper())
        offset = code("${offset}u", offset=lead + each.offset)
        parts.append(_place(own, offset, code("${size}u", size=each.size_bytes), each.start, each.end))
    return lines(
        [*parts, code("\n"), comment_lines(["Schedule, in steps that have run:", *_schedule(bindings, joint)])]
    )


def _place(name: CCode, offset: CCode, size: CCode, first: int, until: int) -> CCode:
    return code(
        """\
#define ${name}_OFFSET $offset
#define ${name}_BYTES $size
#define ${name}_FROM ${first}u
#define ${name}_UNTIL ${until}u
""",
        name=name,
        offset=offset,
        size=size,
        first=first,
        until=until,
    )


def _schedule(bindings: Sequence[EmitContext], joint: JointPlan) -> Iterator[str]:
    """A line for each moment at which something begins or ends, in the order in which it is to be done."""
    total = sum(len(plan.steps) for plan in joint.plans)
    starts = [*joint.first_steps, total]
    moments = sorted({*starts, *(each.start for each in joint.buffers), *(each.end for each in joint.buffers)})
    for moment in moments:
        done = [f"{_names(each for each in joint.buffers if each.end == moment)} back to the models"]
        done += [
            f"read the outputs of {b.prefix.text}" for b, end in zip(bindings, starts[1:], strict=True) if end == moment
        ]
        done += [
            f"begin with the inputs of {b.prefix.text}"
            for b, start in zip(bindings, joint.first_steps, strict=True)
            if start == moment
        ]
        done += [f"{_names(each for each in joint.buffers if each.start == moment)} to the application"]
        yield f"  {moment:>6}  {', then '.join(each for each in done if not each.startswith(' '))}"


def _names(buffers: Iterator[PlacedBuffer]) -> str:
    return ", ".join(each.name for each in buffers)
