"""The stages of the fuzzer: each makes case number N from a seed, and uses it as its users would.

Each returns how many cases it tried: 0 where the schema's writer cannot write what was drawn.
"""

import contextlib
import hashlib
import io
import os
import shutil
import struct
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

import kibi
import kibi.demo
from kibi.arrays.dataset import open_dataset
from kibi.arrays.rows import fit_rows
from kibi.cli.main import main
from kibi.codegen import generate
from kibi.errors import InternalError, KibiError
from kibi.gate.baseline import baseline_text, load_baseline, read_baseline
from kibi.gate.spec import load_spec
from kibi.ir import Graph
from kibi.planfile.package_records import Signature
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import DIGEST_BYTES, HEADER
from kibi.planner import Plan, PlannedModel, validate
from kibi.planner.regions.file import read_regions
from kibi.reports.evaluation_log import EvaluationLog
from kibi.selection import Goal
from kibi.update.package import Package
from tests.fuzz import byte_mutations, model_mutations, text_cases
from tests.fuzz.c_calls import random_calls
from tests.fuzz.checks import BrokenPromiseError, explore, load
from tests.fuzz.corpus import corpus
from tests.fuzz.native import NativeCase, check_batch, prepared
from tests.fuzz.quantizing import float_networks, float_sources, quantize_hostile

_FAIR_ENDS = frozenset((*range(13), 14, 15))
"""Exit codes that say what is wrong; 13 is memory that ran out, and 70 a bug."""
NATIVE_BATCH = 24
"""Models in one program of the native stage."""
_MOST_TRIES = 400
"""Mutants that are drawn for one such program."""


@dataclass(slots=True)
class Case:
    """One case: what it was made of, for the record of a finding.

    Attributes:
        stage: the name.
        number, seed: what it is made from.
        folder: for files.
        data: what was given to Kibi, so far as it has been made.
    """

    stage: str
    number: int
    seed: int
    folder: Path
    data: bytes = field(default=b"", repr=False)

    def rng(self) -> np.random.Generator:
        """The case's own random numbers."""
        return np.random.default_rng([self.seed, list(STAGES).index(self.stage), self.number])


def _mutant(case: Case, rng: np.random.Generator, bytes_share: float) -> bool:
    """Make the mutated model of a case; False where there is none."""
    source = int(rng.integers(len(corpus())))
    if rng.random() < bytes_share:
        case.data = byte_mutations.mutated(corpus()[source], rng)
        return True
    try:
        case.data = model_mutations.mutated(source, rng)
    except model_mutations.WriterError:
        return False
    return True


def _load(case: Case) -> int:
    """Loads a mutated model."""
    if not _mutant(case, case.rng(), 0.4):
        return 0
    load(case.data)
    return 1


def _model(case: Case) -> int:
    """Loads, inspects, simplifies, plans, draws, writes C, and runs what is small; only models that load are counted."""
    rng = case.rng()
    if not _mutant(case, rng, 0.1):
        return 0
    graph = load(case.data)
    if graph is None:
        return 0
    explore(graph, rng)
    return 1


def _native(case: Case) -> int:
    """Compiles many mutated models into one program with sanitizers, and runs it; where it fails, each by itself."""
    rng = case.rng()
    goal = (Goal.BALANCED, Goal.FLASH, Goal.SPEED)[int(rng.integers(3))]
    made: list[tuple[bytes, NativeCase]] = []
    for _ in range(_MOST_TRIES):
        if _mutant(case, rng, 0.05) and (ready := _prepared(case, rng, goal)) is not None:
            made.append((case.data, ready))
        if len(made) == NATIVE_BATCH:
            break
    folder = case.folder / f"batch{case.number}"
    try:
        check_batch([ready for _, ready in made], folder, goal)
    except (BrokenPromiseError, KibiError):
        for case.data, ready in made:
            check_batch([ready], folder / "alone", goal)
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return len(made)


def _prepared(case: Case, rng: np.random.Generator, goal: Goal) -> NativeCase | None:
    """A mutant that Python runs; None where Kibi refuses it."""
    try:
        return prepared(case.data, rng, goal)
    except InternalError:
        raise
    except KibiError:
        return None


