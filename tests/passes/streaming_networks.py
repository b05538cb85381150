"""Drawn streaming models: rows are appended to a variable, and depthwise windows of several lengths read what it holds."""

from collections.abc import Sequence

from kibi.frontends.text import parse_text
from kibi.ir import Graph
from tests.support.choices import Choices, flip


def streaming(c: Choices) -> Graph:
    """A model with one variable, a depthwise convolution for each of two parts of its channels, and a layer that reads it whole.

    Each convolution reads the last rows, as many as its window has; one of the two may read all rows, without a slice.
    """
    kept, new = c.integer(2, 8), c.integer(1, 3)
    parts, rows = (c.integer(1, 5), c.integer(1, 5)), kept + new
    channels = sum(parts)
    taps = (rows, c.integer(max(1, rows - 2), rows))
    zero = c.integer(-5, 5)
    kind = f"(scale 0.5, zero {zero})"
    lines = [
        f'%0 "x": s8[1, {new}, 1, {channels}] {kind}',
        f'%1 "past": s8[1, {kept}, 1, {channels}] {kind} variable initial {_values(c, kept * channels)}',
        f'%2 "begin": s32[4] = [0, {new}, 0, 0]',
        f'%3 "size": s32[4] = [1, {kept}, 1, {channels}]',
        f'%4 "sizes": s32[2] = [{parts[0]}, {parts[1]}]',
        '%5 "axis": s32[1] = [3]',
    ]
    for number, (part, length) in enumerate(zip(parts, taps, strict=True)):
        lines += [
            (
                f'%{6 + number} "filter {number}": s8[1, {length}, 1, {part}] (scale {0.25 * (1 + number)}, zero 0) = '
                f"{_values(c, length * part)}"
            ),
            f'%{8 + number} "bias {number}": s32[{part}] (scale {0.125 * (1 + number)}, zero 0) = {_values(c, part)}',
            f'%{10 + number} "last {number}": s32[4] = [0, {rows - length}, 0, 0]',
            f'%{12 + number} "window {number}": s32[4] = [1, {length}, 1, {part}]',
        ]
    lines += [
        f'%14 "weights": s8[40, {rows * channels}] (scale 0.125, zero 0) = {_values(c, 40 * rows * channels)}',
        f'%15 "both": s8[1, {rows}, 1, {channels}] {kind} = CONCATENATION #0 (input0 %1, input1 %0) {{axis 1}}',
        f'%16 "next": s8[1, {kept}, 1, {channels}] {kind} updates %1 = SLICE #1 (input %15, begin %2, size %3)',
    ]
    made = []
    for number, (part, length) in enumerate(zip(parts, taps, strict=True)):
        split, sliced, summed = 17 + number, 19 + number, 21 + number
        lines.append(
            f'%{split} "part {number}": s8[1, {rows}, 1, {part}] {kind} = '
            f"SPLIT_V #2 (input %15, sizes %4, axis %5) {{part {number}, parts 2}}"
        )
        source = split
        if length < rows or flip(c):
            source = sliced
            lines.append(
                f'%{sliced} "slice {number}": s8[1, {length}, 1, {part}] {kind} = '
                f"SLICE #{3 + number} (input %{split}, begin %{10 + number}, size %{12 + number})"
            )
        else:
            lines.append(f'%{sliced} "unused {number}": s8[1, 1, 1, 1] {kind}')
        made.append(
            f'%{summed} "sums {number}": s8[1, 1, 1, {part}] (scale 16, zero 1) = '
            f"DEPTHWISE_CONV_2D #{5 + number} (input %{source}, filter %{6 + number}, bias %{8 + number})"
        )
    flat = f"s8[1, {rows * channels}] {kind}"
    lines += [
        *made,
        f'%23 "mixed": s8[1, 1, 1, {channels}] (scale 16, zero 1) = CONCATENATION #7 (input0 %21, input1 %22) {{axis 3}}',
        f'%24 "flat": {flat} = RESHAPE #8 (input %15)',
        '%25 "scores": s8[1, 40] (scale 16, zero 0) = FULLY_CONNECTED #9 (input %24, filter %14)',
    ]
    return parse_text("\n".join(['graph "streaming" from "text" (%0) -> (%23, %25) {', *lines, "}"]), "streaming")


def _values(c: Choices, count: int) -> Sequence[int]:
    return [c.integer(-20, 20) for _ in range(count)]
