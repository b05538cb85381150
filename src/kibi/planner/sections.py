"""Placement problems with time reduced to the moments that matter."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kibi.planner.plan import Buffer


@dataclass(frozen=True)
class Instance:
    """Buffers to place, one entry in each sequence for each.

    A section is a set of buffers that live together and that is part of no larger such set. Two buffers live together
    at some step if and only if they share a section, so steps can be forgotten.

    Attributes:
        sizes: bytes, each at least 1.
        alignments: what the offset must be a multiple of.
        first, last: the sections that the buffer lives in, half-open; never empty.
        sections: number of sections.
    """

    sizes: tuple[int, ...]
    alignments: tuple[int, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]
    sections: int

    @cached_property
    def live_bytes(self) -> NDArray[np.int64]:
        """Bytes of the buffers of each section: `[sections]`."""
        return self.summed(self.sizes)

    @cached_property
    def lower_bound_bytes(self) -> int:
        """No placement has a lower peak.

        At least the bytes of the fullest section. Besides, buffers that are all aligned to `a` start at multiples of
        `a`, so from one to the next above it there is a multiple of `a` bytes.
        """
        bound = int(self.live_bytes.max(initial=0))
        for alignment in set(self.alignments) - {1}:
            aligned = [each % alignment == 0 for each in self.alignments]
            slack = [-size % alignment for size in self.sizes]
            pairs = list(zip(aligned, self.sizes, slack, strict=True))
            rounded = self.summed([size + unused if counts else 0 for counts, size, unused in pairs])
            largest = np.zeros(self.sections, np.int64)
            for value in sorted({unused for counts, _, unused in pairs if counts}):
                present = self.summed([int(counts and unused == value) for counts, _, unused in pairs]) > 0
                largest[present] = value
            bound = max(bound, int((rounded - largest).max(initial=0)))
        return bound

    def summed(self, weights: Sequence[int]) -> NDArray[np.int64]:
        """For each section the sum of its buffers' weights: `[sections]`."""
        change = np.zeros(self.sections + 1, np.int64)
        np.add.at(change, np.array(self.first, np.intp), np.array(weights, np.int64))
        np.subtract.at(change, np.array(self.last, np.intp), np.array(weights, np.int64))
        return np.cumsum(change)[:-1]

    def peak_bytes(self, offsets: Sequence[int]) -> int:
        """One behind the last byte that these offsets use."""
        return max((offset + size for offset, size in zip(offsets, self.sizes, strict=True)), default=0)

    @staticmethod
    def of(buffers: Sequence[Buffer]) -> "Instance":
        """The instance of buffers that are not empty and live for at least one step."""
        first, last = [0] * len(buffers), [0] * len(buffers)
        starts = [(buffer.start, 1, index) for index, buffer in enumerate(buffers)]
        ends = [(buffer.end, 0, index) for index, buffer in enumerate(buffers)]
        section, grown = 0, False
        for _, is_start, index in sorted(starts + ends):  # at equal steps ends come first: lifetimes are half-open
            if is_start:
                first[index], grown = section, True
            else:
                # The live set is about to shrink; where it grew since it last shrank, it is a largest one.
                section, grown = section + grown, False
                last[index] = section
        sizes = tuple(buffer.size_bytes for buffer in buffers)
        alignments = tuple(buffer.alignment for buffer in buffers)
        return Instance(sizes, alignments, tuple(first), tuple(last), section)