@cache
def _glyphs() -> Graph:
    return kibi.load(kibi.demo.model_path())


@cache
def _saved_plans() -> tuple[str, ...]:
    """Plans of the model that Kibi ships, in their forms."""
    graph = _glyphs()
    regions = read_regions(
        '[[region]]\nname="fast"\nbytes=4000\ncost=1\n[[region]]\nname="slow"\nbytes=20000\ncost=4\n', "regions"
    )
    made = [
        kibi.plan(graph),
        kibi.plan(graph, granularity="tensor"),
        kibi.plan(graph, input="streamed"),
        kibi.plan(graph, input="external", output="external"),
        kibi.plan(graph, regions=regions),
    ]
    return tuple(plan.to_json() for plan in made)


def _saved_plan(case: Case) -> int:
    """Reads a mutated saved plan, validates it, and writes C for it where it is right."""
    rng = case.rng()
    texts = _saved_plans()
    text = text_cases.mutated_json(texts[int(rng.integers(len(texts)))], rng)
    case.data = text.encode("utf-8", "surrogatepass")
    plan = Plan.from_json(text)
    validate(_glyphs(), plan)
    generate([PlannedModel.of(_glyphs(), plan)], kibi.target("cortex-m4"))
    return 1


def _regions(case: Case) -> int:
    """Reads a mutated file of regions, and plans with it where it is right."""
    case.data = text_cases.regions_text(case.rng())
    path = case.folder / "regions.toml"
    path.write_bytes(case.data)
    kibi.plan(_glyphs(), regions=path, place_weights=True)
    return 1


def _gate(case: Case) -> int:
    """Reads a mutated file of `kibi check` or of a board, and writes recorded figures back where they are right."""
    name, case.data = text_cases.gate_file(case.rng())
    path = case.folder / name
    path.write_bytes(case.data)
    if name == "kibi.toml":
        load_spec(path)
    elif name == "board.toml":
        kibi.board(path)
    else:
        found = load_baseline(path)
        if found is None or read_baseline(baseline_text(found.entries).text, name) != found:
            raise BrokenPromiseError("recorded figures do not come back")
    return 1


