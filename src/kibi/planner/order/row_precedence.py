"""Row steps as a problem of precedence: what is proven and searched for orders of operators holds for them too."""

from itertools import accumulate

from kibi.planner.order.precedence import Precedence, members
from kibi.planner.order.row_steps import RowSteps


def row_precedence(steps: RowSteps) -> Precedence:
    """Each row step as a node, each slice as a tensor; nodes' steps are numbered one node after another.

    Scratch that nodes share counts in their own steps only, though a plan holds it through what runs in between: so bounds
    hold for every plan, and peaks are those of plans whose scratch is as good as it could be. An accumulator lives from the
    node's first step to its last.
    """
    first = [0, *accumulate(steps.steps)]
    count = first[-1]
    before = _before(steps, first)
    after, ancestors, descendants = [0] * count, [0] * count, [0] * count
    for number in range(count):  # nodes stand in a possible order, and so do their steps
        ancestors[number] = before[number]
        for other in members(before[number]):
            ancestors[number] |= ancestors[other]
            after[other] |= 1 << number
    for number in reversed(range(count)):
        for other in members(before[number]):
            descendants[other] |= 1 << number | descendants[number]
    tensors = _tensors(steps, first)
    need, kept = [0] * count, [0] * count
    reads: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for maker, size, users in tensors:
        if maker >= 0:
            need[maker] += size
            kept[maker] += size if users else 0
        for user in members(users & ((1 << count) - 1)):
            reads[user].append((size, users))
    for node, size in enumerate(steps.scratch):
        if size and (not steps.accumulates[node] or steps.steps[node] == 1):
            for number in range(first[node], first[node + 1]):
                need[number] += size
    return Precedence(
        before=tuple(before),
        after=tuple(after),
        ancestors=tuple(ancestors),
        descendants=tuple(descendants),
        reads=tuple(tuple(found) for found in reads),
        tensors=tuple(tensor for tensor in tensors if tensor[2]),
        need_bytes=tuple(need),
        kept_bytes=tuple(kept),
        first_bytes=sum(size for maker, size, users in tensors if maker < 0 and users),
        unread_bytes=sum(size for maker, size, users in tensors if maker < 0 and not users),
    )


def _before(steps: RowSteps, first: list[int]) -> list[int]:
    """Returns for each step the steps that it waits for: its node's last one, and the last that it needs of other nodes."""
    before = [0] * first[-1]
    for node, total in enumerate(steps.steps):
        for step in range(total):
            number = first[node] + step
            before[number] = 1 << (number - 1) if step else 0
            for other, wanted in steps.waits[node]:
                before[number] |= 1 << (first[other] + wanted[step] - 1) if wanted[step] else 0
    return before


def _tensors(steps: RowSteps, first: list[int]) -> list[tuple[int, int, int]]:
    """Slices and accumulators as (step that makes them or -1, bytes, the last steps that read them)."""
    count = first[-1]
    found = []
    for each in steps.slices:
        users = [1 << count if each.is_kept else 0] * len(each.made)
        for reader, uses in zip(each.readers, each.last_uses, strict=True):
            for place, use in enumerate(uses.tolist()):
                users[place] |= 1 << (first[reader] + use) if use >= 0 else 0
        for made, size, its_users in zip(each.made.tolist(), each.size_bytes.tolist(), users, strict=True):
            found.append((first[each.maker] + made if each.maker >= 0 else -1, size, its_users))
    for node, size in enumerate(steps.scratch):
        if size and steps.accumulates[node] and steps.steps[node] > 1:
            found.append((first[node], size, 1 << (first[node + 1] - 1)))
    return found
