"""The interpreter: row steps in the plan's order, on the plan's bytes."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.errors import InternalError
from kibi.ir import Accumulation, Graph, RowAccess, Rows, Site, TensorType
from kibi.planner import plan as make_plan
from kibi.planner import validate
from kibi.planner.plan import Plan
from kibi.runtime.arena import Arena, WritableBuffer, row_views
from kibi.runtime.inputs import check_inputs
from kibi.targets import target

Observer = Callable[[int, Array], None]
"""Called with a tensor's index and a copy of its elements when its last row has been made."""

_Step = tuple[Callable[[Rows], Array], Rows, NDArray[np.generic]]


class Interpreter:
    """A model ready to run many times.

    Args:
        model: the graph.
        plan: its plan; None: the default plan for the host.
        arena: the caller's bytes, at least `plan.arena_bytes`; None: bytes of its own.
        guard: whether canaries in free bytes are kept and checked.

    Raises:
        PlanError: the plan is not right for the model.
        ArenaError: the arena is too small, read-only or misaligned.
    """

    def __init__(
        self, model: Graph, plan: Plan | None = None, arena: WritableBuffer | None = None, *, guard: bool = True
    ) -> None:
        self.model = model
        if plan is not None:
            validate(model, plan)
        self.plan = plan or make_plan(model, target("host"))
        self.arena = Arena(model, self.plan, arena, guard=guard)
        self._views = {
            tensor.index: self._rows(tensor.index) for tensor in model.tensors if self._is_used(tensor.index)
        }
        prepared = {run.node: self._prepare(run.node) for run in self.plan.runs}
        self._steps = [prepared[node][step] for node, step in self.plan.steps]

    def run(self, inputs: Sequence[Array], observe: Observer | None = None) -> list[Array]:
        """One inference.

        Args:
            inputs: one array for each model input, of its shape and type.
            observe: called with each tensor as it is completed.

        Returns:
            One array for each model output.

        Raises:
            InputError: an input does not fit.
        """
        arrays = check_inputs(self.model, inputs)
        self.arena.start()
        for index, array in zip(self.model.inputs, arrays, strict=True):
            self._write(index, array)
        position = 0
        for run in self.plan.runs:
            for _ in range(run.rows):
                compute, rows, output = self._steps[position]
                output[:] = np.asarray(compute(rows)).reshape(-1)
                if observe is not None:
                    self._observe(position, observe)
                self.arena.release(position)
                position += 1
            self.arena.check(position - 1)
        return [self._read(index) for index in self.model.outputs]

    def reset(self) -> None:
        """Forget all state that is carried over from run to run; these operators have none."""

    def _is_used(self, index: int) -> bool:
        return self.model.tensors[index].is_constant or bool(self.plan.buffers_of(index))

    def _rows(self, index: int) -> Sequence[NDArray[np.generic]]:
        return row_views(self.model, self.plan, self.arena, index)

    def _prepare(self, node: int) -> list[_Step]:
        """For each step of a node: its function, its input rows, its output bytes."""
        site = self.model.sites[node]
        compute = self._accumulating(node) if site.op.accumulates(site) else repeat(site.op.reference(site))
        accesses = site.op.accesses(site)
        steps: list[_Step] = []
        for step, function in zip(range(site.steps), compute, strict=False):
            rows = tuple(
                _pieces(self._views[tensor.index], tensor.type, access, step)
                for tensor, access in zip(site.row_tensors, accesses, strict=True)
            )
            steps.append((function, rows, self._output(site, step)))
        return steps

    def _output(self, site: Site, step: int) -> NDArray[np.generic]:
        """The bytes of the rows that one step makes, which lie in order; none where it only accumulates."""
        kind, made = site.output.type, site.made_rows(step)
        offset = self.plan.row_offsets(self.model, site.output.index)[made.start]
        return self.arena.bytes[offset : offset + len(made) * kind.row_bytes].view(kind.dtype.numpy)

    def _accumulating(self, node: int) -> Iterator[Callable[[Rows], Array]]:
        """The function of each step of a node that accumulates in its scratch."""
        site = self.model.sites[node]
        accumulation, scratch = site.op.accumulation(site), self.plan.scratch_of(node)
        if scratch is None:
            raise InternalError(f"operator {site.node.source} ({site.op.name}) has no scratch to accumulate in")
        size_bytes = accumulation.start.nbytes
        place = self.arena.bytes[scratch.offset : scratch.offset + size_bytes].view(accumulation.start.dtype)
        return (partial(_accumulate, site, accumulation, place, step) for step in range(site.steps))

    def _write(self, index: int, array: Array) -> None:
        views = self._views.get(index, ())
        for view, row in zip(views, array.reshape(len(views), -1) if views else (), strict=True):
            view[:] = row

    def _read(self, index: int) -> Array:
        tensor = self.model.tensors[index]
        return np.concatenate(self._views[index]).reshape(tensor.type.shape)

    def _observe(self, position: int, observe: Observer) -> None:
        node, step = self.plan.steps[position]
        site = self.model.sites[node]
        if step == site.steps - 1:
            observe(site.output.index, self._read(site.output.index))


def _accumulate(site: Site, accumulation: Accumulation, place: Array, step: int, rows: Rows) -> Array:
    """One step of a node that accumulates: the elements that it makes, which are none before the last."""
    if step == 0:
        place[:] = accumulation.start
    accumulation.add(place, rows, step)
    return accumulation.finish(place) if step == site.steps - 1 else place[:0]


def _pieces(
    views: Sequence[NDArray[np.generic]], kind: TensorType, access: RowAccess, step: int
) -> tuple[NDArray[np.generic] | None, ...]:
    """The rows, or parts of rows, that an access names."""
    size = kind.row_elements // access.parts
    fill = None if access.fill is None else np.full(size, access.fill, kind.dtype.numpy)

    def piece(position: int | None) -> NDArray[np.generic] | None:
        if position is None:
            return fill
        row, part = divmod(position, access.parts)
        return views[row][part * size : (part + 1) * size]

    return tuple(piece(position) for position in access.positions(step))
