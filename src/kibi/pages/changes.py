"""Two models or versions of one: what changed, in total and layer by layer."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from kibi.pages.answer import totals

Record = Mapping[str, Any]
_FIGURES = ("instructions", "macs", "weights_bytes", "code_bytes", "scratch_bytes")


def changes_record(old: Record, new: Record) -> dict[str, Any]:
    """Compares the records of two models.

    Layers are the same if operator and output have the same names. Of the others, in their order, those of the same operator and
    output shape are paired; what is left was removed or added.

    Args:
        old: the record of the older model, with `model`, `answer`, `nodes` and `tensors`.
        new: that of the newer one.

    Returns:
        `totals`, each a name with both figures; and `layers` in the order of the new model, each with `status` (`same`, `changed`,
        `added` or `removed`), the numbers of the nodes, and its figures as (old, new), null where it is not there.
    """
    pairs = zip(totals(old["answer"]), totals(new["answer"]), strict=True)
    return {
        "old": old["model"],
        "totals": [{"what": name, "old": before, "new": after} for (name, before), (_, after) in pairs],
        "layers": [_layer(old, new, *pair) for pair in _paired(old, new)],
    }


def _paired(old: Record, new: Record) -> list[tuple[int | None, int | None]]:
    """The numbers of the nodes that are the same layer; None where a model has none."""
    partner = _by_name(old, new)
    taken = {*partner.values()}
    olds = [number for number in range(len(old["nodes"])) if number not in taken]
    news = [number for number in range(len(new["nodes"])) if number not in partner]
    forms = [_form(old, number) for number in olds], [_form(new, number) for number in news]
    for block in SequenceMatcher(None, *forms, autojunk=False).get_matching_blocks():
        partner |= {news[block.b + k]: olds[block.a + k] for k in range(block.size)}
    taken = {*partner.values()}
    made: list[tuple[int | None, int | None]] = []
    waiting = iter([number for number in range(len(old["nodes"])) if number not in taken])
    removed = next(waiting, None)
    for number in range(len(new["nodes"])):
        before = partner.get(number)
        while removed is not None and before is not None and removed < before:
            made.append((removed, None))
            removed = next(waiting, None)
        made.append((before, number))
    while removed is not None:
        made.append((removed, None))
        removed = next(waiting, None)
    return made


def _by_name(old: Record, new: Record) -> dict[int, int]:
    """The old node for each new one of the same operator and output; names that occur twice tell nothing."""
    names = [_unique(record) for record in (old, new)]
    return {number: names[0][name] for name, number in names[1].items() if name in names[0]}


def _unique(record: Record) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], list[int]] = {}
    for number, node in enumerate(record["nodes"]):
        found.setdefault((node["op"], output_of(record, node)["name"]), []).append(number)
    return {name: numbers[0] for name, numbers in found.items() if len(numbers) == 1}


def output_of(record: Record, node: Record) -> Record:
    """The facts of a node's first output."""
    facts: Record = record["tensors"][str(node["outputs"][0])]
    return facts


def _form(record: Record, number: int) -> tuple[Any, ...]:
    node = record["nodes"][number]
    return (node["op"], *output_of(record, node)["shape"])


def _layer(old: Record, new: Record, before: int | None, after: int | None) -> dict[str, Any]:
    was = None if before is None else old["nodes"][before]
    now = None if after is None else new["nodes"][after]
    record, number = (new, after) if after is not None else (old, before or 0)
    node = record["nodes"][number]
    figures = {name: [_figure(was, name), _figure(now, name)] for name in _FIGURES}
    sizes = [None if each is None else output_of(side, each)["size_bytes"] for side, each in ((old, was), (new, now))]
    figures["output_bytes"] = sizes
    forms = [None if each is None else _kind(side, each) for side, each in ((old, was), (new, now))]
    return {
        "status": _status(was, now, [*figures.values(), forms]),
        "op": node["op"],
        "name": output_of(record, node)["name"],
        "nodes": [before, after],
        "forms": forms,
        **figures,
    }


def _figure(node: Record | None, name: str) -> int | None:
    return None if node is None else node[name]


def _kind(record: Record, node: Record) -> str:
    output = output_of(record, node)
    return f"{output['shape']} {output['type']}"


def _status(was: Record | None, now: Record | None, pairs: Sequence[Sequence[Any]]) -> str:
    if was is None:
        return "added"
    if now is None:
        return "removed"
    return "same" if all(before == after for before, after in pairs) else "changed"
