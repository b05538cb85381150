"""Chooses the kernels with which the code and the constants of a whole model are smallest.

A kernel costs its code once, however many layers it runs: what a layer should take depends on what others take.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import chain, combinations, product
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kibi.ir import KernelCall
from kibi.kernels import closure, is_shipped
from kibi.kernels.params.layout import Layout
from kibi.selection.code_sizes import code_bytes, is_recorded
from kibi.targets import Target

_ALIGNMENT = 4
"""Of constants in flash."""
_MOST_COMPARED = 10_000
"""Choices that are all compared; of more, those of one kind of layers after another."""

_Arrays: TypeAlias = frozenset[tuple[bytes, int]]
"""Arrays, each as a digest of its type and elements, and its bytes of flash."""


@dataclass(frozen=True, slots=True)
class _Option:
    """A kernel that may run a layer.

    Attributes:
        kernel: its C name.
        parts: the macros of the parts of it that the layer needs.
        constants: the arrays that are packed for it, and their bytes. Layers with equal arrays share them.
        struct_bytes: of its parameters, which a library has among its code.
    """

    kernel: str
    parts: frozenset[str]
    constants: _Arrays
    struct_bytes: int

    @property
    def own_bytes(self) -> int:
        """The bytes of flash for a layer that shares no array."""
        return self.struct_bytes + sum(size_bytes for _, size_bytes in self.constants)


_Choice = tuple[_Option, ...]
"""What runs each layer."""


def choose_least_flash(
    fitting: Sequence[Sequence[KernelCall]], known: Sequence[KernelCall], target: Target
) -> tuple[KernelCall, ...]:
    """Returns, for each layer of a model, one of its candidates, so that code and constants together are smallest.

    All sets of kernels are compared in which each layer takes the smallest constants; then layers are changed one by one, in
    the best of these choices and in the one that is known already, while that saves flash.

    Args:
        fitting: the candidates of each layer, the fastest one first.
        known: a choice of them. The result needs no more code, and no more flash.
        target: the processor. Layers that have candidates of no recorded size take the last one.
    """
    usable = [calls if all(is_recorded(each.kernel) for each in calls) else calls[-1:] for calls in fitting]
    if all(len(calls) == 1 for calls in usable):
        return tuple(calls[0] for calls in usable)
    options = tuple(tuple(map(_option, calls)) for calls in usable)
    fixed = frozenset(calls[0].kernel for calls in usable if calls[0].kernel and not is_recorded(calls[0].kernel))
    start = tuple(_named(its, call.kernel) or its[-1] for its, call in zip(options, known, strict=True))
    paid = _functions_of(fixed, target.kernel_sets)
    model = _Model(options, paid, _code_bytes(start, paid))
    best = min((model.refined(each) for each in (model.smallest(), start)), key=model.excess)
    places = (its.index(option) for its, option in zip(options, best, strict=True))
    return tuple(calls[place] for calls, place in zip(usable, places, strict=True))


def flash_bytes(calls: Sequence[KernelCall], target: Target) -> int:
    """Returns what the kernels of a model take of flash with their parameters and constants.

    Args:
        calls: those of the model's layers. Of kernels of no recorded size the code is left out.
        target: the processor.
    """
    fixed = frozenset(call.kernel for call in calls if call.kernel and not is_recorded(call.kernel))
    chosen = tuple(map(_option, calls))
    return _code_bytes(chosen, _functions_of(fixed, target.kernel_sets)) + _constant_bytes(chosen)


def _option(call: KernelCall) -> _Option:
    """What a call takes of flash."""
    parts = call.features if call.least_features is None else call.least_features
    constants = frozenset(map(_array, call.constants.values()))
    struct = 0 if call.params is None else Layout.of(type(call.params), with_graphs=False).size_bytes
    return _Option(call.kernel, parts, constants, struct)


def _named(options: Sequence[_Option], kernel: str) -> _Option | None:
    """The first option with a kernel."""
    return next((each for each in options if each.kernel == kernel), None)


def _array(data: NDArray[Any]) -> tuple[bytes, int]:
    """An array by its digest, and its bytes of flash."""
    digest = sha256(np.ascontiguousarray(data).data).digest()
    return data.dtype.str.encode() + digest, -(-data.nbytes // _ALIGNMENT) * _ALIGNMENT


@cache
def _functions_of(kernels: frozenset[str], kernel_sets: tuple[str, ...]) -> frozenset[str]:
    """The functions that a library with these kernels has; of kernels of custom operators nothing is known."""
    shipped = frozenset(name for name in kernels if is_shipped(f"{name}.c"))
    return frozenset(name.removesuffix(".c") for name in closure(shipped, kernel_sets) if name.endswith(".c"))


def _code_bytes(chosen: _Choice, paid: frozenset[str]) -> int:
    """The bytes of kernels and parameters of a choice, but for functions that are paid for."""
    needed = {(each.kernel, each.parts) for each in chosen if is_recorded(each.kernel)}
    parts = frozenset(part for _, parts in needed for part in parts)
    kernels = code_bytes({kernel for kernel, _ in needed}, parts, paid)
    return kernels + sum(each.struct_bytes for each in chosen)


def _constant_bytes(chosen: _Choice) -> int:
    """The bytes of the constants of a choice. A library has equal arrays once."""
    arrays = set[tuple[bytes, int]]().union(*(each.constants for each in chosen))
    return sum(size_bytes for _, size_bytes in arrays)


@dataclass(frozen=True, slots=True)
class _Model:
    """What a model's layers may take.

    Attributes:
        options: of each layer, the fastest one first.
        paid: functions that the library has whatever is chosen.
        most_code_bytes: the code that a choice may have.
    """

    options: tuple[_Choice, ...]
    paid: frozenset[str]
    most_code_bytes: int

    def excess(self, chosen: _Choice) -> tuple[int, int]:
        """Returns how many bytes of code a choice has too many, and what it needs of flash: the smaller one is better."""
        code = _code_bytes(chosen, self.paid)
        return max(0, code - self.most_code_bytes), code + _constant_bytes(chosen)

    def smallest(self) -> _Choice:
        """Returns the smallest choice in which each layer takes, of the kernels that run layers of its kind, the least of its own.

        Layers are of a kind if their general kernel, the last option, is the same.
        """
        kinds = defaultdict[str, list[int]](list)
        for number, options in enumerate(self.options):
            kinds[options[-1].kernel].append(number)
        order = [number for numbers in kinds.values() for number in numbers]
        ways = [tuple(dict.fromkeys(self._ways(numbers))) for numbers in kinds.values()]
        taken = dict(zip(order, chain(*self._smallest_of(ways)), strict=True))
        return tuple(taken[number] for number in range(len(self.options)))

    def _smallest_of(self, ways: Sequence[Sequence[_Choice]]) -> Sequence[_Choice]:
        """Returns one way of each kind: the smallest together, or, of too many to compare, each the smallest beside the others."""
        if prod(map(len, ways)) <= _MOST_COMPARED:
            return min(product(*ways), key=self._excess_of)
        best = [each[0] for each in ways]
        for place, each in enumerate(ways):
            best = min(([*best[:place], way, *best[place + 1 :]] for way in each), key=self._excess_of)
        return best

    def _excess_of(self, ways: Sequence[_Choice]) -> tuple[int, int]:
        return self.excess(tuple(chain(*ways)))

    def _ways(self, numbers: Sequence[int]) -> Iterator[_Choice]:
        """The choices of layers of one kind, one for each set of kernels that can run them all."""
        layers = [self.options[number] for number in numbers]
        kernels = sorted({option.kernel for options in layers for option in options})
        for count in range(1, len(kernels) + 1):
            for allowed in combinations(kernels, count):
                usable = [[each for each in options if each.kernel in allowed] for options in layers]
                if all(usable):
                    yield tuple(min(options, key=lambda each: each.own_bytes) for options in usable)

    def refined(self, chosen: _Choice) -> _Choice:
        """Returns a choice in which no layer, nor all layers of the same constants, can take another option for less flash."""
        changes = tuple(self._changes())
        best, least = chosen, self.excess(chosen)
        is_better = True
        while is_better:
            is_better = False
            for change in changes:
                tried = tuple(change.get(number, option) for number, option in enumerate(best))
                if (needed := self.excess(tried)) < least:
                    best, least, is_better = tried, needed, True
        return best

    def _changes(self) -> Iterator[Mapping[int, _Option]]:
        """Yields options for single layers, then for the layers that share their general constants, by layer."""
        sharing = defaultdict[_Arrays, list[int]](list)
        for number, options in enumerate(self.options):
            if len(options) > 1:
                yield from ({number: option} for option in options)
                sharing[options[-1].constants].append(number)
        for numbers in sharing.values():
            kernels = dict.fromkeys(option.kernel for number in numbers for option in self.options[number])
            for kernel in kernels if len(numbers) > 1 else ():
                found = {number: _named(self.options[number], kernel) for number in numbers}
                yield {number: option for number, option in found.items() if option is not None}
