"""Chooses the type of each operator, so that the model fits a budget and loses least.

The search goes from the most precise types to the least. First, it measures what each operator loses with each type while all
others are precise, and what models of one type take on the device. From this follows an order in which precision is given up:
where the loss for what it saves is least comes first. Halving finds the first model of this order that fits. Then operators get
precision back, those that lose most first, as long as the limits hold. Where no model of one type fits, a mixture may: what all
mixtures take is foretold from the models that were measured, and the most promising one is measured next. All that counts is
measured: losses by the integers that run, costs on the emulated core. The number of models that are measured is bounded.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import product

from kibi.dtypes import DType
from kibi.errors import PlanError
from kibi.quantization.costs import Shares, shares_of
from kibi.quantization.forecast import Forecast, Levels
from kibi.quantization.layer import Layer
from kibi.quantization.loss import Loss, LossJudge
from kibi.quantization.narrow_weights import int4_refusal
from kibi.quantization.network import Network
from kibi.quantization.precision import INT8, Precision
from kibi.quantization.quantizing import Model
from kibi.quantization.report import LIMIT_WORDS, Costs, Limits
from kibi.quantization.rules import RULES, Scales
from kibi.targets import Target

_MOST_UNITS = 48
"""Operators get their types one by one up to this number; in longer networks, neighbours get one together."""
_MOST_RAISED = 16
"""How many models are measured to give precision back."""
_MOST_MEASURED = 32
"""How many models are measured in all."""
_MOST_SHRUNK = 24
"""How many models are measured until one fits, where no model of one type does."""
_MOST_MIXTURES = 4096
"""All mixtures are looked at up to this number."""
_LEAST_LOSS = 1e-12
Watch = Callable[[str], None]
Key = tuple[str, ...]
"""What tells models of a search apart: the type of each operator."""


@dataclass(frozen=True, slots=True)
class Found:
    """The model that fits and loses least.

    Attributes:
        model: with the ranges of the inputs that gave them in the search.
        costs: what it takes.
        loss: what it loses.
        tried: models whose loss was measured.
        measured: those of them whose costs were measured.
    """

    model: Model
    costs: Costs
    loss: Loss
    tried: int
    measured: int


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A model that was measured."""

    levels: Levels
    model: Model
    shares: Shares
    loss: Loss


