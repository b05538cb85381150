"""A small network by hand: in Python, recorded, as C, and in a firmware whose memory moves under it.

    python examples/by_hand/by_hand.py build/by_hand

The network classifies a picture of 16 by 16. Its tensors share an arena of 1,920 bytes with a cache and a log of the
application. The first attempt has no room. The program hears of it, gives the cache up, and tries again; the arena then moves
the log, and half-made results, to make room. `firmware.c` does the same in C, with the same bits, the same events and the same
addresses.
"""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import kibi
from kibi import ops
from kibi.dtypes import DType
from kibi.eager import Program, record
from kibi.eager.context import Context
from kibi.eager.handlers import ErrorHandler
from kibi.eager.memory import HandleArena
from kibi.eager.operators import bind
from kibi.eager.tensors import BufferTensor, RamTensor, RomTensor
from kibi.errors import EventError
from kibi.ir import Quantization, TensorType

RAM_BYTES, CACHE_BYTES, LOG_BYTES = 1920, 512, 256
IMAGE = TensorType((1, 16, 16, 1), DType.S8, Quantization((1 / 128,), (0,)))
SCORES = TensorType((1, 10), DType.S8, Quantization((1 / 256,), (-128,)))


def _made(shape: tuple[int, ...], scale: float) -> TensorType:
    return TensorType(shape, DType.S8, Quantization((float(np.float32(scale)),), (0,)))


def _weights(shape: tuple[int, ...], axis: int, name: str, scale: float = 0.01) -> RomTensor:
    """A filter with one scale for each output channel, of numbers that say nothing."""
    draw = np.random.default_rng(len(name))
    scales = tuple(float(np.float32(scale * (1 + 0.1 * k))) for k in range(shape[axis]))
    kind = TensorType(shape, DType.S8, Quantization(scales, (0,) * len(scales), axis))
    return RomTensor(kind, draw.integers(-127, 128, shape).astype(np.int8), name=name)


def network(image: NDArray[np.int8], scores: NDArray[np.int8]) -> None:
    """Classifies a picture, in the current context.

    Args:
        image: `[16, 16]`.
        scores: `[10]`, written.
    """
    picture, chances = BufferTensor(IMAGE, image, name="image"), BufferTensor(SCORES, scores, name="scores")
    relu, same = ops.Activation.RELU, ops.Padding.SAME
    edges = RamTensor(_made((1, 8, 8, 8), 0.03), name="edges")
    bind(
        ops.Conv2D((2, 2), same, activation=relu),
        input=picture,
        filter=_weights((8, 3, 3, 1), 0, "sobel"),
        output=edges,
    ).eval()
    smooth = RamTensor(_made((1, 8, 8, 8), 0.05), name="smooth")
    blur = _weights((1, 3, 3, 8), 3, "blur")
    bind(ops.DepthwiseConv2D((1, 1), same, activation=relu), input=edges, filter=blur, output=smooth).eval()
    edges.free()
    mixed = RamTensor(_made((1, 8, 8, 16), 0.1), name="mixed")
    bind(ops.Conv2D(activation=relu), input=smooth, filter=_weights((16, 1, 1, 8), 0, "mixer"), output=mixed).eval()
    smooth.free()
    small = RamTensor(_made((1, 4, 4, 16), 0.1), name="small")
    bind(ops.MaxPool2D(kernel=(2, 2), stride=(2, 2)), input=mixed, output=small).eval()
    mixed.free()
    sums = RamTensor(_made((1, 10), 0.03), name="sums")
    bind(ops.FullyConnected(), input=small, filter=_weights((10, 256), 0, "classes", 0.0003), output=sums).eval()
    small.free()
    bind(ops.Softmax(), input=sums, output=chances).eval()
    sums.free()


def recorded(image: NDArray[np.int8]) -> Program:
    """The network as a recorded program; the picture does not matter."""
    with Context(ram=4096), record("network") as program:
        network(image, np.zeros(10, np.int8))
    return program


def with_memory_that_moves(image: NDArray[np.int8]) -> tuple[NDArray[np.int8], list[str], int]:
    """What `firmware.c` does.

    Returns:
        The scores, the names of the RAM arena's events, and how far the log has moved, in bytes.
    """
    events = ErrorHandler(on_error=lambda _: None)
    ram = HandleArena(RAM_BYTES, handler=events)
    scores = np.zeros(10, np.int8)
    with Context(ram=ram):
        cache, log = ram.allocate_handle(CACHE_BYTES), ram.allocate_handle(LOG_BYTES)
        if cache is None or log is None:
            raise SystemExit("the arena has no room for cache and log")
        with log.pin() as view:
            view[:] = bytes(range(LOG_BYTES))
        before = log.address or 0
        is_done = False
        while not is_done:
            try:
                network(image, scores)
                is_done = True
            except EventError:
                cache.free()  # and the tensors of this attempt go with the error
        with log.pin() as view:
            if bytes(view) != bytes(range(LOG_BYTES)):
                raise SystemExit("the log has changed")
        return scores, [event.type.name for event in events], before - (log.address or 0)


def main() -> None:
    """Writes the library with the network, and runs the program in Python."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/by_hand")
    image = picture()
    files = kibi.compile_eager(folder, program=recorded(image))
    scores, events, moved = with_memory_that_moves(image)
    print(f"{len(files)} files in {folder}; network.c is the network")
    print("scores", *scores)
    print("events", *events)
    print(f"the log moved by {moved} bytes")


def picture() -> NDArray[np.int8]:
    """The picture that the example classifies: a wave, which C computes, too."""
    y, x = np.mgrid[0:16, 0:16]
    return np.asarray((x * 5 + y * y * 3) % 256 - 128, np.int8)


if __name__ == "__main__":
    main()
