"""Everything that the C text of one model needs, gathered once: calls, packed constants, fill rows, row places."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kibi.dtypes import Array
from kibi.errors import InternalError
from kibi.ir import Graph, KernelCall, RowAccess, Site, Tensor
from kibi.kernels import Field, struct_fields
from kibi.planner.plan import Plan
from kibi.targets import Target


@dataclass(frozen=True, eq=False)
class Bindings:
    """A model about to be written.

    Attributes:
        graph, plan, target: what is written, and for whom.
        prefix: the C prefix of everything that belongs to this model.
    """

    graph: Graph
    plan: Plan
    target: Target

    @property
    def prefix(self) -> str:
        """The C prefix of everything that belongs to this model."""
        return self.graph.name

    @cached_property
    def calls(self) -> tuple[KernelCall, ...]:
        """The kernel call of each node."""
        return tuple(site.op.bind(site) for site in self.graph.sites)

    @cached_property
    def accesses(self) -> tuple[tuple[RowAccess, ...], ...]:
        """The row accesses of each node."""
        return tuple(site.op.accesses(site) for site in self.graph.sites)

    @property
    def kernels(self) -> frozenset[str]:
        """Names of the kernels that are called."""
        return frozenset(call.kernel for call in self.calls)

    def fields(self, call: KernelCall) -> tuple[Field, ...]:
        """The fields of a call's parameter struct; checks that the call names no other."""
        fields = struct_fields(call.kernel, self.target.kernel_sets)
        unknown = {param.name for param in call.params} - {field.name for field in fields}
        if unknown:
            raise InternalError(f"{call.kernel}_params has no field {', '.join(sorted(unknown))}")
        return fields

    @cached_property
    def constants(self) -> dict[str, tuple[Array, str]]:
        """Each constant array by its C name, with a note on where it is from. Equal arrays are stored once."""
        return {name: (data, note) for name, data, note in self._arrays if self._stored[name] == name}

    def constant_name(self, wanted: str) -> str:
        """The C name under which an array is stored: its own, or that of the first that equals it."""
        return self._stored[wanted]

    @cached_property
    def _stored(self) -> dict[str, str]:
        first: dict[tuple[str, bytes], str] = {}
        return {name: first.setdefault((data.dtype.str, data.tobytes()), name) for name, data, _ in self._arrays}

    @cached_property
    def _arrays(self) -> tuple[tuple[str, Array, str], ...]:
        """Every constant array as (wanted name, elements, note), in the order of nodes, then row constants."""
        packed = [
            (
                f"{self.prefix}_{number}_{param.name}",
                param.value,
                f"operator {site.node.source} {site.op.name}: {param.name}",
            )
            for number, (site, call) in enumerate(zip(self.graph.sites, self.calls, strict=True))
            for param in call.params
            if isinstance(param.value, np.ndarray)
        ]
        rows = [
            (self.tensor_constant(tensor), tensor.data, f"tensor {tensor.name}")
            for tensor in self.row_constants
            if tensor.data is not None
        ]
        return (*packed, *rows)

    def tensor_constant(self, tensor: Tensor) -> str:
        """The wanted C name of a constant that is read by the row."""
        return f"{self.prefix}_tensor_{tensor.index}"

    @cached_property
    def row_constants(self) -> tuple[Tensor, ...]:
        """Constants that kernels read by the row, as an activation."""
        tensors = {t.index: t for site in self.graph.sites for t in site.row_tensors if t.is_constant}
        outputs = {i: self.graph.tensors[i] for i in self.graph.outputs if self.graph.tensors[i].is_constant}
        return tuple(tensor for _, tensor in sorted((tensors | outputs).items()))

    @cached_property
    def fills(self) -> dict[tuple[str, int], int]:
        """For each (C type, value) of constant fill rows, the elements that the longest one needs."""
        longest: dict[tuple[str, int], int] = {}
        for site, accesses in zip(self.graph.sites, self.accesses, strict=True):
            for tensor, access in zip(site.row_tensors, accesses, strict=True):
                if access.fill is not None and not access.stays_inside:
                    key = (tensor.type.dtype.c, access.fill)
                    longest[key] = max(longest.get(key, 0), tensor.type.row_elements // access.parts)
        return longest

    def fill_name(self, c_type: str, value: int) -> str:
        """The C name of a fill row."""
        text = f"minus_{-value}" if value < 0 else str(value)
        return f"fill_{text}" if c_type == "int8_t" else f"fill_{c_type}_{text}"

    @cached_property
    def row_tensors(self) -> tuple[Tensor, ...]:
        """All tensors whose rows some step reads or makes, by index."""
        used = {t.index for site in self.graph.sites for t in (*site.row_tensors, site.output)}
        return tuple(self.graph.tensors[index] for index in sorted(used))

    def function(self, number: int) -> str:
        """The C name of the function that runs steps of a node."""
        site: Site = self.graph.sites[number]
        return f"{self.prefix}_{number}_{site.op.name.lower()}"

    def label(self, number: int) -> str:
        """How reports name a node."""
        site = self.graph.sites[number]
        return f"{site.op.name} {site.output.name!r}"
