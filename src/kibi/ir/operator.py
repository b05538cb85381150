"""The operator contract: the facts that one file under `kibi.ops` must state about its operator."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.errors import InternalError
from kibi.ir.rows import ColumnReach, RowAccess
from kibi.kernels.params import PARAMS, Params

if TYPE_CHECKING:
    from kibi.ir.graph import Graph, NodeView
    from kibi.ir.tensor import TensorType

_P = TypeVar("_P", bound=Params)
Rows = Sequence[Sequence[Array | None]]
"""The rows that `RowAccess.positions` names, for each row input that the node has, in order; None for rows outside the input."""

Made = Array | Sequence[Array]
"""The elements that a step makes, in order: an array, or of an operator that has several outputs an array for each."""


class OperatorError(Exception):
    """A node breaks a rule of its operator; `verify` converts it into a located problem.

    Attributes:
        what: the fact, with the offending and the required value.
        remedy: what the user can do, or empty.
        operand: name of the operand that is wrong, or None.
    """

    def __init__(self, what: str, remedy: str = "", operand: str | None = None) -> None:
        self.what = what
        self.remedy = remedy
        self.operand = operand
        super().__init__(what)


@dataclass(frozen=True, slots=True)
class KernelCall:
    """The call of a C kernel for one node; it is repeated for each row step.

    The kernel is `void <kernel>(T *output, const T *const *rows, const <struct> *params, void *scratch)`: `rows` holds
    the pointers that the operator's row accesses name, input after input. A kernel that accumulates takes `int32_t step` after
    them: its calls keep their sums in scratch, and only the last call writes to `output`.

    A kernel of an operator that has several outputs takes `void *const *outputs` first: a pointer to each that the node has, in
    order. It writes all of them: an output that nobody reads has bytes, too, while the kernel runs.

    A kernel of an operator that has `states` takes `void *const *states` last: a pointer to each, in order.

    Attributes:
        kernel: name of the function, and of its `.c` file.
        params: the values of the struct's fields; None for a node without a kernel.
        scratch_bytes: bytes of arena that a call may use.
        scratch_alignment: alignment of the scratch in bytes, a power of two.
        takes_step: true if the kernel takes the number of the step.
        features: macros that enable the parts of the kernel's files that this call needs; a library leaves out all other parts.
        least_features: those that it needs where the least flash is the goal, at any cost in instructions; None: the same.
        least_arena_bytes: of a general call in a graph: bytes that the model's arena has in any case, of which a variant may take a
            small part as scratch; 0: nothing is known.
        is_often_least: of a general call in a graph: true if many elements of the first input are -128, which is their zero.
        input_range: of a general call in a graph: the least and the largest element that its first input can have, if that is s8.
        is_untyped: true if the kernel takes `void *output, const void *const *rows`: it moves elements of any type.
        inplace_distance_bytes: for each row input that is there, the least distance by which the output of a step must begin
            below an input row that it reads for the last time, so that it may overwrite that row meanwhile; None: it never may.
            Empty: never for all. It holds for each of several outputs, wherever the others are; one that is smaller than the
            distance need only end below the row.
        staged_bytes: at the end of the scratch, bytes to which the caller may copy the parameters and all constants before a run of
            steps, so that the kernel reads them there; 0: there is no room for that.
    """

    kernel: str
    params: Params | None = None
    scratch_bytes: int = 0
    takes_step: bool = False
    is_untyped: bool = False
    inplace_distance_bytes: tuple[int | None, ...] = ()
    features: frozenset[str] = frozenset()
    least_features: frozenset[str] | None = None
    scratch_alignment: int = 4
    least_arena_bytes: int = 0
    is_often_least: bool = False
    input_range: tuple[int, int] = DType.S8.limits
    staged_bytes: int = 0

    def __post_init__(self) -> None:
        """Checks that the parameters are the kernel's.

        Raises:
            InternalError: they are those of another kernel.
        """
        wanted = PARAMS.get(self.kernel)
        if wanted is not None and type(self.params) is not wanted:
            raise InternalError(f"{self.kernel} takes {wanted.__name__}, not {type(self.params).__name__}")

    @classmethod
    def of(cls, kernel: str, fields: Mapping[str, Any], scratch_bytes: int = 0, **facts: Any) -> Self:
        """Returns the call of a kernel of Kibi's own with these fields of its struct; `facts` are further attributes.

        Raises:
            InternalError: there is no such kernel, or the fields are not its own.
        """
        if kernel not in PARAMS:
            raise InternalError(f"no kernel of Kibi's own is called {kernel!r}")
        return cls(kernel, PARAMS[kernel](**fields), scratch_bytes, **facts)

    def params_as(self, kind: type[_P]) -> _P:
        """Returns the parameters, which are of that class.

        Raises:
            InternalError: they are of another class.
        """
        if not isinstance(self.params, kind):
            raise InternalError(f"{self.kernel} has {type(self.params).__name__}, not {kind.__name__}")
        return self.params

    @property
    def by_name(self) -> Mapping[str, int | float | Array | None]:
        """The value of each field of the struct; empty for a call without parameters."""
        return {} if self.params is None else self.params.by_name

    @property
    def constants(self) -> Mapping[str, Array]:
        """The constants that the struct points to, by the names of the fields."""
        return {} if self.params is None else self.params.constants

    @property
    def constant_bytes(self) -> int:
        """The bytes of all constants that the struct points to, without the struct and without alignment."""
        return sum(array.nbytes for array in self.constants.values())


@dataclass(frozen=True, slots=True)
class JoinedSteps:
    """One step in place of all steps of a node that copies.

    Attributes:
        call: the kernel's call.
        pieces: how many stretches of neighbouring bytes it copies.
        starts: the first row of each input that it reads; empty: all of them are read.
        unit_bytes: each stretch begins in its tensor at a multiple of so many bytes, and has a multiple of so many.
    """

    call: KernelCall
    pieces: int
    starts: tuple[int, ...] = ()
    unit_bytes: int = 1


@dataclass(frozen=True, slots=True)
class Accumulation:
    """The reference implementation of a node that accumulates; the accumulator is stored in the node's planned scratch.

    Attributes:
        start: the accumulator before the first step, with one axis.
        add: takes (accumulator, input rows, step), and adds the rows to the accumulator in place.
        finish: the elements of the complete output, or outputs, from the accumulator after the last step.
    """

    start: Array
    add: Callable[[Array, Rows, int], None]
    finish: Callable[[Array], Made]


class Operator(ABC):
    """One kind of node. Subclasses are frozen dataclasses whose fields are the operator's attributes."""

    __slots__ = ()

    name: ClassVar[str]
    """The operator's standard name: `CONV_2D`."""
    inputs: ClassVar[tuple[str, ...]]
    """Names of the inputs in order; a question mark after a name makes it optional."""
    outputs: ClassVar[tuple[str, ...]] = ("output",)
    """Names of the outputs in order, the first of them `output`. One with a question mark may be left out, and all after it.

    Where there are several names, `infer` gives the types of all outputs of a node, references give the elements of each, and
    kernels take a table of pointers.
    """
    row_inputs: ClassVar[tuple[str, ...]] = ("input",)
    """The inputs that are read by the row while the model runs; all others must be constants, packed ahead of time.

    Those that a node leaves out are skipped: `accesses` and `KernelCall.inplace_distance_bytes` have an entry for each that is
    there.
    """
    kernels: ClassVar[tuple[str, ...]]
    """The C kernels that `kernel_call` may choose."""
    types: ClassVar[tuple[DType, ...]]
    """The element types of the first input that are supported."""
    undefined: ClassVar[Mapping[DType, str]] = MappingProxyType({})
    """Element types of the first input that TFLM runs and Kibi refuses, with the reason why TFLM's outputs are undefined."""
    states: ClassVar[tuple[str, ...]] = ()
    """The inputs that are the node's memory: variables of this node alone, which its kernel reads and changes at each step."""
    ulps: ClassVar[int] = 0
    """The units in the last place by which f32 outputs may differ from TFLM's: above 0 if TFLM's C library decides them.

    Kibi's own bits are the same everywhere. They are TFLM's, too, where that library is glibc, up to 2.40, without fused
    products; with them, or with another, the last place may differ.
    """
    subgraph_names: ClassVar[tuple[str, ...]] = ()
    """The attributes that are graphs of their own, which the node runs.

    The fields of those names in the kernel's struct point to them.
    """
    most_elements: ClassVar[int] = (1 << 31) - 1
    """The limit of elements in each row input and output: lower if tables are made from every element ahead of time."""
    receives: ClassVar[bool] = False
    """True if its rows come from the caller, one at a time, while the plan waits."""
    fetches: ClassVar[bool] = False
    """True if its rows are weights that a function of the application reads from slow memory."""
    starts: ClassVar[bool] = False
    """True if its rows are such weights, and its steps only begin their transfers."""
    waits: ClassVar[bool] = False
    """True if its steps wait for the transfers that another node has begun."""
    ignores_elements: ClassVar[bool] = False
    """True if its output follows from its inputs' types alone."""
    flow_depends_on_elements: ClassVar[bool] = False
    """True if the elements of its inputs choose what runs and how often: a branch, a loop, a suppression.

    Instructions and stack are then those of the inputs that were tried.
    """
    moves_elements: ClassVar[bool] = False
    """True if each element of its outputs is an element of its row inputs, unchanged."""
    is_fast: ClassVar[bool] = False
    """True if the operator, bound by hand, reads tensors' bytes directly where they have them, instead of their interface."""

    @property
    def cuts_at_zero(self) -> bool:
        """True if outputs below zero become zero, so that many of them are."""
        return False

    def output_range(self, view: "NodeView", given: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
        """Returns the least and the largest element that its s8 outputs can have; None if they may have any.

        Args:
            view: the node.
            given: the same of each row input, as in `view.row_tensors`.
        """
        del view
        if not self.moves_elements:
            return None
        return min(low for low, _ in given), max(high for _, high in given)

    @property
    def subgraphs(self) -> "tuple[Graph, ...]":
        """The graphs that the node runs, in the order of `subgraph_names`; each is planned like a model."""
        return tuple(getattr(self, name) for name in self.subgraph_names)

    @property
    def has_several_outputs(self) -> bool:
        """True if the operator has several outputs, or may have."""
        return len(self.outputs) > 1

    def each_made(self, made: Made) -> tuple[Array, ...]:
        """Returns the results of a reference, one for each output."""
        return tuple(made) if self.has_several_outputs else (np.asarray(made),)

    @abstractmethod
    def infer(self, view: "NodeView") -> "tuple[tuple[int, ...], DType] | list[TensorType]":
        """The shape and type rule: the output's shape and element type, from shapes and constants, without tables.

        Of several outputs it is a list of their types, without quantization.

        Raises:
            OperatorError: the node breaks a rule of the operator.
        """

    def check_in_full(self, view: "NodeView") -> None:
        """Checks the rules whose work or memory grows with the output; called once the declared shape equals that of `infer`.

        A constant of a few bytes may name any size: `infer` computes with sizes alone and makes no table of them.

        Raises:
            OperatorError: the node breaks a rule of the operator.
        """
        del view

    @abstractmethod
    def accesses(self, view: "NodeView") -> tuple[RowAccess, ...]:
        """Returns the rows that an output row reads, for each of `row_inputs` that the node has."""

    def steps(self, view: "NodeView") -> int:
        """Returns the row steps that make the output: one for each row, unless the operator makes several rows at once.

        The number divides the output's rows; each step makes the same number of neighbouring rows, in order. "Output row" in
        `accesses`, `reference` and `kernel_call` means the output of one step. If the node accumulates, any number is allowed,
        and "output row" means a step. With several outputs, the number divides the rows of each; it is 1 if one step makes all.
        """
        return view.output.type.rows

    def accumulates(self, view: "NodeView") -> bool:
        """True if its steps add rows of the input to an accumulator in scratch, and the last step makes the complete output."""
        del view
        return False

    @abstractmethod
    def reference(self, view: "NodeView") -> Callable[[Rows], Made]:
        """Returns the reference: a function from input rows to one output row, as an array of its elements in order.

        With several outputs, the function returns a list with an array for each.

        If the node accumulates, `accumulation` replaces it.
        """

    def accumulation(self, view: "NodeView") -> Accumulation:
        """Returns the reference of a node that accumulates.

        Raises:
            InternalError: the node does not accumulate.
        """
        raise InternalError(f"{view.node.label} does not accumulate")

    def stateful_reference(self, view: "NodeView") -> Callable[[Rows, Sequence[Array]], Made]:
        """Returns the reference of an operator with `states`: the function also takes their elements, and changes them in place.

        Raises:
            InternalError: the operator has no states.
        """
        raise InternalError(f"{view.node.label} has no states")

    @abstractmethod
    def kernel_call(self, view: "NodeView") -> KernelCall:
        """Returns the kernel, its parameters with packed weights, and its scratch."""

    def joined_steps(self, view: "NodeView") -> JoinedSteps | None:
        """Returns the call that makes all output rows in one step, where each row input and the output is in one piece.

        The kernel gets a pointer to the first byte of each row input, and makes the rows in order. None: no kernel does.
        """
        del view
        return None

    def may_exit_early(self, view: "NodeView") -> bool:
        """True if a node may end the inference: it ends it if its first state, an s32, is not 0 after the node's last step.

        Nodes with an effect beyond the inference keep their place before or after it.
        """
        del view
        return False

    @property
    def may_loop(self) -> bool:
        """True if it runs a loop, or a body with one; a limit on iterations applies at run time."""
        return any(body.loops for body in self.subgraphs)

    def channel_axes(self, view: "NodeView") -> Mapping[str, int]:
        """Returns the axis of the output channels in each constant input of a node that can be divided by output channels.

        Each part computes its channels from the whole input, and the node's outputs are those of its parts side by side. Empty:
        the node cannot be divided.
        """
        del view
        return {}

    def columns(self, view: "NodeView") -> ColumnReach | None:
        """Returns which columns of its images a column of the output's image reads, where nothing else of them is read.

        None: the node cannot compute some columns alone.
        """
        del view
        return None

    def on_columns(self, view: "NodeView", front: int, back: int) -> "Operator":
        """Returns the operator that computes neighbouring columns of the output, from images with the columns that they need.

        Args:
            view: a node that has `columns`.
            front: columns by which windows reach beyond the images, before them; negative: columns that are left out.
            back: the same after them.
        """
        del view, front, back
        return self

    def macs(self, view: "NodeView") -> int:
        """Returns the multiply-accumulates of one inference; 0 for operators that do not multiply and add."""
        del view
        return 0


class StatefulOperator(Operator):
    """An operator with `states`; `stateful_reference` replaces `reference`."""

    __slots__ = ()

    def reference(self, view: "NodeView") -> Callable[[Rows], Made]:
        """Raises an error: `stateful_reference` replaces it."""
        raise InternalError(f"{view.node.label} has states")
