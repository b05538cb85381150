"""What importers of operators are made of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kibi.frontends.tflite.reader import ACTIVATIONS, PADDINGS, Options
from kibi.ir import Node, Operator, Tensor
from kibi.ops import Activation, Padding

T = TypeVar("T")


class OptionsError(Exception):
    """An operator's options ask for what Kibi does not support, or make no sense.

    Attributes:
        what: the fact.
        remedy: what the user can do.
    """

    def __init__(self, what: str, remedy: str) -> None:
        self.what = what
        self.remedy = remedy
        super().__init__(what)


@dataclass(frozen=True, slots=True)
class Importer:
    """How one of the schema's operators becomes one of Kibi's.

    Attributes:
        make: the operator from its options.
        options_type: the schema's table of options; None where the operator has none that matter.
        check: looks at options beside the input tensors, None for those left out, and raises `OptionsError`.
        part: where there are several outputs, from the operator to the one that makes output `number` of `count`; it raises
            `OptionsError` for another count than it should be.
        order: where the schema has the inputs in another order than the operator, or more of them, their places there.
        takes_handle: whether the first input is the handle of a variable, which is none of the operator's.
    """

    make: Callable[[Options], Operator]
    options_type: str | None = None
    check: Callable[[Options, Sequence[Tensor | None]], None] | None = None
    part: Callable[[Operator, int, int], Operator] | None = None
    order: tuple[int, ...] | None = None
    takes_handle: bool = False

    def ordered(self, inputs: Sequence[T]) -> tuple[T, ...]:
        """The inputs in the operator's order; as they are where there are too many for that. The last may be left out."""
        if self.order is None or len(inputs) > 1 + max(self.order):
            return tuple(inputs)
        return tuple(inputs[place] for place in self.order if place < len(inputs))

    def nodes(
        self, op: Operator, inputs: tuple[int | None, ...], outputs: tuple[int, ...], source: int
    ) -> tuple[Node, ...]:
        """The nodes of an operator: one, or one for each of several outputs.

        Args:
            op: what `make` gave.
            inputs: tensor indices in the schema's order; None for an optional input that is left out.
            outputs: tensor indices.
            source: the operator's index in the file.

        Raises:
            OptionsError: it should have another number of outputs.
        """
        inputs = self.ordered(inputs)
        if self.part is None or not outputs:
            return (Node(op, inputs, outputs, source),)
        parts = (self.part(op, number, len(outputs)) for number in range(len(outputs)))
        return tuple(Node(each, inputs, (output,), source) for each, output in zip(parts, outputs, strict=True))


def padding_of(options: Options) -> Padding:
    """The padding scheme.

    Raises:
        OptionsError: the schema has no such scheme.
    """
    code = options.integer("Padding")
    if code not in PADDINGS:
        raise OptionsError(f"padding scheme {code} is unknown", "Use SAME or VALID padding")
    return Padding[PADDINGS[code]]


def activation_of(options: Options) -> Activation:
    """The fused activation.

    Raises:
        OptionsError: it is none that Kibi, or TFLM, fuses.
    """
    code = options.integer("FusedActivationFunction")
    name = ACTIVATIONS.get(code, str(code))
    if name not in Activation.__members__:
        remedy = f"Use one of {', '.join(Activation.__members__)}, or make it an operator of its own"
        raise OptionsError(f"fused activation {name} is not supported", remedy)
    return Activation[name]


def pair(options: Options, what: str, height: str, width: str) -> tuple[int, int]:
    """Two sizes of at least 1, height first.

    Raises:
        OptionsError: one is less.
    """
    pair = options.integer(height), options.integer(width)
    if min(pair) < 1:
        raise OptionsError(
            f"{what} [{pair[0]}, {pair[1]}] is less than 1", "Export the model again; the file is damaged"
        )
    return pair


def plain(operator: Callable[[], Operator]) -> Importer:
    """An operator without attributes."""
    return Importer(lambda _: operator())
