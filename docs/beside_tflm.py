"""Kibi beside TensorFlow Lite Micro, from the records of `benchmarks`: the chart of the README, and a table for RISC-V."""  # noqa: INP001

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from kibi.reports.memory_shapes import INK, QUIET, Box, document, line
from kibi.text.markup import Markup, attributes, element_text, markup

_BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
_MODELS = {
    "mlperf_kws_int8": ("Keyword spotting", "MLPerf Tiny, DS-CNN"),
    "mlperf_vww_int8": ("Visual wake words", "MLPerf Tiny, MobileNet"),
    "mlperf_ic_int8": ("Image classification", "MLPerf Tiny, ResNet-8"),
    "mlperf_ad_int8": ("Anomaly detection", "MLPerf Tiny, autoencoder"),
    "mlperf_sww_int8": ("Streaming wake word", "MLPerf Tiny, 1D DS-CNN"),
    "tflm_person_detect": ("Person detection", "TFLM's example, MobileNet"),
    "tflm_micro_speech": ("Micro speech", "TFLM's example, one convolution"),
}
"""The models that are shown, with a title and what they are."""
_QUANTITIES = ("RAM", "instructions", "flash")
_KIBI, _TFLM, _GRID = "#00796b", "#c9ced6", "#eceef2"
_MARGIN, _FIRST_COLUMN, _COLUMN, _ROW, _HEAD = 30.0, 252.0, 232.0, 50.0, 128.0
_TIMES = "\N{MULTIPLICATION SIGN}"
_TRACK, _BAR, _FACTOR = 160.0, 12.0, 206.0
"""A column's bar, and the right end of its factors."""
_WIDTH = _FIRST_COLUMN + 2 * _COLUMN + _FACTOR + _MARGIN


@dataclass(frozen=True, slots=True)
class Pair:
    """A quantity of a model, by Kibi and by TFLM."""

    kibi: int
    tflm: int

    @property
    def factor(self) -> float:
        """How many times less Kibi takes."""
        return self.tflm / self.kibi


@cache
def _records() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Kibi's record and TFLM's figures."""
    counts, figures = (
        json.loads((_BENCHMARKS / name).read_text(encoding="utf-8")) for name in ("counts.json", "tflm_figures.json")
    )
    return counts, figures


def pairs() -> Mapping[str, Mapping[str, Pair]]:
    """Returns for each model its RAM and flash in bytes, and its instructions of one inference."""
    counts, figures = _records()
    found = {}
    for model in _MODELS:
        own, other = counts["counts"][f"model {model}"], figures["models"][model]
        found[model] = {
            "RAM": Pair(own["ram_bytes"], other["arena_bytes"] + other["stack_bytes"]),
            "instructions": Pair(own["instructions"], other["instructions"]),
            "flash": Pair(own["flash_bytes"], other["code_bytes"] + other["model_bytes"]),
        }
    return found


def _mean(quantity: str) -> float:
    """Returns the geometric mean of a quantity's factors."""
    factors = [each[quantity].factor for each in pairs().values()]
    return prod(factors) ** (1 / len(factors))


def beside_sentence() -> str:
    """Returns the chart with what it says in words, and how both sides were counted."""
    counts, figures = _records()
    ram, instructions, flash = (f"{_mean(quantity):.1f}" for quantity in _QUANTITIES)
    return (
        f"![Kibi beside TFLM with CMSIS-NN: {ram} times less RAM, {instructions} times fewer instructions, {flash} times less "
        "flash](docs/images/beside_tflm.svg)\n\n"
        "Both sides give the same bits, and are counted by one rule: the instructions of one inference on an emulated Cortex-M4, \n"
        "without wait states; RAM is the smallest arena, the state and the deepest stack; flash is code and weights, for TFLM the\n"
        f"model file, with int8 kernels alone. Kibi is compiled by ziglang {counts['tools']['ziglang']} at `-Os`, "
        f"TFLM {figures['tflm']} by {figures['compiler'].partition(',')[0]}, its\n"
        "kernels at `-O2`. [TFLM's figures](benchmarks/tflm_figures.json), [Kibi's](benchmarks/counts.json).\n"
    ).replace(" \n", "\n")


def riscv_table() -> str:
    """Returns a table of instructions on RISC-V: TFLM's reference kernels beside Kibi's, and how both were counted."""
    costs, figures = (
        json.loads((_BENCHMARKS / name).read_text(encoding="utf-8")) for name in ("targets.json", "tflm_riscv.json")
    )
    zig = costs["tools"]["ziglang"]
    rows = ["| model | TFLM at `-Os` | TFLM, kernels at `-O2` | Kibi at `-Os` | times fewer |", f"|---|{'---:|' * 4}"]
    for model, other in figures["models"].items():
        own = costs["costs"][model]["rv32imc"]["instructions"]
        pair = Pair(own, min(other["instructions"], other["instructions_o2"]))
        rows.append(
            f"| `{model}` | {other['instructions']:,} | {other['instructions_o2']:,} | {own:,} | {pair.factor:.1f} |"
        )
    return "\n".join(
        [
            *rows,
            "",
            f"Both are compiled for `rv32imc` by ziglang {zig}. TFLM is {figures['tflm'][:8]}. Inputs are the same,",
            "and so are outputs, bit for bit. The last column takes the fewer ones of TFLM's.",
            "[The record](../benchmarks/tflm_riscv.json) says how TFLM was built and counted.",
            "",
        ]
    )


