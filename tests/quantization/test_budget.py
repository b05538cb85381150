"""Types that are chosen so that a model fits a budget."""

import re
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

import kibi
from examples.patterns import Layer, Net, patterns
from kibi.dtypes import DType
from kibi.errors import InputError, PlanError
from kibi.quantization import budget as budget_module
from kibi.quantization.budget import Search, units_of
from kibi.quantization.costs import shares_of
from kibi.quantization.forecast import Forecast, Levels
from kibi.quantization.loss import Loss, LossJudge
from kibi.quantization.network import Network
from kibi.quantization.precision import PRECISIONS, precisions_down_to
from kibi.quantization.quantizing import Wishes, quantize_network
from kibi.quantization.report import LIMIT_WORDS, Costs, Limits, Quantization


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small trained network whose channels are uneven, and data with labels."""
    folder = tmp_path_factory.mktemp("budget")
    layers = [Layer("conv", 6, 3, 2, "RELU"), Layer("depthwise", 0, 3, 2, "RELU"), Layer("conv", 8, 1, 1, "RELU")]
    net = Net([*layers, Layer("dense", 10), Layer("dense", 10)], (12, 12, 1))
    net.train(*patterns(600, 1), epochs=6)
    net.rescale(0, 2.0 ** np.random.default_rng(5).uniform(-7, 0, 6))
    (folder / "net.tflite").write_bytes(net.file())
    pictures, labels = patterns(120, 2)
    np.savez(folder / "data.npz", input=pictures.astype(np.float32), labels=labels)
    return folder


def quantized(files: Path, path: Path | None = None, *, improve: bool = True, **limits: int) -> Quantization:
    """The network, fitted to limits."""
    return kibi.quantize(files / "net.tflite", files / "data.npz", path, improve=improve, **limits)  # type: ignore[arg-type]


@pytest.mark.slow
def test_model_fits_and_loses_less_than_int8(files: Path, tmp_path: Path) -> None:
    """Between the instructions of int8 and of float32 there is room for more precise types."""
    plain = quantized(files)
    assert plain.costs_before is not None
    assert plain.costs_after is not None
    limit = (plain.costs_before.instructions + plain.costs_after.instructions) // 2
    made = quantized(files, tmp_path / "fitted.tflite", instructions=limit)
    assert made.budget is not None
    assert made.budget.used.instructions <= limit
    assert made.costs_after == made.budget.used
    assert made.decibels > plain.decibels
    assert made.budget.measured <= 32
    types = {each.output: each.precision for each in made.budget.types}
    assert len({*types.values()}) > 1
    assert [each.dtype for each in made.layers] == [
        {"float32": "f32", "int16": "s16", "int8": "s8"}[types[each.output]] for each in made.layers
    ]
    model = kibi.simplify(kibi.load(tmp_path / "fitted.tflite"))
    found = kibi.measure(kibi.compile(model, kibi.plan(model, target="cortex-m4"), tmp_path / "library"))
    assert found.instructions <= limit


@pytest.mark.slow
def test_the_same_limits_give_the_same_file(files: Path) -> None:
    """Nothing is drawn anew, and no clock decides."""
    first, again = (quantized(files, flash=13_000) for _ in range(2))
    assert again.data == first.data
    assert again.budget == first.budget


@pytest.mark.slow
def test_conversions_between_types_count(files: Path) -> None:
    """The instructions that are held to the limit are those of the whole model, with every QUANTIZE and DEQUANTIZE."""
    network = Network.of((files / "net.tflite").read_bytes(), "net.tflite")
    rows = [(picture[None].astype(np.float32),) for picture in patterns(20, 1)[0]]
    plain = quantize_network(network, rows, Wishes())
    mixed = quantize_network(network, rows, Wishes(floats=frozenset(("layer1_depthwise",))))
    processor = kibi.target("cortex-m4")
    shares = [shares_of(model, processor) for model in (plain, mixed)]
    assert (shares[0].conversions, shares[0].converted) == (0, 0)
    assert shares[1].converted == 6 * 6 * 6 + 3 * 3 * 6
    assert shares[1].conversions > 2 * shares[1].converted
    own = sum(each.instructions for each in shares[1].layers.values())
    assert 0 <= shares[1].costs.instructions - own - shares[1].conversions < 0.1 * own


@pytest.mark.slow
def test_wide_limits_leave_everything_float32(files: Path) -> None:
    """What fits as it is loses nothing."""
    made = quantized(files, ram=1 << 20, flash=1 << 20)
    assert made.budget is not None
    assert {each.precision for each in made.budget.types} == {"float32"}
    assert {each.reason for each in made.float_operators} == {"the limits have room for it"}
    assert made.decibels > 100
    assert made.budget.limits == Limits(1 << 20, 1 << 20)


@pytest.mark.slow
def test_names_keep_their_types(files: Path) -> None:
    """A search does not change what the user has decided."""
    limit = {"improve": False, "flash": 13_000}
    made = kibi.quantize(files / "net.tflite", files / "data.npz", floats=("SOFTMAX",), int16=("layer0_conv",), **limit)  # type: ignore[arg-type]
    assert made.budget is not None
    types = {each.output: each.precision for each in made.budget.types}
    assert (types["scores"], types["layer0_conv"]) == ("float32", "int16")


@pytest.mark.slow
def test_nothing_is_written_where_nothing_fits(files: Path, tmp_path: Path) -> None:
    """The error says what the smallest reach takes, by how much each limit is missed, and what to give."""
    with pytest.raises(PlanError) as caught:
        quantized(files, tmp_path / "net.tflite", improve=False, ram=100, instructions=3_000)
    found = re.search(
        r"none of the (\d+) choices of types that were tried fits on cortex-m4\. The nearest one, with operators of .*int8.*, "
        r"takes ([\d,]+) bytes of RAM, ([\d,]+) more than the limit of 100 and ([\d,]+) instructions, "
        r"([\d,]+) more than the limit of 3,000\. Give --ram (\d+) and --instructions (\d+) or more, or a smaller network",
        str(caught.value),
    )
    assert found is not None
    tried, ram, more_ram, instructions, more_instructions, *given = (
        int(each.replace(",", "")) for each in found.groups()
    )
    assert 3 <= tried <= 32
    assert (more_ram, more_instructions) == (ram - 100, instructions - 3000)
    assert given == [ram, instructions]
    assert quantized(files, improve=False, ram=ram, instructions=instructions).budget is not None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_less_flash_than_models_of_one_type_take_is_found(tmp_path: Path) -> None:
    """Weights of int4 where most weights are, and no code for them elsewhere: kinds of operators are tried together."""
    layers = [Layer("conv", 4, 3, 1, "RELU"), Layer("conv", 4, 3, 2, "RELU"), Layer("dense", 16), Layer("dense", 10)]
    net = Net(layers, (12, 12, 1))
    net.train(*patterns(300, 1), epochs=2)
    (tmp_path / "net.tflite").write_bytes(net.file())
    pictures, labels = patterns(60, 2)
    np.savez(tmp_path / "data.npz", input=pictures.astype(np.float32), labels=labels)
    flash = []
    for weights in ("int8", "int4"):
        costs = kibi.quantize(
            tmp_path / "net.tflite", tmp_path / "data.npz", improve=False, weights=weights
        ).costs_after
        assert costs is not None
        flash.append(costs.flash_bytes)
    limit = min(flash) - 40
    made = kibi.quantize(tmp_path / "net.tflite", tmp_path / "data.npz", improve=False, weights="int4", flash=limit)
    assert made.budget is not None
    assert made.budget.used.flash_bytes <= limit
    assert {each.precision for each in made.budget.types} == {"int8", "int4"}


def test_forecast_finds_the_sums_that_costs_are_made_of() -> None:
    """Costs that are made of shares, of code for each kind and type, and of conversions are foretold for all other mixtures."""
    share = {("flash_bytes", level): (400, 100)[level] for level in range(2)} | {
        ("instructions", 0): 7000,
        ("instructions", 1): 900,
    }
    kinds, code = (0, 1, 0, 1), ((2000, 700), (1500, 800))

    def border(levels: Levels) -> int:
        return sum(50 for left, right in pairwise(levels) if left != right)

    def costs(levels: Levels) -> dict[str, int]:
        shared = sum(code[kind][level] for kind, level in set(zip(kinds, levels, strict=True)))
        crossed = border(levels)
        own = {name: sum(share[name, level] for level in levels) for name in ("flash_bytes", "instructions")}
        return {
            "ram_bytes": 300,
            "flash_bytes": 500 + own["flash_bytes"] + shared + (150 if crossed else 0),
            "instructions": own["instructions"] + 12 * crossed,
        }

    every = list(product(range(2), repeat=4))
    known = {levels: costs(levels) for levels in every[::2] + every[1:8:3]}
    made = Forecast.of(kinds, 2, lambda _, level, name: share.get((name, level), 0), border, known)
    for levels in every:
        for name, cost in costs(levels).items():
            assert made.cost(levels, name) == pytest.approx(cost, rel=0.01), (levels, name)


@pytest.mark.slow
def test_a_mixture_is_found_where_few_of_all_fit(files: Path) -> None:
    """All 64 mixtures of float32 and int8 are measured: for limits between them, what is refused fits in none of them."""
    network = Network.of((files / "net.tflite").read_bytes(), "net.tflite")
    rows = [(picture[None].astype(np.float32),) for picture in patterns(120, 2)[0]]
    least = quantize_network(network, rows[::2], Wishes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kibi.quantization.precision.PRECISIONS", (PRECISIONS[0], PRECISIONS[2]))
        judge, processor = LossJudge.of(network, rows[1::2], None), kibi.target("cortex-m4")
        every = Search(least, judge, Limits(), processor, lambda _: None)
        costs = [every._measure(levels).shares.costs for levels in product(range(2), repeat=6)]
        lows, highs = ([pick(getattr(each, name) for each in costs) for name in LIMIT_WORDS] for pick in (min, max))
        rng, refused = np.random.default_rng(1), 0
        for _ in range(12):
            drawn = [int(low + (high - low) * rng.uniform(0.02, 0.9)) for low, high in zip(lows, highs, strict=True)]
            limits = Limits(**{name: most for name, most in zip(LIMIT_WORDS, drawn, strict=True) if rng.random() < 0.7})
            search = Search(least, judge, limits, processor, lambda _: None)
            fitting = sum(limits.hold(each) for each in costs)
            try:
                assert limits.hold(search.found().costs)
            except PlanError:
                refused += 1
                assert not fitting, limits
        assert refused < 12


def test_limits_need_a_processor_and_are_at_least_one(files: Path) -> None:
    """Without one, nothing is measured."""
    with pytest.raises(InputError, match=r"a limit of bytes of flash needs a processor"):
        kibi.quantize(files / "net.tflite", files / "data.npz", flash=9000, target=None)
    with pytest.raises(InputError, match=r"the limit of instructions is 0\. Give at least 1"):
        quantized(files, instructions=0)


def test_operators_that_move_elements_go_with_their_maker(files: Path) -> None:
    """A RESHAPE of another type than the layer before it would add conversions alone."""
    network = Network.of((files / "net.tflite").read_bytes(), "net.tflite")
    rows = [(picture[None].astype(np.float32),) for picture in patterns(4, 1)[0]]
    plain = quantize_network(network, rows, Wishes())
    assert units_of(plain) == ((0,), (1,), (2, 3), (4,), (5,), (6,))
    named = quantize_network(network, rows, Wishes(floats=frozenset(("SOFTMAX",))))
    assert units_of(named) == ((0,), (1,), (2, 3), (4,), (5,))


def test_long_networks_have_a_bounded_number_of_units(monkeypatch: pytest.MonkeyPatch, files: Path) -> None:
    """Neighbours get one type together, and each operator is in one unit."""
    network = Network.of((files / "net.tflite").read_bytes(), "net.tflite")
    plain = quantize_network(network, [(patterns(1, 1)[0][0][None].astype(np.float32),)], Wishes())
    monkeypatch.setattr(budget_module, "_MOST_UNITS", 2)
    assert units_of(plain) == ((0, 1, 2, 3), (4, 5, 6))


def test_accuracy_counts_where_there_are_labels() -> None:
    """What float32 answers right and the integers do not is the loss; noise decides between models that answer alike."""
    net = Net([Layer("conv", 4, 3, 3, "RELU"), Layer("conv", 8, 1, 1, "RELU"), Layer("dense", 10)], (12, 12, 1))
    net.train(*patterns(400, 1), epochs=3)
    net.rescale(0, np.array([1, 2.0**-9, 2.0**-9, 2.0**-9]))
    network = Network.of(net.file(), "net.tflite")
    pictures, labels = patterns(200, 2)
    rows = [(picture[None].astype(np.float32),) for picture in pictures]
    with_labels = LossJudge.of(network, rows, labels.tolist())
    without = LossJudge.of(network, rows, None)
    assert with_labels.right == pytest.approx((np.argmax(net.forward(pictures), axis=1) == labels).mean(), abs=0.011)
    found = [quantize_network(network, rows[:50], Wishes(activations=each)) for each in (DType.S8, DType.S16)]
    coarse, fine = (with_labels.loss(model) for model in found)
    assert coarse.accuracy is not None
    assert coarse.lost_accuracy == pytest.approx(with_labels.right - coarse.accuracy)
    assert coarse.lost_accuracy > 0.1
    assert coarse.lost_accuracy > fine.lost_accuracy
    assert coarse.total == pytest.approx(coarse.lost_accuracy + coarse.noise)
    assert without.loss(found[0]) == Loss(coarse.noise)


def test_types_are_the_entries_of_a_table() -> None:
    """From the most precise to the least; what is asked for is the last one."""
    assert [each.name for each in precisions_down_to(DType.S8, is_int4=True)] == [each.name for each in PRECISIONS]
    assert [each.name for each in precisions_down_to(DType.S8)] == ["float32", "int16", "int8"]
    assert [each.name for each in precisions_down_to(DType.S16)] == ["float32", "int16"]


@pytest.mark.slow
def test_search_takes_the_types_that_the_table_has(monkeypatch: pytest.MonkeyPatch, files: Path) -> None:
    """Without its entry, no operator becomes int16."""
    monkeypatch.setattr("kibi.quantization.precision.PRECISIONS", (PRECISIONS[0], PRECISIONS[2]))
    made = quantized(files, improve=False, ram=800)
    assert made.budget is not None
    assert {each.precision for each in made.budget.types} == {"float32", "int8"}


def test_limits_say_what_is_above_them() -> None:
    """By how much, of those that there are."""
    limits = Limits(ram_bytes=100, instructions=5)
    assert limits.excess(Costs(120, 10**9, 5)) == {"ram_bytes": 20}
    assert limits.hold(Costs(100, 10**9, 5))
