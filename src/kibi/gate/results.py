"""What a check found: figures beside budgets and the baseline, and the layers that are the cause. Plain records."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from kibi.gate.figures import KINDS, Kind
from kibi.version import SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of a measured model.

    Attributes:
        name: of its output tensor.
        op: its operator.
        kernel: the C function that computes it, or empty.
        instructions: of one inference.
        constant_bytes: its weights and tables in flash.
        scratch_bytes: its scratch in the arena.
    """

    name: str
    op: str
    kernel: str
    instructions: int
    constant_bytes: int
    scratch_bytes: int


@dataclass(frozen=True, slots=True)
class Measured:
    """All that is known of a model in one place; the baseline keeps it.

    Attributes:
        model, place: their names.
        model_sha256: the digest of the model's file.
        tools: the versions of Kibi and of the compiler.
        options: how it was planned and compiled.
        figures: values by the names of figures, in the order of `KINDS`.
        parts: what flash and RAM consist of: names and bytes.
        layers: the layers, in the order of the model.
        peak: who holds bytes of the arena at the fullest step: names and bytes.
    """

    model: str
    place: str
    model_sha256: str
    tools: str
    options: str
    figures: tuple[tuple[str, float], ...]
    parts: tuple[tuple[str, int], ...]
    layers: tuple[Layer, ...]
    peak: tuple[tuple[str, int], ...]


