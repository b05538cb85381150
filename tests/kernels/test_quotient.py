"""Quotients of floats: those of IEEE 754, also where they are subnormal, by each compiler on cores with and without an FPU."""

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kibi.emulator import Core
from kibi.targets import target
from kibi.toolchain import build_image, build_shared, compile_objects
from tests.support.kernel_files import portable_folder
from tests.toolchain.tools import check_cross

Floats = NDArray[np.float32]

FOLDER = portable_folder()
_HERE = Path(__file__).parent
_QUOTIENT = FOLDER / "kibi_quotient_f32.c"
_ON_CORES = 600
_ON_HOST = 200_000
_SIGN = np.uint32(1 << 31)
_FRACTION = np.uint32((1 << 23) - 1)
_MAGNITUDES = np.array(
    [
        0, 1, 2, 3, 0x3FFFFF, 0x400000, 0x7FFFFE, 0x7FFFFF, 0x800000, 0x800001, 0xFFFFFF, 0x1000000, 0x33FFFFFF, 0x34000000,
        0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3FFFFFFF, 0x40000000, 0x40400000, 0x7E800000, 0x7F000000, 0x7F7FFFFE, 0x7F7FFFFF,
        0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF,
    ],
    np.uint32,
)  # fmt: skip
"""Zero, the ends of the subnormal, of the normal and of the whole numbers, infinity, NaNs that signal and that do not."""


def _bits(rng: np.random.Generator, count: int) -> NDArray[np.uint32]:
    return rng.integers(0, 1 << 32, count, np.uint32, endpoint=False)


