"""Parameters of the kernels that multiply two elements in the halves of a word at once, on cores that multiply one pair a time."""

from types import MappingProxyType

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import array, number
from kibi.kernels.params.geometry import NarrowWindowsParams, VectorsParams

_REST = "(output_width - output_width // pixels * pixels)"
"""Pixels after whole blocks."""


class Conv2DHalvesParams(NarrowWindowsParams, kernels=("kibi_conv2d_s8_halves",), pointers_first=True):
    """CONV_2D of s8 in blocks of two channels and up to six pixels."""

    filter: Array = array(
        DType.S8,
        "[pairs of channels][groups of four elements of a window][4][2]: both channels' weights side by side; zeros follow a "
        "window's last element, and fill the channel after an odd last one",
    )
    breaks: Array = array(
        DType.S32,
        "[pairs of channels][words for a bit for each group, from the highest one on]: 1 where a group's sums of four products may "
        "not fit 16 bits; those of its first two and of its last two products do",
    )
    bias: Array = array(
        DType.S32, "[whole pairs of channels], which includes -input_zero_point * the sum of the channel's filter"
    )
    multiplier: Array = array(DType.S32, "[output_channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[output_channels], -31 … 30")
    padding: Array = array(DType.S8, "[input_channels], the input's zero point")
    pixels: int = number(DType.S16, "of a block: at most 6")
    taps: int = number(
        DType.S16,
        "of a window that are multiplied at once: all; or some, where the number of input channels is a multiple of four: then "
        "sums are kept",
    )
    # No remainder is negative. `min(1, all - taps)` is 1 where sums are kept, and else 0.
    contract = """
        require: 1 <= min(pixels, taps)
        require: pixels <= 6
        require: taps <= kernel_rows * kernel_width
        require: (kernel_rows * kernel_width - taps) * (input_channels % 4) <= 0
        array filter: ceil(output_channels, 2) * ceil(kernel_rows * kernel_width * input_channels, 4) * 8
        array breaks: ceil(output_channels, 2) * ceil(kernel_rows * kernel_width * input_channels, 128)
        array bias: ceil(output_channels, 2) * 2
        input: kernel_rows x input_width * input_channels
        scratch: ceil(pixels, 2) * 16 * (ceil(taps * input_channels, 4) + \
            min(1, kernel_rows * kernel_width - taps) * ceil(output_channels, 2)) aligned 4
    """
    parts = MappingProxyType(
        {
            f"KIBI_HALVES_OF_{size}": tuple(f"1 <= ({each} - {size}) * ({each} - {size})" for each in ("pixels", _REST))
            for size in range(1, 7)
        }
        | {
            "KIBI_HALVES_OF_RELU": ("activation_min < output_zero_point",),
            "KIBI_HALVES_OF_SIGNS": ("output_zero_point <= activation_min",),
        }
    )


class FullyConnectedHalvesParams(VectorsParams, kernels=("kibi_fully_connected_s8_halves",), pointers_first=True):
    """FULLY_CONNECTED of s8, eight output channels at once."""

    filter: Array = array(
        DType.S32,
        "[blocks of eight channels][elements][2]: 128 more than the weights of four channels in the bytes of a word, from the "
        "lowest one on. Zeros are the weights of channels after the last one",
        is_packed=True,
    )
    breaks: Array = array(
        DType.S32,
        "[blocks of eight channels][numbers, and words for a bit for each element, from the highest one on]: a bit is 1 where sums "
        "of products end. They end with a vector in any case. From one end to the next, sums fit 16 bits. The first number says "
        "how much elements that are 128 higher may be together so that their sums fit, the second one how often sums end by the "
        "bits; then follow biases for such elements",
    )
    bias: Array = array(DType.S32, "[whole blocks], which includes -input zero point * the sum of the channel's filter")
    multiplier: Array = array(DType.S32, "[output_channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[output_channels], -31 … 30")
    piece: int = number(DType.S32, "neighbouring elements of a vector that are read at once")
    numbers: int = number(DType.S32, "of a block, before its bits: 10 if vectors are weighed first, and else 0")
    contract = """
        require: numbers * (10 - numbers) == 0
        array filter: ceil(output_channels, 8) * piece * pieces * 2
        array breaks: ceil(output_channels, 8) * (numbers + ceil(piece * pieces, 32))
        array bias: ceil(output_channels, 8) * 8
    """
    parts = MappingProxyType({"KIBI_HALVES_OF_ZEROS": ("numbers <= 0",)})
