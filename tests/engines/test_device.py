"""Code that misbehaves on the device: stopped, and named."""

import re
from pathlib import Path

import pytest

import kibi
from kibi.engines import DeviceEngine, HostEngine
from kibi.errors import EmulationError, InternalError
from kibi.reports.verification import verify
from kibi.runtime import seeded_inputs
from kibi.text.c import CCode
from tests.engines.networks import residual_network
from tests.support.amount import sample


def _tampered(folder: Path, file: str, old: str, new: str, target: str = "cortex-m3") -> kibi.Library:
    """The library of the residual network with one change in its text, for a core whose kernel of ADD is the portable one."""
    library = kibi.compile(residual_network(), None, folder, target=target)
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    return library


@pytest.mark.parametrize(
    ("target", "old", "new"),
    sample(
        [
            ("cortex-m3", "*output++ = value;", "(output++)[100000] = value;"),
            ("cortex-m3", "const int8_t *a = rows[", "const int8_t *a = 1000000 + rows["),
            ("rv32imac", "const int8_t *a = rows[", "const int8_t *a = 1000000 + rows["),
            ("rv32imac", "*output++ = value;", "(output++)[100000] = value;"),
        ]
    ),
    ids=["cortex-m3-write", "cortex-m3-read", "rv32imac-read", "rv32imac-write"],
)
def test_access_outside_the_arena_stops_and_names_function_and_operator(
    tmp_path: Path, target: str, old: str, new: str
) -> None:
    """The kernel of the addition leaves the arena."""
    engine = DeviceEngine(_tampered(tmp_path, "kernels/kibi_add_s8.c", old, new, target))
    with pytest.raises(EmulationError) as caught:
        engine.run(seeded_inputs(residual_network(), 0))
    assert caught.value.function == "residual_kibi_add_s8"
    assert caught.value.operator == "operator 3 (ADD)"


def test_write_one_byte_behind_the_arena_is_found_on_both_sides(tmp_path: Path) -> None:
    """One byte too far is enough: the emulated core stops, the host engine's canaries break."""
    arena = kibi.plan(residual_network(), "cortex-m3").arena_bytes
    old, new = "    residual_run(model->arena);\n", f"    residual_run(model->arena);\n    model->arena[{arena}] = 1;\n"
    library = _tampered(tmp_path, "residual.c", old, new)
    inputs = seeded_inputs(residual_network(), 0)
    with pytest.raises(EmulationError, match="arena"):
        DeviceEngine(library).run(inputs)
    with pytest.raises(InternalError, match="outside its arena"):
        HostEngine(library).run(inputs)


def test_function_that_never_returns_is_stopped(tmp_path: Path) -> None:
    """An endless loop ends in an error."""
    library = _tampered(
        tmp_path, "kernels/kibi_add_s8.c", "(void)scratch;", "for (volatile int i = 0;;) { i = i + 1; (void)scratch; }"
    )
    engine = DeviceEngine(library)
    with pytest.raises(EmulationError, match="instruction"):
        engine.run(seeded_inputs(residual_network(), 0), instruction_limit=1_000_000)


def test_verify_names_the_first_operator_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong kernel is found by its operator, with how many elements differ and by how much."""
    from kibi import kernels  # noqa: PLC0415 - patched below

    original = kernels.closure

    def wrong(names: frozenset[str], sets: tuple[str, ...], headers: frozenset[str]) -> dict[str, CCode]:
        texts = original(names, sets, headers)
        name = "kibi_add_s8.c"
        sums = re.compile(r"kibi_clamp\((sum\w*(?:\(a, b, p\))?), ")
        return texts | {name: CCode(sums.sub(r"kibi_clamp(\1 + 1, ", texts[name].text))}

    monkeypatch.setattr("kibi.codegen.library.closure", wrong)
    monkeypatch.setattr("kibi.selection.choice.VARIANTS", ())  # so that the general kernel runs everywhere
    found = verify(residual_network(), None, kibi.target("cortex-m4"), runs=1)
    assert not found.is_exact
    assert [(d.engine, d.operator, d.op, d.tensor, d.largest) for d in found.differences] == [
        ("host C", 3, "ADD", "sum", 1.0),
        ("cortex-m4", 3, "ADD", "sum", 1.0),
    ]
    assert 0 < found.differences[0].elements <= found.differences[0].total == 288