def beside_picture() -> str:
    """Returns the picture: a row for each model, and in each of three columns Kibi's share of what TFLM takes."""
    lines = [
        _text(_MARGIN, 41, "Kibi beside TensorFlow Lite Micro with CMSIS-NN", 19, bold=True),
        _text(_MARGIN, 62, "The same models and the same bits, on a Cortex-M4", 13, color=QUIET),
        *_legend(),
    ]
    for column, quantity in enumerate(_QUANTITIES):
        left = _FIRST_COLUMN + _COLUMN * column
        title = {"RAM": "RAM, bytes", "instructions": "Instructions", "flash": "Flash, bytes"}[quantity]
        mean = f"{_mean(quantity):.1f}{_TIMES}"
        lines.append(_text(left, _HEAD - 14, title, 14, bold=True))
        lines.append(_text(left + _FACTOR, _HEAD - 14, mean, 17, bold=True, color=_KIBI, anchor="end"))
    for row, (model, values) in enumerate(pairs().items()):
        lines += _drawn_row(_HEAD + _ROW * row, model, values)
    bottom = _HEAD + _ROW * len(_MODELS)
    lines.append(line((_MARGIN, bottom), (_WIDTH - _MARGIN, bottom), _GRID))
    lines += [_text(_MARGIN, bottom + 25 + 18 * number, text, 12, color=QUIET) for number, text in enumerate(_notes())]
    title = "Kibi beside TensorFlow Lite Micro with CMSIS-NN: RAM, instructions and flash"
    return document(_WIDTH, bottom + 64, title, lines)


def _text(
    x: float, y: float, text: str, size: int, *, bold: bool = False, color: str = INK, anchor: str = "start"
) -> Markup:
    """Text on a base line, anchored at `x`."""
    style = f"font-size:{size}px;fill:{color};font-weight:{'600' if bold else '400'}"
    return markup(
        "<text $style>$text</text>",
        style=attributes(x=f"{x:.1f}", y=f"{y:.1f}", style=style, text_anchor=anchor),
        text=element_text(text),
    )


def _legend() -> list[Markup]:
    """The two colours, at the right of the title."""
    left = _FIRST_COLUMN + _COLUMN * 2
    return [
        Box(left, 30, left + 22, 42).draw(fill=_KIBI, rx="3"),
        _text(left + 30, 41, "Kibi", 13),
        Box(left, 51, left + 22, 63).draw(fill=_TFLM, rx="3"),
        _text(left + 30, 62, "TFLM with CMSIS-NN", 13),
    ]


def _drawn_row(top: float, model: str, values: Mapping[str, Pair]) -> list[Markup]:
    title, what = _MODELS[model]
    lines = [
        line((_MARGIN, top), (_WIDTH - _MARGIN, top), _GRID),
        _text(_MARGIN, top + 22, title, 14),
        _text(_MARGIN, top + 39, what, 12, color=QUIET),
    ]
    for column, quantity in enumerate(_QUANTITIES):
        pair, left = values[quantity], _FIRST_COLUMN + _COLUMN * column
        track = Box(left, top + 11, left + _TRACK, top + 11 + _BAR)
        share = Box(left, track.top, left + _TRACK * pair.kibi / pair.tflm, track.bottom)
        tooltip = f"{title}, {quantity}: {pair.kibi:,} by Kibi, {pair.tflm:,} by TFLM"
        lines += [
            track.draw(tooltip, fill=_TFLM, rx="3"),
            share.draw(tooltip, fill=_KIBI, rx="3"),
            _text(left, top + 39, f"{pair.kibi:,}", 12),
            _text(track.right, top + 39, f"{pair.tflm:,}", 12, color=QUIET, anchor="end"),
            _text(left + _FACTOR, top + 22, f"{pair.factor:.1f}{_TIMES}", 14, bold=True, anchor="end"),
        ]
    return lines


def _notes() -> tuple[str, str]:
    counts, figures = _records()
    compiler = figures["compiler"].partition(",")[0]
    tools = f"Kibi: ziglang {counts['tools']['ziglang']}. TFLM {figures['tflm']}, CMSIS-NN {figures['cmsis_nn']}: {compiler}."
    return (
        "A whole bar is what TFLM takes, and green is Kibi's part of it. At the top are geometric means. One inference,",
        f"counted on an emulated core without wait states, for both. {tools}",
    )