def _any(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """Bits of every kind."""
    return _bits(rng, count).view(np.float32), _bits(rng, count).view(np.float32)


def _subnormal_dividends(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    dividends, divisors = _any(rng, count)
    return (dividends.view(np.uint32) & (_SIGN | _FRACTION)).view(np.float32), divisors


def _subnormal_divisors(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    dividends, divisors = _any(rng, count)
    return dividends, (divisors.view(np.uint32) & (_SIGN | _FRACTION)).view(np.float32)


def _subnormal_both(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    return _subnormal_dividends(rng, count)[0], _subnormal_divisors(rng, count)[1]


def _subnormal_quotients(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """Quotients from 2**-152 to 2**-124, of numbers with any significand and of some with few digits."""
    below = rng.integers(125, 153, count)
    exponent = rng.integers(1, 254 - 125, count)
    fractions = [_bits(rng, count) & (_SIGN | _FRACTION) for _ in range(2)]
    few = rng.integers(0, 23, count).astype(np.uint32)
    fractions[1] = np.where(rng.random(count) < 0.5, fractions[1] >> few << few, fractions[1])
    # An exponent that would be above that of the largest float takes the dividend below the least normal one.
    divisor = exponent + below
    divisor_bits = np.minimum(divisor, 254).astype(np.uint32) << np.uint32(23)
    dividend_bits = np.maximum(exponent - np.maximum(divisor - 254, 0), 0).astype(np.uint32) << np.uint32(23)
    return (fractions[0] | dividend_bits).view(np.float32), (fractions[1] | divisor_bits).view(np.float32)


def _ties(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """Quotients in the middle of two subnormal numbers, and those of dividends one unit beside."""
    odd = (2 * rng.integers(0, 1 << 23, count) + 1).astype(np.float64)
    power = rng.integers(0, 127, count)
    dividends = np.ldexp(odd, power - 149).astype(np.float32).view(np.uint32)
    dividends = dividends + rng.integers(-1, 2, count).astype(np.uint32)
    signs = _bits(rng, count) & _SIGN
    return (dividends | signs).view(np.float32), np.ldexp(np.float32(1), power + 1).astype(np.float32)


def _ends(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """All pairs of what is at the end of something."""
    del rng, count
    values = np.concatenate([_MAGNITUDES, _MAGNITUDES | _SIGN]).view(np.float32)
    dividends, divisors = np.meshgrid(values, values)
    return dividends.ravel(), divisors.ravel()


_DRAWS = (_any, _subnormal_dividends, _subnormal_divisors, _subnormal_both, _subnormal_quotients, _ties, _ends)


def _drawn(count: int) -> tuple[Floats, Floats]:
    """Pairs of all kinds."""
    rng = np.random.default_rng(2029)
    pairs = [draw(rng, count) for draw in _DRAWS]
    return np.concatenate([pair[0] for pair in pairs]), np.concatenate([pair[1] for pair in pairs])


def _check(divide: Callable[[Floats, Floats], Floats], count: int) -> None:
    """Compare with NumPy's quotients: all bits, but that any NaN will do where there is one."""
    dividends, divisors = _drawn(count)
    with np.errstate(all="ignore"):
        wanted = dividends / divisors
    found = divide(dividends, divisors)
    same = (found.view(np.uint32) == wanted.view(np.uint32)) | (np.isnan(found) & np.isnan(wanted))
    places = np.flatnonzero(~same)
    shown = [f"{dividends[k]!r} / {divisors[k]!r}: {found[k]!r}, not {wanted[k]!r}" for k in places[:5]]
    assert not len(places), f"{len(places)} of {len(same)} quotients: {'; '.join(shown)}"


def test_draws_have_subnormal_quotients_that_are_rounded_up_and_down() -> None:
    """What is drawn has thousands of small quotients on either side of the exact one, and ties."""
    rng = np.random.default_rng(3)
    for draw, is_tie in ((_subnormal_quotients, False), (_ties, True)):
        dividends, divisors = (array.astype(np.float64) for array in draw(rng, 4000))
        exact = dividends / divisors
        rounded = exact.astype(np.float32)
        is_small = (np.abs(exact) < 2.0**-126) & (np.abs(exact) > 2.0**-151)
        away = np.abs(rounded[is_small].astype(np.float64)) - np.abs(exact[is_small])
        assert (away > 0).sum() > 1000
        assert (away < 0).sum() > 1000
        assert not is_tie or (np.abs(away) == 2.0**-150).sum() > 1000


@pytest.mark.parametrize("level", ["s", "2"])
@pytest.mark.parametrize("compiler", ["zig", pytest.param("gcc", marks=pytest.mark.cross)])
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m3", "cortex-m4"])
def test_quotients_on_cores_equal_those_of_numpy(core: str, compiler: str, level: str) -> None:
    """Every core divides as this machine does: subnormal numbers, ties, zeros, infinities and NaNs."""
    if compiler == "gcc":
        check_cross()
    sources = [_HERE / "quotient_check.c", _QUOTIENT]
    entries, processor = ("quotient_check",), target(core)
    image = build_image(sources, processor, entries=entries, compiler=compiler, level=level, includes=[FOLDER])

    def divide(dividends: Floats, divisors: Floats) -> Floats:
        running = Core(image, processor)
        places = []
        for name, array in (("dividends", dividends), ("divisors", divisors)):
            places.append(running.allocate(name, array.nbytes, alignment=4))
            running.write(places[-1], array.tobytes())
        found = running.allocate("quotients", dividends.nbytes, alignment=4, writable=True)
        running.call("quotient_check", found, *places, len(dividends))
        return np.frombuffer(running.read(found, dividends.nbytes), np.float32)

    _check(divide, _ON_CORES)


def test_quotients_by_integers_equal_those_of_numpy_and_do_nothing_undefined() -> None:
    """On this machine, where more can be tried, the function for cores without a floating-point unit is right, too."""
    source = _HERE / "quotient_by_integers_check.c"
    library = ctypes.CDLL(str(build_shared([source], includes=[FOLDER], sanitize=True)))

    def divide(dividends: Floats, divisors: Floats) -> Floats:
        found = np.empty_like(dividends)
        library.quotient_check(found.ctypes, dividends.ctypes, divisors.ctypes, ctypes.c_int32(len(found)))
        return found

    _check(divide, _ON_HOST)


@pytest.mark.slow
def test_kernels_without_fpu_divide_floats_by_the_one_function() -> None:
    """No kernel calls the function that the compiler's library has for it, which cuts small quotients."""
    sources = [path for path in sorted(FOLDER.glob("*.c")) if "float" in path.read_text() or "f32" in path.name]
    objects = compile_objects(sources, target("cortex-m0plus"), level="s", includes=[FOLDER], language="c99")
    contents = {path.stem: made.read_bytes() for path, made in zip(sources, objects, strict=True)}
    assert not [name for name, content in contents.items() if b"__aeabi_fdiv" in content]
    assert len([name for name, content in contents.items() if b"kibi_quotient_f32\0" in content]) > 10


def test_compilers_with_a_right_division_use_it() -> None:
    """With a floating-point unit nothing is left of the function."""
    (made,) = compile_objects([_QUOTIENT], target("cortex-m4"), level="s", includes=[FOLDER])
    assert b"kibi_quotient_f32\0" not in made.read_bytes()
