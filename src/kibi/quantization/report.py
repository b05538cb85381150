"""The result of a quantization, in figures."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from kibi.reports.evaluation import Evaluation


@dataclass(frozen=True, slots=True)
class LayerFigures:
    """The error of one operator's first output.

    Attributes:
        operator: its index in the float32 model's file.
        name: the schema's name of the operator.
        output: the name of the tensor that it makes.
        dtype: what it computes: `s8`, `s16` or `f32`.
        decibels: how much stronger the float32 model's elements are than the differences to them.
        lost_decibels: of these, how many its most exact input of the same kind had more; below 0: it has more itself.
        advice: what to do about it; empty if it loses little.
        is_int4: True if its weights are int4.
    """

    operator: int
    name: str
    output: str
    dtype: str
    decibels: float
    lost_decibels: float
    advice: str = ""
    is_int4: bool = False


@dataclass(frozen=True, slots=True)
class FloatOperator:
    """An operator that stays float32.

    Attributes:
        operator: its index in the float32 model's file.
        name: the schema's name.
        output: the name of the tensor that it makes.
        reason: why.
    """

    operator: int
    name: str
    output: str
    reason: str


@dataclass(frozen=True, slots=True)
class Costs:
    """What a model takes on a device, for one inference.

    Attributes:
        ram_bytes, flash_bytes: memory.
        instructions: executed.
    """

    ram_bytes: int
    flash_bytes: int
    instructions: int

    def plus(self, other: "Costs") -> "Costs":
        """The sums of both."""
        return Costs(
            self.ram_bytes + other.ram_bytes,
            self.flash_bytes + other.flash_bytes,
            self.instructions + other.instructions,
        )


LIMIT_WORDS = {"ram_bytes": "bytes of RAM", "flash_bytes": "bytes of flash", "instructions": "instructions"}
"""What is limited, in words, by its name in `Costs`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a model may take on a device; None: as much as it likes.

    Attributes:
        ram_bytes, flash_bytes: memory, as `kibi measure` counts it: with stack, state and code.
        instructions: of one inference.
    """

    ram_bytes: int | None = None
    flash_bytes: int | None = None
    instructions: int | None = None

    @property
    def given(self) -> Mapping[str, int]:
        """Those that there are, by their names in `Costs`."""
        return {name: limit for name, limit in asdict(self).items() if limit is not None}

    def excess(self, costs: Costs) -> Mapping[str, int]:
        """By how much costs are above limits, by the names of those that they are above."""
        over = {name: getattr(costs, name) - limit for name, limit in self.given.items()}
        return {name: count for name, count in over.items() if count > 0}

    def hold(self, costs: Costs) -> bool:
        """True if costs are above no limit."""
        return not self.excess(costs)


@dataclass(frozen=True, slots=True)
class LayerType:
    """The type that was chosen for an operator.

    Attributes:
        operator: its index in the float32 model's file.
        name: the schema's name.
        output: the name of the tensor that it makes.
        precision: `float32`, `int16`, `int8`, or `int4`: int8 with weights of int4.
    """

    operator: int
    name: str
    output: str
    precision: str


@dataclass(frozen=True, slots=True)
class Budget:
    """The types that were chosen to fit limits.

    Attributes:
        limits: what was asked for.
        used: what the model takes.
        types: of all operators with real numbers, in order.
        tried: models whose loss was measured.
        measured: those of them whose costs were measured.
    """

    limits: Limits
    used: Costs
    types: tuple[LayerType, ...]
    tried: int
    measured: int


@dataclass(frozen=True, slots=True)
class Improvement:
    """A change beyond the ranges of the data that made the error of the integers smaller.

    Attributes:
        kind: `range`, `bias` or `equalization`.
        output: the name of the tensor that it concerns.
        decibels: of the answers after it.
    """

    kind: str
    output: str
    decibels: float


@dataclass(frozen=True, slots=True)
class Quantization:
    """A quantized model, and what it costs and loses.

    Attributes:
        model: the name of the float32 model's file.
        data: the contents of the new `.tflite` file.
        dataset: the name of the data.
        calibration_inputs: how many inputs gave the ranges.
        activations: `int8` or `int16`.
        target: the processor of the costs.
        integer_operators: how many operators compute integers.
        int4_operators: how many of them have weights of int4.
        float_operators: those that stay float32.
        layers: the error of every operator that both models compute, in order.
        decibels: of the answers: the outputs, before a last softmax or logistic function.
        plain_decibels: the same without improvements.
        improvements: in order.
        before, after: the evaluations of the float32 and of the new model; None without one.
        costs_before, costs_after: None if nothing was measured.
        budget: the types that fit limits; None without limits.
        warnings: what looks wrong with the data.
    """

    model: str
    data: bytes = field(repr=False)
    dataset: str
    calibration_inputs: int
    activations: str
    target: str
    integer_operators: int
    int4_operators: int
    float_operators: tuple[FloatOperator, ...]
    layers: tuple[LayerFigures, ...]
    decibels: float
    plain_decibels: float
    improvements: tuple[Improvement, ...] = ()
    before: Evaluation | None = None
    after: Evaluation | None = None
    costs_before: Costs | None = None
    costs_after: Costs | None = None
    budget: Budget | None = None
    warnings: tuple[str, ...] = ()

    @property
    def worst_layers(self) -> tuple[LayerFigures, ...]:
        """The operators with an advice, those that lose most first."""
        return tuple(sorted((each for each in self.layers if each.advice), key=lambda each: -each.lost_decibels))

    def to_dict(self) -> dict[str, Any]:
        """Returns the facts as plain data, for JSON; without the file's contents."""
        kept = {
            name: getattr(self, name) for name in ("model", "dataset", "calibration_inputs", "activations", "target")
        }
        return {
            **kept,
            "bytes": len(self.data),
            "integer_operators": self.integer_operators,
            "int4_operators": self.int4_operators,
            "float_operators": [asdict(each) for each in self.float_operators],
            "decibels": self.decibels,
            "plain_decibels": self.plain_decibels,
            "improvements": [asdict(each) for each in self.improvements],
            "layers": [asdict(each) for each in self.layers],
            "before": None if self.before is None else self.before.to_dict(),
            "after": None if self.after is None else self.after.to_dict(),
            "costs_before": None if self.costs_before is None else asdict(self.costs_before),
            "costs_after": None if self.costs_after is None else asdict(self.costs_after),
            "budget": None if self.budget is None else asdict(self.budget),
            "warnings": list(self.warnings),
        }
