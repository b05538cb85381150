"""Damaged models end in an error that Kibi explains, or in a quantized model."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from examples.patterns import Layer, Net, patterns
from kibi.dtypes import Array, DType
from kibi.errors import InternalError, KibiError
from kibi.quantization.network import Network
from kibi.quantization.noise import layer_noise
from kibi.quantization.quantizing import Wishes, quantize_network
from tests.quantization.test_recurrent import lstm
from tests.support.amount import amount
from tests.support.python_runner import without_compiler

_WORDS = (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\x80", b"\1\0\0\0", b"\xff\xff\xff\x7f", b"\0\0\xc0\x7f")
_MOST_ELEMENTS = 100_000


@pytest.fixture(autouse=True)
def in_python() -> Iterator[None]:
    """Graphs run in Python."""
    with without_compiler():
        yield


def damaged(count: int) -> Iterator[bytes]:
    """Models in which bits, bytes and words are changed."""
    net = Net([Layer("conv", 3, 3, 4, "RELU6"), Layer("dense", 4)], (6, 6, 1))
    net.train(patterns(64, 1)[0][:, :6, :6], np.zeros(64, np.int64), epochs=1)
    models, rng = [net.file(signature=True), lstm(times=2)], random.Random(7)
    for number in range(count):
        data = bytearray(models[number % len(models)])
        for _ in range(rng.choice((1, 1, 2, 4))):
            place = rng.randrange(len(data))
            word = rng.choice((*_WORDS, bytes([rng.randrange(256)]), bytes([data[place] ^ 1 << rng.randrange(8)])))
            data[place : place + len(word)] = word
        yield bytes(data)


def given(network: Network) -> list[tuple[Array, ...]]:
    """Two inputs."""
    kinds = [network.graph.tensors[index].type for index in network.inputs]
    rng = np.random.default_rng(0)
    return [
        tuple(
            np.asarray(
                rng.normal(size=kind.shape) if kind.dtype is DType.F32 else np.zeros(kind.shape), kind.dtype.numpy
            )
            for kind in kinds
        )
        for _ in range(2)
    ]


def test_damaged_models_end_in_reasons_or_in_models() -> None:
    """Never in another exception, nor in one that reports an error of ours."""
    outcomes = {"made": 0, "refused": 0}
    for data in damaged(amount(150, 20_000)):
        try:
            network = Network.of(data, "model.tflite")
            if (
                sum(tensor.type.elements for tensor in network.graph.tensors) > _MOST_ELEMENTS
                or network.graph.variables
            ):
                continue
            rows = given(network)
            layer_noise(quantize_network(network, rows, Wishes()), rows)
            outcomes["made"] += 1
        except InternalError:
            raise
        except KibiError:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 10