def _command(arguments: list[str]) -> int:
    """Runs the command line in this process and looks at its exit code and at what it prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    text = out.getvalue() + err.getvalue()
    if code not in _FAIR_ENDS:
        raise BrokenPromiseError(f"kibi {arguments[0]} ended with {code}: {text[-800:]}")
    if "\x1b" in text or "\x9b" in text:
        raise BrokenPromiseError(f"kibi {arguments[0]} printed an escape sequence")
    return 1


def _place(case: Case) -> int:
    """Places a mutated table of buffers."""
    case.data = text_cases.mutated_table(case.rng())
    path = case.folder / "table.csv"
    path.write_bytes(case.data)
    return _command(["place", str(path), "--time-limit", "0.05", *(["--json"] if case.number % 2 else [])])


def _events(case: Case) -> int:
    """Finds events in a mutated source."""
    name, case.data = text_cases.sources(case.rng())
    path = case.folder / name
    path.write_bytes(case.data)
    try:
        return _command(["events", str(path), *(["--json"] if case.number % 2 else [])])
    finally:
        path.unlink()


def _arrays(case: Case) -> int:
    """Runs the model that Kibi ships on a broken array, archive or image."""
    name, case.data = text_cases.input_file(case.folder, case.rng())
    path = case.folder / name
    path.write_bytes(case.data)
    return _command(["run", str(kibi.demo.model_path()), "--input", str(path)])


def _data(case: Case) -> int:
    """Reads broken data of an evaluation as inputs of the model that Kibi ships, or the broken file that it would go on from."""
    suffix, case.data = text_cases.data_file(case.folder, case.rng())
    place = case.folder / "data"
    place.mkdir(exist_ok=True)
    path = place / f"x{suffix}"
    path.write_bytes(case.data)
    try:
        if suffix == ".log":
            EvaluationLog(path, {})
            return 1
        dataset = open_dataset(_glyphs(), place if suffix == ".wav" else path)
        for sample in dataset.samples():
            fit_rows(_glyphs(), 0, sample.inputs[0][np.newaxis], "data")
    finally:
        path.unlink()
    return 1


def _inspect(case: Case) -> int:
    """Shows a mutated model from a file of a hostile name on the command line."""
    rng = case.rng()
    if not _mutant(case, rng, 0.3):
        return 0
    pieces = "\x1b]0;x\x07", "\u202e", "*/", '"', "string", "a b", "??/", "é"
    path = case.folder / f"{pieces[int(rng.integers(len(pieces)))].replace('/', '')}.tflite"
    path.write_bytes(case.data)
    verbs = (
        ["inspect"],
        ["inspect", "--passes"],
        ["inspect", "--json"],
        ["plan"],
        ["plan", "--ascii"],
        ["plan", "--json"],
    )
    verb = verbs[int(rng.integers(len(verbs)))]
    try:
        return _command([verb[0], str(path), *verb[1:]])
    finally:
        path.unlink()


@cache
def _packages() -> tuple[bytes, ...]:
    """The bytes of a plan file, of packages that have it or make it from another one, and of keys."""
    file = kibi.compile_plan(_glyphs())
    whole = Package.whole(file, model=1, counter=2, target=3)
    delta = Package.delta(file, file, bytes(range(64)), model=1, counter=2, target=3)
    signed = replace(whole, scheme=Signature.ED25519, signature=bytes(range(1, 65)))
    seed = Ed25519PrivateKey.from_private_bytes(bytes(32))
    private = seed.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = seed.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return file.data, whole.data, delta.data, signed.data, private, public


def _package(case: Case) -> int:
    """Shows a mutated plan file, package or key on the command line; often with sums that are right again."""
    rng = case.rng()
    sources = _packages()
    source = sources[int(rng.integers(len(sources)))]
    if rng.random() < 0.5:
        case.data = byte_mutations.mutated(source, rng)
    else:  # what is inside of sums: of a plan file, which a package then has
        file = bytearray(byte_mutations.mutated(sources[0][:-DIGEST_BYTES], rng))
        file += bytes(max(-len(file) % 4, HEADER.size_bytes - len(file)))
        struct.pack_into("<I", file, HEADER.offsets["file_bytes"], len(file) + DIGEST_BYTES)
        case.data = bytes(file) + hashlib.sha256(file).digest()
        if rng.random() < 0.5:
            case.data = Package.whole(PlanFile(case.data), model=1, counter=2, target=3).data
    path = case.folder / "package"
    path.write_bytes(case.data)
    try:
        return _command(["inspect", str(path), *(["--json"] if case.number % 2 else [])])
    finally:
        path.unlink()


def _quantize(case: Case) -> int:
    """Quantizes a float model, which is mostly mutated, with data that are mostly hostile."""
    rng = case.rng()
    how = rng.random()
    sound = (*float_networks(), *(corpus()[number] for number in float_sources()))
    if how < 0.6:
        case.data = sound[int(rng.integers(len(sound)))]
    elif how < 0.8:
        case.data = byte_mutations.mutated(sound[int(rng.integers(len(sound)))], rng)
    else:
        try:
            case.data = model_mutations.mutated(int(rng.choice(float_sources())), rng)
        except model_mutations.WriterError:
            return 0
    return quantize_hostile(case.data, rng, case.folder)


def _c_api(case: Case) -> int:
    """Calls the functions of a compiled model in a random order with wrong arguments."""
    random_calls(case.rng())
    return 1


STAGES: Mapping[str, Callable[[Case], int]] = {
    "load": _load,
    "model": _model,
    "native": _native,
    "plan": _saved_plan,
    "regions": _regions,
    "place": _place,
    "events": _events,
    "arrays": _arrays,
    "inspect": _inspect,
    "c_api": _c_api,
    "package": _package,
    "data": _data,
    "quantize": _quantize,
    "gate": _gate,
}
"""Every stage by its name."""


def scratch_folder() -> Path:
    """A folder for the files of a process's cases, in memory where the machine has such a place."""
    shared = Path("/dev/shm")
    parent = shared if shared.is_dir() and os.access(shared, os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="kibi-fuzz-", dir=parent))
