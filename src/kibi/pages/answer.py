"""The answer of a report: does the model fit, what it takes, and how far the plan is from the best, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kibi.ir import Graph
from kibi.pages.energy import energy_record
from kibi.pages.measured import MeasuredModel
from kibi.pages.timeline import bound_words, memory_words
from kibi.planner import Plan
from kibi.planner.placement.stacking import stacked
from kibi.printable import printable
from kibi.quantization.outlook import outlook
from kibi.reports.evaluation import Evaluation
from kibi.reports.memory_timeline import highest_stretch, holders, operator
from kibi.reports.pareto import Choice
from kibi.targets import Board

_SHOWN_HOLDERS = 3
_MINUS = "\u2212"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a device has for a model.

    Attributes:
        ram_bytes: RAM for arena, state, stack and data; None if it is not known.
        flash_bytes: flash for code and weights; None if it is not known.
    """

    ram_bytes: int | None = None
    flash_bytes: int | None = None


def answer_record(measured: MeasuredModel, limits: Limits, board: Board | None = None) -> dict[str, Any]:
    """RAM, flash and time of one inference, and whether that fits: `fits` is null where no limit was given.

    `missing` lists, for each limit that is exceeded, its name and the bytes that are missing. `milliseconds` is an estimate at
    `clock_hz`, null where no table of cycles is published for the core, and `energy` one for the board. `waits` says which of
    the cycles the core waits for its flash, and is null where a flash without wait states was assumed. `tflm_arena_bytes` are
    those that TFLM's build on this machine uses of its own arena, where it ran the model.
    """
    found, target = measured.measurement, measured.target
    given = (("RAM", found.ram_bytes, limits.ram_bytes), ("flash", found.flash_bytes, limits.flash_bytes))
    known = [(name, used, limit) for name, used, limit in given if limit is not None]
    cycles = found.cycles_estimate
    return {
        "ram_bytes": found.ram_bytes,
        "arena_bytes": found.arena_bytes,
        "state_bytes": found.state_bytes,
        "stack_bytes": found.stack_bytes,
        "data_bytes": found.ram_bytes - found.arena_bytes - found.state_bytes - found.stack_bytes,
        "flash_bytes": found.flash_bytes,
        "code_bytes": found.code_bytes,
        "plan_table_bytes": found.plan_table_bytes,
        "weights_bytes": found.weights_bytes,
        "macs": found.macs,
        "instructions": found.instructions,
        "cycles_estimate": cycles,
        "clock_hz": target.clock_hz,
        "waits": None if found.waits is None else asdict(found.waits),
        "milliseconds": cycles / target.clock_hz * 1000 if cycles is not None and target.clock_hz else None,
        "energy": energy_record(measured, board),
        "varies_with_inputs": found.varies_with_inputs,
        "same_bits": ["device", "Python", *(["TFLM"] if found.oracle else [])],
        "tflm_arena_bytes": measured.tflm_arena_bytes,
        "oracle_failure": None if found.oracle_failure is None else printable(found.oracle_failure),
        "not_executed": [printable(each) for each in found.not_executed],
        "limits": {"ram_bytes": limits.ram_bytes, "flash_bytes": limits.flash_bytes},
        "fits": all(used <= limit for _, used, limit in known) if known else None,
        "missing": [{"what": name, "bytes": used - limit} for name, used, limit in known if used > limit],
        "proof": memory_words(measured.planned.plan),
        "bounds": list(bound_words(measured.planned.plan)),
    }


def peak_words(graph: Graph, plan: Plan) -> str:
    """Explains in a sentence the first step at which the most bytes live; empty for a plan without steps."""
    highest = highest_stretch(stacked(plan))
    if highest is None:
        return ""
    held = holders(highest)
    names = [f"{_name(graph, tensor)} {size:,}" for tensor, size in held[:_SHOWN_HOLDERS]]
    rest = sum(size for _, size in held[_SHOWN_HOLDERS:])
    names += [f"{len(held) - _SHOWN_HOLDERS} others {rest:,}"] if rest else []
    shared = f"; {highest.shared_bytes:,} of these are counted once, made in place" if highest.shared_bytes else ""
    where = printable(operator(graph, highest.node))
    return f"{highest.live_bytes:,} bytes live at once, first while operator {where} runs: {', '.join(names)}{shared}."