class Verdict(StrEnum):
    """What is said of one figure."""

    HOLDS = "holds"
    OVER = "over budget"
    GREW = "worse than recorded"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of one model in one place.

    Attributes:
        kind: which.
        value: as measured.
        limit: its budget, or None.
        limit_source: `budget`, or `board's memory`.
        recorded: the value in the baseline, or None.
        allowed: the worst that the baseline allows, or None.
        note: more to say, such as engines that were compared; or empty.
    """

    kind: Kind
    value: float
    limit: float | None = None
    limit_source: str = "budget"
    recorded: float | None = None
    allowed: float | None = None
    note: str = ""

    @property
    def verdict(self) -> Verdict:
        """Whether it holds; a broken budget counts before growth."""
        if self.limit is not None and self._is_worse(self.limit):
            return Verdict.OVER
        return Verdict.GREW if self.allowed is not None and self._is_worse(self.allowed) else Verdict.HOLDS

    def _is_worse(self, than: float) -> bool:
        return self.value < than if self.kind.is_floor else self.value > than

    @property
    def change(self) -> float | None:
        """The difference to the baseline; None without one."""
        return None if self.recorded is None else self.value - self.recorded

    @property
    def change_text(self) -> str:
        """The difference to the baseline in words; empty without a baseline, or if nothing changed."""
        if not self.change or self.recorded is None or self.kind.unit == "bits":
            return ""
        if self.kind.unit == "part":
            return f"{self.change * 100:+.6g} points"
        share = f" ({self.change / self.recorded:+.2%})" if self.recorded else ""
        return f"{self.change:+,.0f}{share}"

    @property
    def reason(self) -> str:
        """Why it does not hold, in one sentence; empty if it does."""
        kind, value = self.kind, self.kind.text(self.value)
        verdict = self.verdict
        if verdict is Verdict.HOLDS:
            return ""
        note = f": {self.note}" if self.note else ""
        if kind.unit == "bits":
            return f"bits are {value}{note}"
        side = "below" if kind.is_floor else "over"
        if verdict is Verdict.OVER:
            than, what = self.limit or 0.0, f"the {self.limit_source} of {kind.text(self.limit or 0.0)}"
        else:
            than = self.recorded or 0.0
            what = f"the recorded {kind.text(than)}, where {kind.text(self.allowed or 0.0)} is allowed"
        off = abs(self.value - than)
        unit = "" if kind.unit == "part" else f" {kind.unit.removesuffix('s') if off == 1 else kind.unit}"
        return f"{kind.label} {value} is {kind.text(off)}{unit} {side} {what}{note}"

    def to_dict(self) -> dict[str, Any]:
        """Returns the facts as plain data, for JSON."""
        return {
            "name": self.kind.name,
            "value": self.value if self.kind.unit == "part" else int(self.value),
            "limit": self.limit,
            "limit_source": self.limit_source if self.limit is not None else None,
            "recorded": self.recorded,
            "allowed": self.allowed,
            "verdict": str(self.verdict),
            "reason": self.reason,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class Cause:
    """A layer, or a holder of the arena's bytes, that explains why a figure is what it is.

    Attributes:
        figure: the name of the figure.
        what: what is counted, such as `instructions`.
        name: of the layer or the holder.
        op: its operator, or empty.
        before: the recorded count; None if there was none, or if there is no baseline.
        after: the count now; None if it is gone.
        note: such as the change of its kernel; or empty.
    """

    figure: str
    what: str
    name: str
    op: str
    before: int | None
    after: int | None
    note: str = ""

    @property
    def text(self) -> str:
        """The counts, and the difference."""
        note = f"; {self.note}" if self.note else ""
        if self.before is None or self.after is None:
            count = self.after if self.before is None else self.before
            gone = " (gone)" if self.after is None else ""
            return f"{count:,} {self.what}{gone}{note}"
        return f"{self.before:,} to {self.after:,} {self.what} ({self.after - self.before:+,}){note}"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why nothing is known of a model in a place.

    Attributes:
        kind: the class of the error.
        text: what it says.
        exit_code: of its family.
    """

    kind: str
    text: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class Result:
    """What was found of one model in one place.

    Attributes:
        model, place: their names.
        file: the model's path, as kibi.toml has it.
        line: the line of kibi.toml at which the model begins.
        figures: what was measured beside its limits; empty after a failure.
        causes: for each figure that does not hold, the layers that explain it.
        remarks: what else to know.
        failure: why there are no figures, or None.
        measured: what a baseline would record; None after a failure.
    """

    model: str
    place: str
    file: str
    line: int
    figures: tuple[Figure, ...] = ()
    causes: tuple[Cause, ...] = ()
    remarks: tuple[str, ...] = ()
    failure: Failure | None = None
    measured: Measured | None = None

    @property
    def title(self) -> str:
        """The model and the place."""
        return f"{self.model} on {self.place}"

    @property
    def broken(self) -> tuple[Figure, ...]:
        """The figures that do not hold."""
        return tuple(figure for figure in self.figures if figure.verdict is not Verdict.HOLDS)

    def causes_of(self, figure: Figure) -> tuple[Cause, ...]:
        """The causes of one figure."""
        return tuple(cause for cause in self.causes if cause.figure == figure.kind.name)

    def to_dict(self) -> dict[str, Any]:
        """Returns the facts as plain data, for JSON."""
        return {
            "model": self.model,
            "place": self.place,
            "file": self.file,
            "line": self.line,
            "model_sha256": None if self.measured is None else self.measured.model_sha256,
            "tools": None if self.measured is None else self.measured.tools,
            "options": None if self.measured is None else self.measured.options,
            "figures": [figure.to_dict() for figure in self.figures],
            "layers": [] if self.measured is None else [asdict(each) for each in self.measured.layers],
            "causes": [asdict(each) for each in self.causes],
            "remarks": list(self.remarks),
            "failure": None if self.failure is None else asdict(self.failure),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """All that a check found.

    Attributes:
        spec: the path of kibi.toml, as it was given.
        version: of Kibi.
        results: for each model in each place.
        remarks: what concerns all of them.
    """

    spec: str
    version: str
    results: tuple[Result, ...]
    remarks: tuple[str, ...] = ()

    @property
    def broken(self) -> int:
        """How many figures do not hold."""
        return sum(len(result.broken) for result in self.results)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Why there are no figures, for each model and place without."""
        return tuple(result.failure for result in self.results if result.failure is not None)

    @property
    def holds(self) -> bool:
        """True if every model was measured, and every figure holds."""
        return not self.broken and not self.failures

    @property
    def summary(self) -> str:
        """The counts in one sentence."""
        checked = sum(
            figure.limit is not None or figure.allowed is not None for each in self.results for figure in each.figures
        )
        parts = [f"{checked:,} figure{'' if checked == 1 else 's'} checked"]
        counts = [
            (verdict, sum(f.verdict is verdict for each in self.results for f in each.figures)) for verdict in Verdict
        ]
        parts += [f"{count:,} {verdict}" for verdict, count in counts if count and verdict is not Verdict.HOLDS]
        parts += [f"{len(self.failures):,} not measured"] if self.failures else []
        return ", ".join(parts if len(parts) > 1 else [*parts, "all hold"])

    def to_dict(self) -> dict[str, Any]:
        """Returns the facts as plain data, for JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            "kibi": self.version,
            "spec": self.spec,
            "holds": self.holds,
            "summary": self.summary,
            "results": [result.to_dict() for result in self.results],
            "remarks": list(self.remarks),
        }


def figures_of(values: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    """Names and values, in the order of `KINDS`."""
    return tuple((name, values[name]) for name in KINDS if name in values)
