"""From audio to a label in Python, and the C library for the same on a device.

    python listen.py FRONT_END.tflite NETWORK.tflite FILE.wav...
    python listen.py FRONT_END.tflite NETWORK.tflite --output build --target cortex-m4

The models are TFLM's `audio_preprocessor_int8.tflite` and `micro_speech_quantized.tflite`, or others of the same inputs and
outputs.
"""

import argparse
import wave
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import kibi
from kibi.codegen import Library

WINDOW, STRIDE = 480, 320
LABELS = ("silence", "unknown", "yes", "no")
NAMES = ("front_end", "micro_speech")
"""The prefixes that `speech.c` knows the models by."""


def samples_of(path: Path) -> NDArray[np.int16]:
    """A recording of 16 kHz, 16 bits and one channel."""
    with wave.open(str(path)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.int16)


def windows(samples: NDArray[np.int16]) -> Iterator[NDArray[np.int16]]:
    """30 ms, every 20 ms, `[1, 480]` each."""
    for start in range(0, len(samples) - WINDOW + 1, STRIDE):
        yield samples[None, start : start + WINDOW]


class Listener:
    """Both models, with the features of the last second.

    Args:
        front_end: from a window `[1, 480]` s16 to its features, 40 s8.
        network: from 49 times 40 features to a score for each label.
    """

    def __init__(self, front_end: kibi.Graph, network: kibi.Graph) -> None:
        self._front_end = kibi.Interpreter(front_end)
        self._network = kibi.Interpreter(network)
        self.features = np.zeros((49, 40), np.int8)

    def listen(self, samples: NDArray[np.int16]) -> NDArray[np.generic]:
        """The scores of the last second of a recording."""
        self._front_end.reset()
        self.features[:] = 0
        for window in windows(samples):
            self.features[:-1] = self.features[1:]
            self.features[-1] = self._front_end.run([window])[0].reshape(-1)
        return self._network.run([self.features.reshape(1, -1)])[0].reshape(-1)


def models_of(front_end: Path, network: Path) -> list[kibi.Graph]:
    """Both models, under the names that `speech.c` knows."""
    return [replace(kibi.load(path), name=name) for path, name in zip((front_end, network), NAMES, strict=True)]


def compiled(models: list[kibi.Graph], directory: Path, target: str) -> Library:
    """One C library for both: they share kernels, and can share an arena."""
    plans = [kibi.plan(model, target=target) for model in models]
    return kibi.compile(models, plans, directory, target=target, name="speech_models")


def main() -> None:
    """Read the arguments, and listen or compile."""
    parser = argparse.ArgumentParser(description="From audio to a label.")
    parser.add_argument("front_end", type=Path)
    parser.add_argument("network", type=Path)
    parser.add_argument("recordings", type=Path, nargs="*")
    parser.add_argument("--output", type=Path, help="folder for the C library")
    parser.add_argument("--target", default="host", help="its processor")
    arguments = parser.parse_args()
    models = models_of(arguments.front_end, arguments.network)
    listener = Listener(*models)
    for path in arguments.recordings:
        scores = listener.listen(samples_of(path))
        print(f"{path.name}: {LABELS[int(scores.argmax())]} {scores.tolist()}")
    if arguments.output:
        compiled(models, arguments.output, arguments.target)


if __name__ == "__main__":
    main()
