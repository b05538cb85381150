"""Which operators compute integers, and the scale and zero point of every tensor.

A tensor may be needed in several types: s8 for one operator, float32 for another. Each of these forms is one `Form`. Operators that
only move elements, or that take elements of several inputs, share the scales of their operands; forms that share them are a group.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kibi.dtypes import DType
from kibi.quantization.affine import MOST_REAL, Affine, Range
from kibi.quantization.layer import Layer
from kibi.quantization.narrow_weights import int4_refusal
from kibi.quantization.network import Network
from kibi.quantization.precision import FLOAT32, INT8, Precision
from kibi.quantization.recurrent import (
    HIDDEN_STATE,
    LSTM,
    REMEMBERING,
    remembering_of,
    state_of,
    state_type,
)
from kibi.quantization.rules import RULES, Rule, Scales
from kibi.quantization.subgraphs import CALLERS, VARIABLES

Form = tuple[int, DType]
"""A tensor's index, and a type in which it is needed."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What an operator computes.

    Attributes:
        precision: its types; None if it has no operand of float32.
        reason: why it stays f32; empty if it does not.
    """

    precision: Precision | None
    reason: str = ""

    @property
    def dtype(self) -> DType | None:
        """The type of its activations: s8, s16 or f32; None if it has no operand of float32."""
        return None if self.precision is None else self.precision.activations

    @property
    def is_int4(self) -> bool:
        """True if its weights are int4."""
        return self.precision is not None and self.precision.is_int4


def choose(
    network: Network,
    wanted: Callable[[Layer], Precision],
    refused: Mapping[int, str] | None = None,
    chosen: Collection[int] = (),
) -> Mapping[int, Choice]:
    """What each operator computes, by its index in the file.

    Args:
        network: the float32 model.
        wanted: the types that a layer is to compute; where it cannot have weights of int4, they are int8.
        refused: operators that must stay f32, with the reason.
        chosen: operators whose type a search has chosen.
    """
    return {
        layer.index: _choice(
            network,
            layer,
            wanted(layer),
            (refused or {}).get(layer.index),
            "the limits have room for it" if layer.index in chosen else "asked for",
        )
        for layer in network.layers
    }


def _choice(network: Network, layer: Layer, wanted: Precision, refused: str | None, why: str) -> Choice:
    if not any(network.is_real(index) for index in (*layer.inputs, *layer.outputs)):
        return Choice(None)
    if layer.name in CALLERS:
        return Choice(FLOAT32, "the subgraphs that it runs stay float32")
    if layer.name in VARIABLES:
        return Choice(FLOAT32, "its variable stays float32")
    if wanted.activations is DType.F32:
        return Choice(wanted, why)
    if refused is not None:
        return Choice(FLOAT32, refused)
    rule = RULES.get(layer.name)
    if rule is None or not _has_kernel(network, layer, wanted.activations):
        name = {DType.S8: "int8", DType.S16: "int16"}[wanted.activations]
        return Choice(FLOAT32, f"there is no {layer.name} of {name}")
    if rule.weights is not None and network.constant(layer.inputs[rule.weights.place]) is None:
        return Choice(FLOAT32, "its weights are computed while the model runs")
    if layer.name not in REMEMBERING and any(network.is_variable(index) for index in (*layer.inputs, *layer.outputs)):
        return Choice(FLOAT32, "it has a variable")
    return Choice(INT8 if wanted.is_int4 and int4_refusal(network, layer) else wanted)


def _has_kernel(network: Network, layer: Layer, dtype: DType) -> bool:
    """True if the operator takes elements of a type; operators whose first operand is no data decide later."""
    view = network.views.get(layer.index)
    if view is None:
        return True
    is_data = DType.F32 in view.op.types
    return not is_data or dtype in view.op.types


@dataclass(frozen=True, slots=True)
class Layout:
    """The types of all tensors of a quantized model.

    Attributes:
        choices: what each operator computes, by its index.
        groups: the first form of the group of each form.
        types: of each group, by its first form.
        requantized: places of inputs, as (operator, place), whose elements are brought to the operator's scale.
    """

    choices: Mapping[int, Choice]
    groups: Mapping[Form, Form]
    types: Mapping[Form, Affine]
    requantized: frozenset[tuple[int, int]] = field(default=frozenset())

    def type_of(self, form: Form) -> Affine:
        """The scale and zero point of a form of integers."""
        return self.types[self.groups[form]]

    def dtype_of(self, layer: Layer) -> DType:
        """What an operator with operands of float32 computes."""
        return self.choices[layer.index].dtype or DType.F32


@dataclass(slots=True)
class _Groups:
    """Forms that share scales.

    Attributes:
        parents: the way from each form to the first one of its group.
        fixed: the type that a kernel gives a group.
        symmetric: forms that need the zero point 0.
    """

    parents: dict[Form, Form] = field(default_factory=dict)
    fixed: dict[Form, Affine] = field(default_factory=dict)
    symmetric: set[Form] = field(default_factory=set)

    def find(self, form: Form) -> Form:
        """The first form of a group."""
        self.parents.setdefault(form, form)
        while self.parents[form] != form:
            form = self.parents[form]
        return form

    def fixed_of(self, form: Form) -> Affine | None:
        """The type that a kernel gives the group of a form."""
        return self.fixed.get(self.find(form))

    def join(self, first: Form, other: Form) -> None:
        """Makes one group of two."""
        root, joined = self.find(first), self.find(other)
        if root != joined:
            self.parents[joined] = root
            if joined in self.fixed:
                self.fixed[root] = self.fixed.pop(joined)


def group(network: Network, choices: Mapping[int, Choice]) -> tuple[_Groups, frozenset[tuple[int, int]]]:
    """The forms of integers that are needed, in groups, and the inputs that are brought to another scale."""
    groups = _Groups()
    requantized: set[tuple[int, int]] = set()
    for layer in network.layers:
        dtype = choices[layer.index].dtype
        if dtype is None or dtype is DType.F32:
            continue
        rule = RULES[layer.name]
        places = [place for place, index in enumerate(layer.inputs) if network.is_real(index)]
        forms = {place: (layer.inputs[place], dtype) for place in places}
        outputs = [(index, dtype) for index in layer.outputs if network.is_real(index)]
        for form in (*forms.values(), *outputs):
            groups.find(form)
        if layer.name == LSTM:
            groups.join(outputs[0], (layer.inputs[HIDDEN_STATE], dtype))
        if layer.name in REMEMBERING:
            groups.find((state_of(layer), DType.S16))
        if rule.scales is Scales.FIXED:
            groups.fixed |= {groups.find(form): Affine(dtype, *rule.fixed[dtype]) for form in outputs}
        elif rule.scales is Scales.SOURCE and rule.source in forms and not _is_skewed(groups, rule, forms):
            for form in outputs:
                groups.join(forms[rule.source], form)
        elif rule.scales is Scales.JOINED:
            requantized |= _join(groups, layer, forms, outputs)
        if rule.joins_inputs and not any(groups.fixed_of(form) for form in forms.values()):
            for form in list(forms.values())[1:]:
                groups.join(next(iter(forms.values())), form)
        if rule.is_symmetric and rule.source in forms:
            if _is_skewed(groups, rule, forms):
                requantized.add((layer.index, rule.source))
            groups.symmetric |= {*outputs} if _is_skewed(groups, rule, forms) else {forms[rule.source]}
    return groups, frozenset(requantized)


def _is_skewed(groups: _Groups, rule: Rule, forms: Mapping[int, Form]) -> bool:
    """True if an operator needs the zero point 0 for its source, and a kernel has decided on another one."""
    fixed = groups.fixed_of(forms[rule.source])
    return rule.is_symmetric and fixed is not None and fixed.zero_point != 0


def _join(groups: _Groups, layer: Layer, forms: Mapping[int, Form], outputs: Sequence[Form]) -> set[tuple[int, int]]:
    """Joins the operands of an operator that copies elements; returns the inputs that must be brought to the common scale."""
    types = {place: groups.fixed_of(form) for place, form in forms.items()}
    # What kernels decide is the scale of all only where they agree.
    is_equal = len(set(types.values())) == 1
    joined = [place for place, found in types.items() if found is None or is_equal]
    everything = [*(forms[place] for place in joined), *outputs]
    for form in everything[1:]:
        groups.join(everything[0], form)
    return {(layer.index, place) for place in forms if place not in joined}


def lay_out(
    network: Network,
    choices: Mapping[int, Choice],
    ranges: Mapping[int, Range],
    shrunk: Mapping[Form, float] | None = None,
) -> Layout:
    """The types of all forms, from the ranges of tensors.

    Args:
        network: the float32 model.
        choices: what each operator computes.
        ranges: of the real values of each tensor of float32.
        shrunk: by the first form of a group, the part of its range that elements are to reach.
    """
    groups, requantized = group(network, choices)
    roots = {form: groups.find(form) for form in groups.parents}
    wide: dict[Form, Range] = {}
    own = ((root, ranges[index]) for (index, _), root in roots.items() if index in ranges)
    copied = (each for layer in network.layers for each in _constant_ranges(network, layer, choices, roots))
    for root, values in (*own, *copied):
        wide[root] = values.union(wide[root]) if root in wide else values
    for root in {roots[form] for form in groups.symmetric}:
        wide[root] = wide.get(root, Range(0.0, 0.0)).symmetric()
    parts = shrunk or {}
    types = {
        root: groups.fixed.get(root) or Affine.of(wide.get(root, Range(0.0, 0.0)).shrunk(parts.get(root, 1.0)), root[1])
        for root in set(roots.values())
    }
    types |= {
        (state_of(layer), DType.S16): state_type(layer, ranges.get(state_of(layer)))
        for layer in remembering_of(network)
        if (state_of(layer), DType.S16) in roots
    }
    return Layout(choices, roots, types, requantized)


def _constant_ranges(
    network: Network, layer: Layer, choices: Mapping[int, Choice], roots: Mapping[Form, Form]
) -> Iterable[tuple[Form, Range]]:
    """Yields the ranges of constants whose elements an operator copies, with the groups that they widen."""
    dtype, rule = choices[layer.index].dtype, RULES.get(layer.name, Rule())
    if dtype is None or dtype is DType.F32 or not rule.widens:
        return
    for place, index in enumerate(layer.inputs):
        data = network.constant(index) if rule.copies(place) and network.is_real_constant(index) else None
        if data is not None and data.size:
            reals = data[np.abs(data.astype(np.float64)) < MOST_REAL]
            low, high = float(reals.min(initial=0)), float(reals.max(initial=0))
            yield roots[(layer.outputs[0], dtype)], Range.around(low, high)
