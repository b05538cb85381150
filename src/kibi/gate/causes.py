"""Which layers are the cause of a figure: those that grew since the baseline, or, without one, those that take most."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from kibi.gate.results import Cause, Figure, Layer, Measured

_MOST = 8
"""The most layers that are told as the cause of one figure."""


def causes(broken: Sequence[Figure], measured: Measured, recorded: Measured | None) -> tuple[Cause, ...]:
    """Explains figures that do not hold.

    Args:
        broken: the figures.
        measured: what was measured.
        recorded: what the baseline has of the same model and place, or None.

    Returns:
        For each figure parts of the memory, at most eight layers, the largest first, and kernels that are new.
    """
    return tuple(cause for figure in broken for cause in _of(figure, measured, recorded))


def _of(figure: Figure, measured: Measured, recorded: Measured | None) -> Iterator[Cause]:
    match figure.kind.name:
        case "instructions" | "cycles":  # a baseline has instructions of layers, no cycles
            yield from _layers(figure, "instructions", lambda each: each.instructions, measured, recorded)
        case "flash":
            yield from _flash(figure, measured, recorded)
        case "stack":
            yield from _new_kernels(figure, measured, recorded)
        case "arena" | "ram":
            yield from _holders(figure, measured, recorded)
        case _:
            return


def _layers(
    figure: Figure, what: str, count: Callable[[Layer], int], measured: Measured, recorded: Measured | None
) -> Iterator[Cause]:
    """The layers whose count grew, or those with the largest counts."""
    now = _numbered(measured.layers)
    if recorded is None or _is_no_worse(recorded, figure):
        yield from _most(
            [Cause(figure.kind.name, what, each.name, each.op, None, count(each)) for each in now.values()]
        )
        return
    then = _numbered(recorded.layers)
    found = []
    for key in (*now, *(key for key in then if key not in now)):
        new, old = now.get(key), then.get(key)
        layer = new or old
        if layer is None:
            continue
        after, before = None if new is None else count(new), None if old is None else count(old)
        note = ""
        if new is not None and old is not None and new.kernel != old.kernel:
            note = f"kernel {old.kernel} became {new.kernel}"
        if (after or 0) != (before or 0):
            found.append(Cause(figure.kind.name, what, layer.name, layer.op, before, after, note))
    yield from _most([each for each in found if (each.after or 0) > (each.before or 0)] or found)


def _flash(figure: Figure, measured: Measured, recorded: Measured | None) -> Iterator[Cause]:
    """The parts and the layers' weights that grew, and the kernels that are new."""
    yield from _parts(figure, ("code", "plan tables", "weights"), measured, recorded)
    yield from _layers(figure, "bytes of weights", lambda each: each.constant_bytes, measured, recorded)
    yield from _new_kernels(figure, measured, recorded)


def _new_kernels(figure: Figure, measured: Measured, recorded: Measured | None) -> Iterator[Cause]:
    """The kernels that the baseline does not have, where the figure grew."""
    if recorded is None or _is_no_worse(recorded, figure):
        return
    known = {each.kernel for each in recorded.layers}
    for kernel in dict.fromkeys(each.kernel for each in measured.layers if each.kernel not in known):
        users = [each for each in measured.layers if each.kernel == kernel]
        what = f"layer{'s' if len(users) > 1 else ''}"
        yield Cause(figure.kind.name, what, kernel, users[0].op, None, len(users), "a new kernel")


def _holders(figure: Figure, measured: Measured, recorded: Measured | None) -> Iterator[Cause]:
    """Who holds more bytes at the fullest step than before, or who holds most; of RAM also the parts."""
    if figure.kind.name == "ram":
        yield from _parts(figure, ("arena", "state", "stack"), measured, recorded)
    what = "bytes at the fullest step"
    now = dict(measured.peak)
    if recorded is None or _is_no_worse(recorded, figure):
        yield from _most([Cause(figure.kind.name, what, name, "", None, size) for name, size in now.items()])
        return
    then = dict(recorded.peak)
    changed = [
        Cause(figure.kind.name, what, name, "", then.get(name), now.get(name))
        for name in dict.fromkeys((*now, *then))
        if now.get(name) != then.get(name)
    ]
    yield from _most([each for each in changed if (each.after or 0) > (each.before or 0)] or changed)


def _parts(figure: Figure, names: Sequence[str], measured: Measured, recorded: Measured | None) -> Iterator[Cause]:
    """The parts of a memory that grew, or all of them where it did not grow."""
    now, then = dict(measured.parts), {} if recorded is None else dict(recorded.parts)
    has_grown = recorded is not None and not _is_no_worse(recorded, figure)
    for name in names:
        before = then.get(name) if has_grown else None
        if now.get(name) and (not has_grown or now[name] > (before or 0)):
            yield Cause(figure.kind.name, "bytes", name, "", before, now[name])


def _is_no_worse(recorded: Measured, figure: Figure) -> bool:
    """True if the figure is no worse than recorded: then what takes most explains it, not what grew."""
    values = dict(recorded.figures)
    return figure.kind.name not in values or figure.value <= values[figure.kind.name]


def _most(found: Sequence[Cause]) -> list[Cause]:
    counted = [each for each in found if (each.after or 0) != (each.before or 0)]
    return sorted(counted, key=lambda each: (each.before or 0) - (each.after or 0))[:_MOST]


def _numbered(layers: Sequence[Layer]) -> dict[tuple[str, str, int], Layer]:
    """Layers by operator, name, and a number that tells those with equal names apart."""
    seen: Counter[tuple[str, str]] = Counter()
    made = {}
    for each in layers:
        made[each.op, each.name, seen[each.op, each.name]] = each
        seen[each.op, each.name] += 1
    return made
