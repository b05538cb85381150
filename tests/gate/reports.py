"""Reports that tests of the writers share: made by hand, so that nothing has to be measured."""

from kibi.gate.figures import KINDS
from kibi.gate.results import Cause, Failure, Figure, Layer, Measured, Report, Result

HOSTILE = "a|b`c<i>@me&\"'\x1b[31m\n::error::x"
"""A name that every format has to escape."""
LAYERS = (Layer("stem", "CONV_2D", "kibi_a", 100, 40, 8), Layer("scores", "FULLY_CONNECTED", "kibi_b", 50, 60, 0))


def measured(
    figures: dict[str, float] | None = None,
    layers: tuple[Layer, ...] = LAYERS,
    parts: dict[str, int] | None = None,
    peak: tuple[tuple[str, int], ...] = (("stem", 70), ("input", 30)),
) -> Measured:
    """What was measured of a model of two layers."""
    values = figures or {"ram": 130.0, "arena": 100.0, "stack": 30.0, "flash": 300.0, "instructions": 150.0}
    known = parts or {"code": 200, "plan tables": 0, "weights": 100, "arena": 100, "state": 0, "stack": 30}
    return Measured(
        model="m",
        place="rp2040",
        model_sha256="0" * 64,
        tools="kibi 0, zig 0",
        options="goal balanced",
        figures=tuple(values.items()),
        parts=tuple(known.items()),
        layers=layers,
        peak=peak,
    )


def report(name: str = "m") -> Report:
    """A model that holds, one that does not, and one that could not be measured."""
    fine = Figure(KINDS["ram"], 130.0, 200.0, "budget", 140.0, 141.0)
    over = Figure(KINDS["flash"], 300.0, 250.0)
    grew = Figure(KINDS["instructions"], 150.0, None, "budget", 100.0, 101.0)
    worse = Figure(KINDS["accuracy"], 0.5, 0.75)
    causes = (Cause("instructions", "instructions", name, "CONV_2D", 60, 110, "kernel kibi_b became kibi_a"),)
    return Report(
        "kibi.toml",
        "0.1.0",
        (
            Result(name, "rp2040", "m.tflite", 3, (fine,), measured=measured()),
            Result(name, "nucleo-f446re", "m.tflite", 3, (over, grew, worse), causes, ("the model's file is new",)),
            Result(
                "gone", "rp2040", "gone.tflite", 9, failure=Failure("ModelError", f"gone.tflite: {name}\nno file", 3)
            ),
        ),
        ("There is a remark.",),
    )