@dataclass
class Search:
    """A search for the types that fit.

    Attributes:
        start: the model with the least precise types, and the changes that all models of the search have.
        judge: says what models lose.
        limits: what they may take.
        processor: the device.
        watch: is told what is tried.
    """

    start: Model
    judge: LossJudge
    limits: Limits
    processor: Target
    watch: Watch
    _keys: dict[Levels, Key] = field(default_factory=dict)
    _losses: dict[Key, Loss] = field(default_factory=dict)
    _measured: dict[Key, _Candidate] = field(default_factory=dict)

    def found(self) -> Found:
        """The model that fits and loses least; of several, the one with the fewest instructions.

        Raises:
            PlanError: none fits.
        """
        count, last = len(self._units), len(self._ladder) - 1
        uniform = [self._measure((level,) * count) for level in range(last + 1)]
        if not any(self._fits(each) for each in uniform):
            self._shrink(uniform)
        elif not self._fits(uniform[0]):
            self._descend(uniform)
        fitting = [each for each in self._measured.values() if self._fits(each)]
        if not fitting:
            raise PlanError(self._refusal())
        best = min(fitting, key=lambda each: (each.loss.total, each.shares.costs.instructions, each.levels))
        best = self._raised(best)
        return Found(best.model, best.shares.costs, best.loss, len(self._losses), len(self._measured))

    @cached_property
    def _ladder(self) -> tuple[Precision, ...]:
        """The types, the most precise first."""
        return self.start.wishes.ladder

    @cached_property
    def _units(self) -> tuple[tuple[int, ...], ...]:
        """The operators that get one type together, by their indices."""
        return units_of(self.start)

    def _model(self, levels: Levels) -> Model:
        """The model with these types."""
        types = {index: self._ladder[level] for unit, level in zip(self._units, levels, strict=True) for index in unit}
        wishes = replace(self.start.wishes, chosen=types)
        return Model.of(self.start.network, self.start.seen, wishes, self.start.changes, {})

    def _loss(self, levels: Levels) -> Loss:
        """What the model with these types loses; models that come out alike are tried once."""
        key = self._key(levels)
        if key not in self._losses:
            self._losses[key] = self.judge.loss(self._model(levels))
        return self._losses[key]

    def _key(self, levels: Levels) -> Key:
        """The type that each operator gets; not each can have each."""
        if levels not in self._keys:
            self._keys[levels] = tuple(types_of(self._model(levels)).values())
        return self._keys[levels]

    def _measure(self, levels: Levels) -> _Candidate:
        """The costs and the loss of the model with these types."""
        loss = self._loss(levels)
        key = self._keys[levels]
        if key not in self._measured:
            self.watch(f"measuring model {len(self._measured) + 1} of the search")
            model = self._model(levels)
            self._measured[key] = _Candidate(levels, model, shares_of(model, self.processor), loss)
        return replace(self._measured[key], levels=levels)

    def _fits(self, candidate: _Candidate) -> bool:
        return self.limits.hold(candidate.shares.costs)

    def _descend(self, uniform: Sequence[_Candidate]) -> None:
        """Measures models in the order in which precision is given up, until the first one that fits is found."""
        if not self._fits(uniform[-1]):
            return
        path = self._order(uniform)
        low, high = 0, len(path) - 1
        while high - low > 1:
            middle = (low + high) // 2
            if self._fits(self._measure(path[middle])):
                high = middle
            else:
                low = middle

    def _shrink(self, uniform: Sequence[_Candidate]) -> None:
        """Looks for a model that fits where none of one type does: the most promising mixture is measured, again and again."""
        if self._is_beyond_reach(uniform):
            return
        self._conversion()
        while len(self._measured) < _MOST_SHRUNK and not any(map(self._fits, self._measured.values())):
            forecast = self._forecast(uniform)
            made = [levels for levels in self._mixtures() if self._key(levels) not in self._measured]
            if not made:
                return
            self._measure(min(made, key=lambda levels: (self._foretold(forecast, levels), levels)))

    def _is_beyond_reach(self, uniform: Sequence[_Candidate]) -> bool:
        """True if the constants or the instructions of the operators alone take more than a limit, whatever the types are."""
        depth = range(len(self._ladder))
        least = {
            name: sum(
                min(self._unit_share(uniform, unit, level, name) for level in depth) for unit in range(len(self._units))
            )
            for name in ("flash_bytes", "instructions")
        }
        return any(count > self.limits.given.get(name, count) for name, count in least.items())

    def _forecast(self, uniform: Sequence[_Candidate]) -> Forecast:
        """What mixtures probably take, from all that was measured."""
        names = {unit: self._name(indices[0]) for unit, indices in enumerate(self._units)}
        places = {name: place for place, name in enumerate(dict.fromkeys(names.values()))}
        return Forecast.of(
            kinds=[places[name] for name in names.values()],
            depth=len(self._ladder),
            share=lambda unit, level, name: self._unit_share(uniform, unit, level, name),
            border=self._border_elements,
            measured={each.levels: asdict(each.shares.costs) for each in self._measured.values()},
        )

    def _foretold(self, forecast: Forecast, levels: Levels) -> float:
        """What a model probably takes above the limits, each as a part of the limit."""
        return sum(max(forecast.cost(levels, name) / limit - 1, 0) for name, limit in self.limits.given.items())

    def _mixtures(self) -> Iterable[Levels]:
        """All mixtures of types, or, of long networks, those that differ from a measured one by a unit or a kind."""
        depth, count = len(self._ladder), len(self._units)
        if depth**count <= _MOST_MIXTURES:
            return product(range(depth), repeat=count)
        kinds: dict[str, list[int]] = {}
        for number, unit in enumerate(self._units):
            kinds.setdefault(self._name(unit[0]), []).append(number)
        groups = [*kinds.values(), *([unit] for unit in range(count))]
        return {
            tuple(level if unit in group else now for unit, now in enumerate(each.levels)): None
            for each in self._measured.values()
            for group in groups
            for level in range(depth)
        }

    def _name(self, index: int) -> str:
        return next(layer.name for layer in self.start.network.layers if layer.index == index)

    def _missing(self, candidate: _Candidate) -> float:
        """What a model takes above the limits, each as a part of the limit."""
        over = self.limits.excess(candidate.shares.costs)
        return sum(count / self.limits.given[name] for name, count in over.items())

    def _order(self, uniform: Sequence[_Candidate]) -> list[Levels]:
        """Types from the most precise to the least precise ones, in steps of one unit."""
        lost, conversion = self._lost(), self._conversion()
        weights = {
            name: 1 / over for name, over in self.limits.excess(uniform[0].shares.costs).items()
        }  # what is missing of each limit counts as 1
        last = len(self._ladder) - 1
        levels: Levels = (0,) * len(self._units)
        path = [levels]
        while min(levels) < last:
            steps = [
                (_with(levels, unit, level), unit, level)
                for unit, now in enumerate(levels)
                for level in range(now + 1, last + 1)
            ]
            ranked = []
            for after, unit, level in steps:
                loss = max(lost[unit][level] - lost[unit][levels[unit]], 0.0) + _LEAST_LOSS
                saved = sum(
                    weight * (self._share(uniform, levels, unit, name) - self._share(uniform, after, unit, name))
                    for name, weight in weights.items()
                )
                crossed = self._border_elements(after) - self._border_elements(levels)
                saved -= weights.get("instructions", 0.0) * conversion * crossed
                ranked.append((saved <= 0, loss / saved if saved > 0 else loss, after))
            levels = min(ranked)[2]
            path.append(levels)
        return path

    def _share(self, uniform: Sequence[_Candidate], levels: Levels, unit: int, name: str) -> int:
        """What a unit takes of a cost."""
        return self._unit_share(uniform, unit, levels[unit], name)

    def _unit_share(self, uniform: Sequence[_Candidate], unit: int, level: int, name: str) -> int:
        """What a unit takes of a cost with a type."""
        layers = uniform[level].shares.layers
        return sum(getattr(layers[index], name) for index in self._units[unit] if index in layers)

    def _lost(self) -> list[list[float]]:
        """What is lost if one unit alone has a type, by the place of the type."""
        count = len(self._units)
        found = []
        for unit in range(count):
            self.watch(f"trying the types of operator group {unit + 1} of {count}")
            levels = [_with((0,) * count, unit, level) for level in range(len(self._ladder))]
            found.append([self._loss(each).total for each in levels])
        return found

    def _conversion(self) -> float:
        """The instructions that the conversion of an element takes, on average, where types take turns."""
        last = len(self._ladder) - 1
        shares = self._measure(tuple(unit % 2 * last for unit in range(len(self._units)))).shares
        return shares.conversions / shares.converted if shares.converted else 0.0

    @cached_property
    def _borders(self) -> tuple[tuple[int, int, int], ...]:
        """The elements that pass from one unit to another, with the two units."""
        unit_of = {index: number for number, unit in enumerate(self._units) for index in unit}
        network = self.start.network
        return tuple(
            (network.graph.tensors[index].type.elements, unit_of[maker.index], unit_of[user.index])
            for index, maker in network.makers.items()
            for user in network.users.get(index, ())
            if maker.index in unit_of and user.index in unit_of
        )

    def _border_elements(self, levels: Levels) -> int:
        """The elements that pass from a unit to one of another type."""
        types = [self._ladder[level].activations for level in levels]
        return sum(elements for elements, maker, user in self._borders if types[maker] is not types[user])

    def _raised(self, best: _Candidate) -> _Candidate:
        """A model with precision given back where the limits leave room for it."""
        tries = 0
        order = sorted(range(len(self._units)), key=lambda unit: (-self._gain(best, unit), unit))
        for unit in order:
            for level in range(best.levels[unit]):
                if tries == _MOST_RAISED or len(self._measured) == _MOST_MEASURED:
                    return best
                levels = _with(best.levels, unit, level)
                if self._loss(levels).total >= best.loss.total:
                    continue
                tries += 1
                candidate = self._measure(levels)
                if self._fits(candidate):
                    best = candidate
                    break
        return best

    def _gain(self, best: _Candidate, unit: int) -> float:
        """How much less is lost if a unit has the most precise type."""
        return best.loss.total - self._loss(_with(best.levels, unit, 0)).total

    def _refusal(self) -> str:
        """Why nothing fits, and what to do."""
        tried = list(self._measured.values())
        given = self.limits.given
        nearest = min(tried, key=self._missing)
        over = self.limits.excess(nearest.shares.costs)
        *others, last = sorted(set(types_of(nearest.model).values()))
        names = f"{', '.join(others)} and {last}" if others else last
        parts = [
            f"{getattr(nearest.shares.costs, name):,} {LIMIT_WORDS[name]}, {count:,} more than the limit of {given[name]:,}"
            for name, count in over.items()
        ]
        tries = f"none of the {len(tried)} choices of types that were tried fits on {self.processor.name}"
        what = f"{self.start.network.graph.source}: {tries}"
        model = f"The nearest one, with operators of {names}, takes {' and '.join(parts)}"
        steps = " and ".join(f"--{name.removesuffix('_bytes')} {getattr(nearest.shares.costs, name)}" for name in over)
        narrower = ", or --weights int4," if "flash_bytes" in over and self._could_be_int4() else ","
        return f"{what}. {model}. Give {steps} or more{narrower} or a smaller network. Nothing was written."

    def _could_be_int4(self) -> bool:
        """True if weights of int4 are not allowed, and an operator of the search could have them."""
        network = self.start.network
        free = {index for unit in self._units for index in unit}
        could = (layer.index in free and not int4_refusal(network, layer) for layer in network.layers)
        return self._ladder[-1] == INT8 and any(could)