def accuracy_words(found: Evaluation) -> str:
    """Says how good the answers on a data set were, and how near to those of a reference; empty without labels and reference."""
    return " ".join(each for each in (_rightness_words(found), _nearness_words(found)) if each)


def _nearness_words(found: Evaluation) -> str:
    if found.comparison is None:
        return ""
    same = found.comparison.same_answer
    answers = "" if same is None else f", the same answer for {same:.2%} of the inputs"
    return f"Beside {printable(found.comparison.reference)}: RMSE {found.comparison.rmse:.4g}{answers}."


def _rightness_words(found: Evaluation) -> str:
    what = f"on {found.inputs:,} inputs of {printable(found.data)}"
    if found.classification is not None and found.classification.accuracy is not None:
        classes = found.classification
        return f"Accuracy {classes.accuracy:.2%}: {classes.right:,} of {classes.labelled:,} answers are right, {what}."
    if found.detection is not None and found.detection.auc is not None:
        return f"Area under the curve {found.detection.auc:.4f}, by the score {found.detection.score!r}, {what}."
    return ""


def advice(measured: MeasuredModel, choices: Sequence[Choice]) -> tuple[str, ...]:
    """What would make the model smaller: of measured choices those with the least RAM and flash; none where nothing is known."""
    found = measured.measurement
    best = {min(choices, key=by): None for by in (_by_ram, _by_flash)} if choices else {}
    sentences = [_of_choice(choice, found.ram_bytes, found.flash_bytes, found.instructions) for choice in best]
    graph = measured.simplified.graph
    quantized = None if graph.path is None else outlook(graph.path, graph, measured.target)
    if quantized is not None:
        ram = "" if quantized.ram_bytes is None else f"about {quantized.ram_bytes:,} bytes of RAM and "
        sentences.append(f"As int8, it would take {ram}{quantized.weights_bytes:,} bytes of weights: kibi quantize.")
    return tuple(each for each in sentences if each)


def _by_ram(choice: Choice) -> tuple[int, int, int]:
    return choice.ram_bytes, choice.flash_bytes, choice.instructions


def _by_flash(choice: Choice) -> tuple[int, int, int]:
    return choice.flash_bytes, choice.ram_bytes, choice.instructions


def _of_choice(choice: Choice, ram_bytes: int, flash_bytes: int, instructions: int) -> str:
    """Says what another way of planning saves; empty where it saves neither RAM nor flash."""
    if choice.ram_bytes >= ram_bytes and choice.flash_bytes >= flash_bytes:
        return ""
    parts = (
        ("bytes of RAM", choice.ram_bytes - ram_bytes),
        ("bytes of flash", choice.flash_bytes - flash_bytes),
        ("instructions", choice.instructions - instructions),
    )
    changes = [f"{change:+,}".replace("-", _MINUS) + f" {what}" for what, change in parts if change]
    kind = "Less RAM" if choice.ram_bytes < ram_bytes else "Less flash"
    return f"{kind}, planned {choice.variant}: {', '.join(changes)}."


def _name(graph: Graph, tensor: int | None) -> str:
    return "scratch" if tensor is None else printable(graph.tensors[tensor].name).split(";")[0]


def totals(answer: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """The figures of an answer that two models are compared by, each with its name and unit."""
    return (
        ("RAM, bytes", answer["ram_bytes"]),
        ("arena, bytes", answer["arena_bytes"]),
        ("stack, bytes", answer["stack_bytes"]),
        ("flash, bytes", answer["flash_bytes"]),
        ("code, bytes", answer["code_bytes"]),
        ("weights, bytes", answer["weights_bytes"]),
        ("MACs", answer["macs"]),
        ("instructions", answer["instructions"]),
    )
