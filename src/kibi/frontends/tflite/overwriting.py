"""Tensors that are written again: each further write gets its own tensor, because a graph's tensor has one maker.

TFLM gives a tensor one place in memory, from its first use to its last, and an operator that writes it again overwrites the bytes.
Who reads the tensor after that sees the new ones, and so does the caller where it is an output of the model. What the caller gave
may be overwritten, too. Source: TFLM `micro/micro_allocation_info.cc`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kibi.errors import Problem
from kibi.frontends.tflite.drafts import Draft
from kibi.frontends.tflite.importers import TensorTable
from kibi.ops.elementwise.broadcast import Broadcast2
from kibi.ops.elementwise.table import TableOperator
from kibi.ops.elementwise.unary import RealUnary

_ELEMENTWISE = (Broadcast2, TableOperator, RealUnary)
"""Operators whose TFLM kernels, on operands of one shape, read no element after they write the one at the same place."""


@dataclass(frozen=True, slots=True)
class WrittenOnce:
    """Operators of which no two write the same tensor.

    Attributes:
        drafts: those that are sound, in the file's order.
        outputs: of the model.
        problems: what is wrong with the others.
    """

    drafts: list[Draft]
    outputs: tuple[int, ...]
    problems: list[Problem]


def written_once(
    drafts: Iterable[Draft], inputs: Iterable[int], outputs: Sequence[int], table: TensorTable
) -> WrittenOnce:
    """Gives each further write of a tensor its own new tensor, which later readers read.

    Args:
        drafts: in the file's order.
        inputs: of the model.
        outputs: of the model.
        table: the tensors, to which those are added.
    """
    made, current = set(inputs), dict[int, int]()
    kept: list[Draft] = []
    problems: list[Problem] = []
    for draft in drafts:
        record = draft.record
        again = {index for index in record.outputs if index in made and index in table.tensors}
        made.update(record.outputs)
        found = _problem(draft, again, table)
        if found is not None:
            problems.append(found)
            continue
        read = tuple(current.get(index, index) for index in record.inputs)
        for index in sorted(again):
            tensor = table.tensors[index]
            current[index] = table.add(f"{tensor.name}, again", tensor.type)
        written = tuple(current.get(index, index) for index in record.outputs)
        kept.append(replace(draft, record=replace(record, inputs=read, outputs=written)))
    last = tuple(current.get(index, index) for index in outputs)
    table.outputs = frozenset(last)
    return WrittenOnce(kept, last, problems)


def _problem(draft: Draft, again: set[int], table: TensorTable) -> Problem | None:
    """Returns the problem of an operator that writes some tensors again; None if there is no problem."""
    name, outputs = draft.record.name, draft.record.outputs
    if not again:
        return None
    if len(set(outputs)) != len(outputs):
        what = f"{name}: two of its outputs are the same tensor, which was written before, too"
        return Problem(what, "Give each output a tensor of its own", draft.index)
    both = again.intersection(index for index in draft.inputs if index is not None)
    shapes = {table.tensors[index].type.shape for index in draft.operands if index in table.tensors}
    if not both or (isinstance(draft.op, _ELEMENTWISE) and len(shapes) == 1):
        return None
    what = (
        f"{name}: it writes the tensor that it reads, so that it may read what it has written, which is not supported"
    )
    return Problem(what, "Give its output a tensor of its own", draft.index, table.tensors[min(both)].name)
