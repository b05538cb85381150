"""Spatial axes under windows, as they are drawn."""

from dataclasses import dataclass

from tests.support.choices import Choices


@dataclass(frozen=True, slots=True)
class Axis:
    """One spatial axis under a window."""

    size: int
    kernel: int
    stride: int
    dilation: int
    output: int

    @staticmethod
    def of(c: Choices, padding: str, *, dilates: bool, size: int | None = None) -> "Axis":
        """Any kernel, stride and dilation that give an output of at least one element."""
        kernel, stride = c.integer(1, 5), c.integer(1, 3)
        dilation = c.integer(1, 3) if dilates else 1
        window = (kernel - 1) * dilation + 1
        if size is None:
            # Often as long as the window, so that the output has one element along this axis.
            size = c.one_of((c.integer(1, 9), window))
        if padding == "VALID" and size < window:
            kernel, dilation, window = 1, 1, 1
        last = size - 1 if padding == "SAME" else size - window
        return Axis(size, kernel, stride, dilation, last // stride + 1)

    @staticmethod
    def covered(c: Choices, padding: str, least: int = 2) -> "Axis":
        """All of the axis, of at least so many elements, under one window, which leaves it on both sides where it is padded."""
        size = c.integer(least, least + 7)
        return Axis(size, size if padding == "VALID" else size + c.integer(0, 3), size, 1, 1)


def window(c: Choices, *, dilates: bool) -> tuple[str, Axis, Axis]:
    """A padding scheme and the two spatial axes; now and then an input one high or one wide."""
    padding = c.one_of(("SAME", "VALID"))
    height, width = c.one_of(((None, None), (None, None), (1, None), (None, 1)))
    return (
        padding,
        Axis.of(c, padding, dilates=dilates, size=height),
        Axis.of(c, padding, dilates=dilates, size=width),
    )
