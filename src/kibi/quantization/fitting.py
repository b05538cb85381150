"""A quantized model that fits limits: the types are searched for, then the model is made and improved as any other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kibi.passes import simplify
from kibi.quantization.budget import Found, Search, types_of
from kibi.quantization.costs import costs_of
from kibi.quantization.improving import improve
from kibi.quantization.loss import LossJudge
from kibi.quantization.network import Network
from kibi.quantization.noise import Rows
from kibi.quantization.quantizing import Changes, Model, Wishes, quantize_network
from kibi.quantization.recurrent import seen_of
from kibi.quantization.report import Budget, Costs, Improvement, LayerType, Limits
from kibi.targets import Target

MOST_JUDGED = 512
"""Inputs of the search: every second one gives ranges, the others say what is lost."""
_FEW = 8
Watch = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs by which a model is made.

    Attributes:
        calibration: those that give its ranges.
        search: those by which its types are searched for.
        labels: the numbers of the classes of these; None without labels.
    """

    calibration: Rows
    search: Rows
    labels: Sequence[int] | None

    def halves(self, *, is_sequence: bool) -> tuple[Rows, Rows, Sequence[int] | None]:
        """The inputs that give ranges in the search, those that judge, and the labels of these."""
        if is_sequence or len(self.search) < _FEW:
            return self.search, self.search, self.labels
        return self.search[::2], self.search[1::2], None if self.labels is None else self.labels[1::2]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model that fits.

    Attributes:
        plain: with the ranges of the data and the weights of the file.
        model: the same, improved.
        steps: what was improved.
        budget: the limits, the types, and what the model takes.
    """

    plain: Model
    model: Model
    steps: tuple[Improvement, ...]
    budget: Budget


def fit(
    network: Network,
    inputs: Inputs,
    wishes: Wishes,
    limits: Limits,
    processor: Target,
    watch: Watch,
    *,
    improves: bool = True,
) -> Fitted:
    """The model that fits limits and loses least.

    Args:
        network: the float32 model.
        inputs: see `Inputs`.
        wishes: what the model is to be; its activations are the least precise ones that are chosen.
        limits: what it may take.
        processor: the device.
        watch: is told what is tried.
        improves: False takes the ranges of the data and the weights of the file as they are.

    Raises:
        PlanError: no choice of types fits.
        InputError: there are no inputs, or a tensor has a value that is not a number.
        ToolchainError: the compiler is missing or fails.
        EmulationError: the emulated core stopped.
    """
    ranging, judging, labels = inputs.halves(is_sequence=wishes.keep_state)
    least = quantize_network(network, ranging, wishes)
    if improves:
        # Equalized weights compute the same whatever the types are; other changes are made for the types of one model.
        changes = improve(least, ranging, watch)[0].changes
        least = least.changed(Changes(weights=changes.weights, factors=changes.factors))
    judge = LossJudge.of(network, judging, labels, keep_state=wishes.keep_state)
    found = Search(least, judge, limits, processor, watch).found()
    seen = seen_of(network, inputs.calibration, keep_state=wishes.keep_state)
    plain = Model.of(network, seen, found.model.wishes, Changes(), {})
    model, steps = improve(plain, inputs.calibration, watch) if improves else (plain, ())
    watch("measuring the model that was chosen")
    costs = costs_of(simplify(model.graph).graph, processor)
    if not limits.hold(costs):  # its ranges and biases may ask for other kernels; that of the search was measured
        model, steps, costs = found.model, (), found.costs
    return Fitted(plain, model, steps, _budget(model, limits, costs, found))


def _budget(model: Model, limits: Limits, costs: Costs, found: Found) -> Budget:
    """What was chosen, for the report."""
    types = types_of(model)
    network = model.network
    chosen = tuple(
        LayerType(layer.index, layer.name, network.name_of(layer), types[layer.index])
        for layer in network.layers
        if layer.index in types
    )
    return Budget(limits, costs, chosen, found.tried, found.measured)
