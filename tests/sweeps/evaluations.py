"""Functions that tests name in specifications."""

import sys
from collections.abc import Iterator, Mapping

from tests.sweeps.work import small_model, unsupported_model

NOT_A_FUNCTION = 7


def size(data: bytes) -> Mapping[str, float]:
    """The length of a model as its accuracy."""
    return {"accuracy": 1 / len(data), "bytes": len(data)}


def broken(data: bytes) -> Mapping[str, float]:
    """An evaluation that fails for some models."""
    if len(data) % 2 == 0:
        raise ValueError("no labels for this one")
    return {"accuracy": float("nan")}


def leaves(data: bytes) -> Mapping[str, float]:
    """An evaluation that ends its process."""
    del data
    sys.exit(3)


def left(number: int) -> str:
    """A model of a generator that ends its process."""
    sys.exit(number + 3)


def named_as_a_cost(data: bytes) -> Mapping[str, float]:
    """An evaluation whose figure has the name of a cost."""
    return {"ram_bytes": len(data)}


def architectures(
    lengths: list[int], quantization: str = "int8"
) -> Iterator[tuple[str, bytes, Mapping[str, int | str]]]:
    """Models of several lengths."""
    for length in lengths:
        yield f"relu_{length}_{quantization}", small_model(length), {"length": length}


def with_one_refused() -> Iterator[tuple[str, bytes, Mapping[str, int]]]:
    """Three models, of which the second is not supported."""
    yield "first", small_model(3), {"length": 3}
    yield "second", unsupported_model(), {"length": 4}
    yield "third", small_model(5), {"length": 5}


def wrong() -> Iterator[object]:
    """A generator whose second item is no model."""
    yield "first", small_model(3), {}
    yield "second", 5, {}


def stops() -> Iterator[object]:
    """A generator that fails."""
    yield "first", small_model(3), {}
    raise ValueError("no more ideas")