def units_of(model: Model) -> tuple[tuple[int, ...], ...]:
    """The operators whose type is free, by their indices: those of one unit get one type.

    An operator that only moves elements goes with the one that makes them: a type of its own would add conversions alone.

    Args:
        model: with the least precise types.
    """
    network = model.network
    unit_of: dict[int, list[int]] = {}
    units: list[list[int]] = []
    for layer in network.layers:
        if model.choices[layer.index].dtype in (None, DType.F32) or model.wishes.names(network, layer):
            continue
        unit = unit_of.get(_source(network, layer))
        if unit is None:
            unit = []
            units.append(unit)
        unit.append(layer.index)
        unit_of |= dict.fromkeys(layer.outputs, unit)
    size = -(-len(units) // _MOST_UNITS)
    joined = (units[start : start + size] for start in range(0, len(units), size or 1))
    return tuple(tuple(index for unit in each for index in unit) for each in joined)


def _source(network: Network, layer: Layer) -> int:
    """The tensor whose elements an operator moves; -1 if it computes others."""
    rule = RULES[layer.name]
    is_mover = rule.scales in (Scales.SOURCE, Scales.JOINED)
    return layer.inputs[rule.source] if is_mover and network.is_real(layer.inputs[rule.source]) else -1


def types_of(model: Model) -> Mapping[int, str]:
    """The names of the types that operators with real numbers compute, by their indices."""
    return {index: choice.precision.name for index, choice in model.choices.items() if choice.precision is not None}


def _with(levels: Levels, unit: int, level: int) -> Levels:
    return (*levels[:unit], level, *levels[unit + 1 :])
