"""Contexts hold what a program needs, and do not see one another."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Barrier

import numpy as np
import pytest

from kibi.dtypes import DType
from kibi.eager.context import Context, current_context, default_context
from kibi.eager.events import declare_error
from kibi.eager.handlers import ErrorHandler
from kibi.eager.memory import HandleArena, Kind, LinearArena, Recording
from kibi.eager.tensors import RamTensor
from kibi.errors import EventError, InputError, InternalError
from kibi.ir import TensorType

BYTES = TensorType((2, 8), DType.S8)


def test_context_is_current_inside_its_block() -> None:
    """Blocks nest, also of the same context, and end even if something is raised."""
    outer, inner = Context(256, 256), Context(256, 256)
    before = current_context()
    with outer:
        with inner, outer:
            assert current_context() is outer
        with pytest.raises(ZeroDivisionError), inner:
            _ = 1 / 0
        assert current_context() is outer
    assert current_context() is before is default_context()


def test_context_left_out_of_order_is_a_bug() -> None:
    """A context that was not entered last cannot be left."""
    with pytest.raises(InternalError):
        Context(64, 64).__exit__()


def test_context_lists_the_tensors_that_live() -> None:
    """Its own alone, the oldest first, and as long as they live."""
    one, other = Context(1024, 1024), Context(1024, 1024)
    with one:
        a, b = RamTensor(BYTES, name="a"), RamTensor(BYTES, name="b")
        with other:
            c = RamTensor(BYTES, name="c")
        d = RamTensor(BYTES, context=other)
    assert list(one.tensors) == [a, b]
    assert other.tensors == (c, d)
    del a
    assert list(one.tensors) == [b]
    b.free()
    assert one.tensors == ()
    assert "2 tensors" in repr(other)


def test_context_arenas_report_to_its_handler() -> None:
    """Arenas that a context makes tell its handler, and a tensor that has no room raises whoever took the error."""
    taken: list[str] = []
    context = Context(1024, 64, ErrorHandler(on_error=lambda event: taken.append(event.type.name)))
    with context, pytest.raises(EventError, match="no room for 65536"):
        RamTensor(TensorType((1, 65536), DType.S8))
    assert taken == ["OutOfMemory"]
    assert context.metadata.available() == 1024
    assert context.tensors == ()


def test_context_fail_raises_though_a_callback_took_the_error() -> None:
    """Where there is nothing to give, going on is impossible."""
    broken = declare_error("Broken", "it is")
    context = Context(64, 64, ErrorHandler(on_error=lambda _: None))
    with pytest.raises(EventError, match="it is"):
        context.fail(broken())
    assert len(list(context.handler)) > 0  # type: ignore[call-overload]


def test_context_uses_given_allocators_and_records_kinds() -> None:
    """Recordings see descriptors, quantization and data apart; a linear arena keeps what is freed."""
    metadata, ram = Recording(LinearArena(1024)), Recording(HandleArena(1024))
    context = Context(metadata, ram)
    assert (context.metadata, context.ram) == (metadata, ram)
    with RamTensor(BYTES, context=context):
        assert ram.usage()[Kind.PLANNED].live_bytes == 16
        assert metadata.usage()[Kind.TENSOR_METADATA].live_bytes == 16 + 24
    assert ram.live_bytes == 0
    assert metadata.live_bytes == 40
    assert context.tensors == ()


def test_context_makes_arenas_of_given_bytes() -> None:
    """The application's own buffers hold descriptors and data."""
    metadata, ram = np.zeros(256, np.uint8), np.zeros(64, np.uint8)
    context = Context(metadata, ram)
    tensor = RamTensor(BYTES, np.full((2, 8), 7, np.int8), context=context)
    assert ram.sum() == tensor.to_array().sum() == 7 * 16
    assert metadata.any()


def test_context_of_wrong_byte_order_is_refused() -> None:
    """There are two."""
    with pytest.raises(InputError, match="middle"):
        Context(byteorder="middle")  # type: ignore[arg-type]


def test_contexts_of_threads_do_not_see_each_other() -> None:
    """Each thread has its own current context, and without one its own default."""
    barrier = Barrier(4)

    def work(number: int) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
        mine = default_context()
        loose = RamTensor(BYTES, name=f"loose{number}")
        with Context(1024, 1024) as context:
            kept = [RamTensor(BYTES, name=f"{number}.{k}") for k in range(3)]
            barrier.wait()
            assert current_context() is context
            assert len(kept) == 3
            names = tuple(tensor.name for tensor in context.tensors)
            barrier.wait()
        assert current_context() is mine
        return id(mine), names, tuple(tensor.name for tensor in loose.context.tensors)

    with Context(256, 256) as outer, ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, range(4)))
        assert outer.tensors == ()
    for number, (_, names, loose) in enumerate(found):
        assert names == tuple(f"{number}.{k}" for k in range(3))
        assert loose == (f"loose{number}",)
    assert len({default for default, _, _ in found}) == 4


def test_context_shared_by_threads_keeps_contents() -> None:
    """Threads that make, write and drop tensors in one context never see another's bytes."""
    context = Context(8192, 2048)

    def work(number: int) -> None:
        for turn in range(60):
            wanted = np.full((2, 8), (number * 60 + turn) % 128, np.int8)
            tensor = RamTensor(BYTES, context=context)
            tensor.assign(wanted)
            other = RamTensor(TensorType((1, 1 + turn), DType.S8), context=context)
            other[0] = -1
            del other
            assert np.array_equal(tensor.to_array(), wanted)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, number) for number in range(4)]:
            done.result()
    assert (context.metadata.available(), context.ram.available()) == (8192, 2048)


def test_contexts_of_asyncio_tasks_do_not_see_each_other() -> None:
    """Tasks that take turns keep their own contexts, and begin with their parent's."""

    async def work(parent: Context, number: int) -> tuple[str, ...]:
        assert current_context() is parent
        with Context(1024, 1024) as context:
            kept = []
            for k in range(3):
                kept.append(RamTensor(BYTES, name=f"{number}.{k}"))
                await asyncio.sleep(0)
                assert current_context() is context
            names = tuple(tensor.name for tensor in context.tensors)
        assert current_context() is parent
        return names

    async def main() -> list[tuple[str, ...]]:
        with Context(256, 256) as parent:
            found = await asyncio.gather(*(work(parent, number) for number in range(4)))
            assert await asyncio.to_thread(current_context) is parent
            assert current_context() is parent
            return list(found)

    assert asyncio.run(main()) == [tuple(f"{number}.{k}" for k in range(3)) for number in range(4)]


def test_context_follows_a_copied_execution_context() -> None:
    """What is entered in a copy stays there."""
    with Context(64, 64) as outer:
        copy_context().run(Context(64, 64).__enter__)
        assert current_context() is outer
