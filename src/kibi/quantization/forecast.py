"""Foretells what mixtures of types take, from the models of a search that were measured."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kibi.quantization.calibration import Values
from kibi.quantization.report import LIMIT_WORDS

_RIDGE = 1e-6
"""Among the sums that agree with what was measured, those that split code evenly are taken."""
Levels = tuple[int, ...]
"""The place of each unit's type in the table of precisions."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What mixtures take: the shares of their units, the code of each kind of operator and type, and conversions.

    Shares are known, and the rest is fitted by least squares to the models that were measured: code is shared by the units of a
    kind and a type, conversions take code and instructions for each element. RAM is foretold likewise, roughly.

    Attributes:
        kinds: the number of the kind of each unit.
        depth: the number of types.
        share: what a unit takes of a cost, with a type: its arguments are the unit, the place of the type, the cost's name.
        border: the elements that pass from a unit to one of another type.
        weights: by the name of the cost, the factors that were fitted.
    """

    kinds: tuple[int, ...]
    depth: int
    share: Callable[[int, int, str], int]
    border: Callable[[Levels], int]
    weights: Mapping[str, Values]

    @staticmethod
    def of(
        kinds: Sequence[int],
        depth: int,
        share: Callable[[int, int, str], int],
        border: Callable[[Levels], int],
        measured: Mapping[Levels, Mapping[str, int]],
    ) -> "Forecast":
        """A forecast from models that were measured.

        Args:
            kinds: see the attributes.
            depth: see there.
            share: see there.
            border: see there.
            measured: for the types of each model its costs by their names.
        """
        bare = Forecast(tuple(kinds), depth, share, border, {})
        rows = np.array([bare._features(levels) for levels in measured])
        square = rows.T @ rows + _RIDGE * np.eye(rows.shape[1])
        weights = {}
        for name in LIMIT_WORDS:
            rest = np.array([costs[name] - bare._known(levels, name) for levels, costs in measured.items()], np.float64)
            weights[name] = np.linalg.solve(square, rows.T @ rest)
        return Forecast(bare.kinds, depth, share, border, weights)

    def cost(self, levels: Levels, name: str) -> float:
        """What a model with these types probably takes."""
        return self._known(levels, name) + float(self._features(levels) @ self.weights[name])

    def _known(self, levels: Levels, name: str) -> int:
        shares = [self.share(unit, level, name) for unit, level in enumerate(levels)]
        return max(shares, default=0) if name == "ram_bytes" else sum(shares)

    def _features(self, levels: Levels) -> Values:
        """One, which kinds have which types, whether there are conversions, and thousands of elements that are converted."""
        used = np.zeros((max(self.kinds) + 1, self.depth))
        used[self.kinds, levels] = 1
        border = self.border(levels)
        found: Values = np.array([1.0, *used.ravel(), float(border > 0), border / 1000])
        return found
