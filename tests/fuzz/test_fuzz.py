"""The fuzzer in each run of the tests: five thousand cases over all stages, and what makes it trustworthy."""

import os
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz import byte_mutations, model_mutations
from tests.fuzz.corpus import corpus
from tests.fuzz.runner import MIXED, MIXED_STAGES, Finding, fuzz, run_case
from tests.fuzz.stages import NATIVE_BATCH, STAGES
from tests.support.amount import amount, sample
from tests.toolchain.tools import check_gcc

_COUNTS = {
    "load": amount(4_900, 16_600), "model": 400, "native": amount(1, 8), "plan": 500, "regions": 100, "place": 500,
    "events": 500, "arrays": 200, "data": 2_000, "inspect": 100, "c_api": amount(25, 1_000), "package": 5_000,
    "quantize": 2_000, "gate": 20_000,
}  # fmt: skip
_OF_EACH = 10
"""Cases of each stage that is mixed with others in each run of the tests, and alone in `make check-all`."""
_SEED = 1
_LEAST = 0.4
"""The share of numbers that must give a case: the others are what the writer cannot write, or what does not load."""


def _told(findings: list[Finding]) -> str:
    """What failed, each way once, with the command that makes it again."""
    ways = {finding.digest: finding for finding in findings}
    lines = [f"{len(findings)} cases failed in {len(ways)} ways:"]
    for each in ways.values():
        lines.append(
            f"python -m tests.fuzz {each.stage} --seed {each.seed} --only {each.number}: {each.kind} at {each.where}"
        )
        lines.append(f"    {each.text[:500]}")
    return "\n".join(lines)


def _check(stage: str, count: int) -> None:
    reports = list(fuzz(stage, seed=_SEED, count=count))
    findings = [finding for report in reports for finding in report.findings]
    assert not findings, _told(findings)
    counted = sum(report.counted for report in reports)
    assert counted >= _LEAST * count * (NATIVE_BATCH if stage == "native" else 1)


@pytest.mark.parametrize("stage", sample([(stage,) for stage in STAGES], [("load",), ("native",), ("c_api",)]))
def test_mutated_input_ends_in_success_or_a_kibi_error(stage: str) -> None:
    """Whatever the input, Kibi answers in bounded time and memory, with a result that holds or an error of its own."""
    if stage == "native":
        check_gcc()
    _check(stage, _COUNTS[stage])


def test_few_mutated_inputs_of_the_other_stages_end_in_success_or_a_kibi_error() -> None:
    """The same of all stages that need no compiler, in turn."""
    _check(MIXED, _OF_EACH * len(MIXED_STAGES))


def test_counts_come_to_five_thousand() -> None:
    """That many numbers are tried in each run, and four times as many in `make check-all`."""
    assert set(_COUNTS) == set(STAGES)
    assert {*MIXED_STAGES, "load", "native", "c_api"} == set(STAGES)
    alone = _COUNTS["load"] + _COUNTS["c_api"] + _COUNTS["native"] * NATIVE_BATCH
    assert alone + _OF_EACH * len(MIXED_STAGES) >= 5_000
    assert sum(_COUNTS.values()) >= 20_000


@pytest.mark.parametrize("kind", byte_mutations.KINDS, ids=lambda kind: kind.__name__)
def test_byte_mutation_changes_files(kind: "byte_mutations.Mutation") -> None:
    """Each kind of mutation makes other bytes of most files, the same ones from the same seed."""
    sound = corpus()[0]
    made = []
    for _ in range(2):
        rng = np.random.default_rng(5)
        again = [bytearray(sound) for _ in range(20)]
        for data in again:
            kind(data, rng)
        made.append([bytes(data) for data in again])
    assert made[0] == made[1]
    assert sum(data != sound for data in made[0]) > 10


def test_model_mutation_is_the_same_from_the_same_seed_and_mostly_another_model() -> None:
    """A case can be made again, and is rarely the sound model."""
    made: list[list[bytes | None]] = []
    for _ in range(2):
        rng = np.random.default_rng(5)
        made.append([_mutant(number, rng) for number in range(60)])
    assert made[0] == made[1]
    assert len(set(made[0])) > 50


def _mutant(number: int, rng: np.random.Generator) -> bytes | None:
    try:
        return model_mutations.mutated(number, rng)
    except model_mutations.WriterError:
        return None


@pytest.mark.parametrize("number", range(0, 300, 7))
def test_sound_model_survives_the_schemas_objects(number: int) -> None:
    """Unpacked and packed again without a mutation, a model still loads: what mutations break is what they change."""
    from tests.fuzz.checks import load  # noqa: PLC0415

    assert load(corpus()[number]) is not None
    assert load(model_mutations.packed(model_mutations.unpacked(number))) is not None


def test_failure_of_a_stage_is_found_and_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An exception that is none of Kibi's is a finding that says where it came from, and how to make it again."""

    def broken(data: bytes, source: str) -> None:
        raise IndexError(f"{source}: {len(data)}")

    monkeypatch.setattr("tests.fuzz.checks.parse_tflite", broken)
    count, finding = run_case("load", 0, _SEED, tmp_path)
    assert count == 1
    assert finding is not None
    assert (finding.kind, finding.number, finding.seed) == ("IndexError", 0, _SEED)
    assert bytes.fromhex(finding.data_hex)


def test_endless_case_is_ended_and_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A case that takes more than its processor time is a finding, not a hang."""
    import signal  # noqa: PLC0415

    from tests.fuzz import runner  # noqa: PLC0415

    def endless(data: bytes, source: str) -> None:
        del data, source
        while True:
            pass

    monkeypatch.setattr("tests.fuzz.checks.parse_tflite", endless)
    monkeypatch.setattr(runner, "SECONDS", 0.2)
    before = signal.signal(signal.SIGPROF, runner.too_long)
    try:
        _, finding = run_case("load", 0, _SEED, tmp_path)
    finally:
        signal.signal(signal.SIGPROF, before)
    assert finding is not None
    assert "TooLong" in finding.kind


@pytest.mark.slow
def test_worker_that_dies_names_its_case_and_the_next_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A crash costs one case, not the rest of the span."""
    hook = tmp_path / "sitecustomize.py"
    hook.write_text(
        "import os, sys\n"
        "if 'tests.fuzz.runner' in ' '.join(sys.orig_argv):\n"
        "    import tests.fuzz.stages as stages\n"
        "    def dies(case):\n"
        "        if case.number == 3:\n"
        "            os.abort()\n"
        "        return 1\n"
        "    stages.STAGES['events'] = dies\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", ""), os.getcwd()]))  # noqa: PTH109
    reports = list(fuzz("events", seed=_SEED, count=6))
    findings = [finding for report in reports for finding in report.findings]
    assert [(each.number, each.kind) for each in findings] == [(3, "signal SIGABRT")]
    assert sum(report.counted for report in reports) == 5
