"""What tests of sweeps have: small models and rows; workers can import it."""

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.sweeps.rows import Costs, Outcome, Row, Status
from kibi.sweeps.settings import Setting


def small_model(length: int) -> bytes:
    """A `.tflite` file with one operator on that many elements."""
    builder = ModelBuilder()
    x = builder.input([1, length], DType.S8, scale=0.5, zero_point=-1)
    y = builder.tensor([1, length], DType.S8, scale=0.5, zero_point=-1)
    builder.operator("RELU", [x], [y])
    return builder.finish(outputs=[y])


def unsupported_model() -> bytes:
    """A `.tflite` file with an operator that is not supported."""
    builder = ModelBuilder()
    x = builder.input([1, 4], DType.S8, scale=0.5, zero_point=-1)
    y = builder.tensor([1, 4], DType.S8, scale=0.5, zero_point=-1)
    builder.operator("CUSTOM", [x], [y], custom_code="nobody_knows_it")
    return builder.finish(outputs=[y])


def row(name: str, ram: int, flash: int, instructions: int, *, target: str = "cortex-m4", **figures: float) -> Row:
    """A measured row with these costs."""
    costs = Costs(10, ram - 50, 0, 50, ram, flash - 10, 0, 10, flash, instructions, None)
    outcome = Outcome(Status.MEASURED, costs=costs, figures=tuple(sorted(figures.items())))
    return Row(name, "0" * 64, (("width", 8),), Setting(target), f"key of {name}", outcome)
