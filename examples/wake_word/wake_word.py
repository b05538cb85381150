"""Listen for a wake word in a recording, frame by frame, with Kibi in the loop.

    pip install "kibi[wakeword]"
    python examples/wake_word/wake_word.py hello.wav --word okay_nabu
    python examples/wake_word/wake_word.py hello.wav --word okay_nabu --engine c

`pymicro-features` makes 40 features of each 10 ms of sound. The model, from `pymicro-wakeword`, looks at a slice of three such
frames at a time, remembers what it needs of the earlier ones, and gives the probability that the word has just been said. The
recording is 16 kHz, 16 bits, mono.
"""

import argparse
import importlib.util
import json
import subprocess
import tempfile
import wave
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymicro_features import MicroFrontend

import kibi
from kibi.toolchain import build_program

_RATE_HZ = 16000
_FRAME_SAMPLES = 160
"""10 ms: how far the front end moves on from frame to frame."""
_SILENCE_FRAMES = 100
"""Heard before the recording, so that the model's memory is full when it begins."""
_SAMPLE_BYTES = 2
_PROBABILITY_STEPS = 256


@dataclass(frozen=True, slots=True)
class Word:
    """A wake word: its model, and when it counts as heard.

    Attributes:
        graph: the model after the lossless passes.
        cutoff: the mean probability above which it does.
        window: over how many slices the mean is.
    """

    graph: kibi.Graph
    cutoff: float
    window: int

    @staticmethod
    def named(name: str) -> "Word":
        """One of those that `pymicro-wakeword` brings."""
        found = importlib.util.find_spec("pymicro_wakeword")
        if found is None or not found.submodule_search_locations:
            raise SystemExit("pymicro-wakeword is not installed: pip install 'kibi[wakeword]'")
        folder = Path(found.submodule_search_locations[0]) / "models"
        settings = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        graph = kibi.simplify(kibi.load(folder / settings["model"]))
        micro = settings["micro"]
        return Word(replace(graph, name="detector"), micro["probability_cutoff"], micro["sliding_window_size"])

    @property
    def slice_shape(self) -> tuple[int, ...]:
        """Shape of the model's input: `[1, frames, features]`."""
        return self.graph.tensors[self.graph.inputs[0]].type.shape

    @property
    def cutoff_sum(self) -> float:
        """The cutoff as a sum of the model's output, a u8 that counts 256ths."""
        return self.cutoff * self.window * _PROBABILITY_STEPS


def samples_of(path: Path) -> bytes:
    """The sound of a recording, with silence in front of it and behind."""
    with wave.open(str(path)) as sound:
        form = sound.getframerate(), sound.getsampwidth(), sound.getnchannels()
        if form != (_RATE_HZ, _SAMPLE_BYTES, 1):
            raise SystemExit(
                f"{path} has {form[0]} Hz, {8 * form[1]} bits, {form[2]} channels; 16000, 16 and 1 are needed"
            )
        silence = bytes(_SILENCE_FRAMES * _FRAME_SAMPLES * _SAMPLE_BYTES)
        return b"".join((silence, sound.readframes(sound.getnframes()), silence))


def frames_of(samples: bytes) -> Iterator[NDArray[np.float32]]:
    """The features of each frame, `[40]`."""
    front_end = MicroFrontend()
    place = 0
    while place + _FRAME_SAMPLES * _SAMPLE_BYTES <= len(samples):
        made = front_end.process_samples(samples[place : place + _FRAME_SAMPLES * _SAMPLE_BYTES])
        place += made.samples_read * _SAMPLE_BYTES
        if made.features:
            yield np.array(made.features, np.float32)


def slices_of(word: Word, frames: Iterable[NDArray[np.float32]]) -> Iterator[NDArray[np.int8]]:
    """The model's inputs: a few frames at a time, quantized as the model says."""
    quantization = word.graph.tensors[word.graph.inputs[0]].quantization
    waiting: list[NDArray[np.float32]] = []
    for frame in frames:
        waiting.append(frame)
        if len(waiting) == word.slice_shape[1]:
            steps = np.round(np.stack(waiting) / quantization.scale) + quantization.zero_point
            yield np.clip(steps, -128, 127).astype(np.int8).reshape(word.slice_shape)
            waiting.clear()


def by_interpreter(word: Word, slices: Iterable[NDArray[np.int8]]) -> Iterator[int]:
    """The model's answers, one for each slice; state carries over from one to the next."""
    interpreter = kibi.Interpreter(word.graph, kibi.plan(word.graph, "host"))
    print(f"arena {interpreter.arena_needed_bytes} bytes, state {interpreter.state_bytes} bytes")
    for each in slices:
        yield int(interpreter.run([each])[0].item())


def by_c(word: Word, slices: Iterable[NDArray[np.int8]]) -> Iterator[int]:
    """The same from the C library with `detector.c`, compiled for this machine."""
    main = Path(__file__).with_name("detector.c")
    with tempfile.TemporaryDirectory() as folder:
        library = kibi.compile(word.graph, kibi.plan(word.graph, "host"), folder, target="host")
        sources = [Path(folder) / name for name in library.sources]
        program = build_program([*sources, main], includes=[Path(folder)])
        sent = b"".join(each.tobytes() for each in slices)
        answers = subprocess.run([program], input=sent, capture_output=True, check=True).stdout
    for line in answers.decode().splitlines():
        yield int(line.split()[0])


def heard(word: Word, answers: Iterable[int]) -> Iterator[tuple[int, float]]:
    """The slices at which the word counts as heard, with the mean probability; then not again before it fell."""
    recent: deque[int] = deque(maxlen=word.window)
    was_above = False
    for number, answer in enumerate(answers):
        recent.append(answer)
        is_above = len(recent) == word.window and sum(recent) > word.cutoff_sum
        if is_above and not was_above:
            yield number, sum(recent) / word.window / _PROBABILITY_STEPS
        was_above = is_above


def detections(word: Word, path: Path, engine: str) -> list[tuple[float, float]]:
    """When the word was heard in a recording, in seconds from its beginning, and how surely."""
    slices = slices_of(word, frames_of(samples_of(path)))
    answers = by_c(word, slices) if engine == "c" else by_interpreter(word, slices)
    seconds = word.slice_shape[1] * _FRAME_SAMPLES / _RATE_HZ
    before = _SILENCE_FRAMES * _FRAME_SAMPLES / _RATE_HZ
    return [((number + 1) * seconds - before, mean) for number, mean in heard(word, answers)]


def main(arguments: Sequence[str] | None = None) -> Any:
    """The command line."""
    parser = argparse.ArgumentParser(description="Listen for a wake word in recordings.")
    parser.add_argument("recordings", nargs="+", type=Path, help="wav files: 16 kHz, 16 bits, mono")
    parser.add_argument("--word", default="okay_nabu", help="alexa, hey_jarvis, hey_mycroft or okay_nabu")
    parser.add_argument("--engine", default="python", choices=["python", "c"])
    given = parser.parse_args(arguments)
    word = Word.named(given.word)
    for path in given.recordings:
        found = detections(word, path, given.engine)
        texts = [f"{seconds:.2f} s (probability {mean:.2f})" for seconds, mean in found]
        print(f"{path.name}: {given.word} {'heard at ' + ', '.join(texts) if texts else 'not heard'}")


if __name__ == "__main__":
    main()
