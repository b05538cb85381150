"""The page of a report in a browser: the plan is walked through, the model runs, and nothing else happens."""

import time
import wave
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import kibi
from kibi import demo
from kibi.arrays.images import read_image
from kibi.dtypes import DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.pages.changes import changes_record
from kibi.pages.html import MOST_BYTES, report_page
from kibi.pages.measured import MeasuredModel
from kibi.pages.record import report_record
from kibi.quantization.comparing import LayerComparison
from kibi.reports.pareto import Choice
from tests.pages.browser import chromium, complaints, opened, shown_values, waited_for
from tests.pages.networks import HOSTILE, chain_bytes, hostile_bytes
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS
from tests.support.zoo import BENCHMARKS, model_path, requires_zoo

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

_DRAW = """
const board = document.querySelector(".board");
const box = board.getBoundingClientRect();
board.setPointerCapture = () => {};
const tell = (kind, x, y) => board.dispatchEvent(new PointerEvent(kind,
  { clientX: box.left + x, clientY: box.top + y, pointerId: 1, bubbles: true }));
tell("pointerdown", 60, 40);
for (let k = 0; k <= 20; k += 1) tell("pointermove", 60 + 5 * k, 40);
for (let k = 0; k <= 20; k += 1) tell("pointermove", 160 - 3 * k, 40 + 7.5 * k);
tell("pointerup", 100, 190);
return document.querySelector(".winner th").textContent;
"""
"""Draws a seven, and gives the class that wins."""
_TEXT = "return document.getElementById(arguments[0]).textContent"
_PRESS = """
const canvas = document.getElementById("plan-canvas");
canvas.dispatchEvent(new KeyboardEvent("keydown", { key: arguments[0], bubbles: true, cancelable: true }));
"""


def test_plan_is_walked_through_and_the_model_runs(
    glyphs: MeasuredModel, glyphs_errors: LayerComparison, glyphs_machine: dict[str, Any], tmp_path: Path
) -> None:
    """The digest is the device's, a drawn seven is read, a layer is shown in all views, and nobody is asked for anything."""
    record = report_record(glyphs, comparison=glyphs_errors)
    record = {**record, "changes": changes_record(record, record)}
    peak = record["plan"]["peak"]
    with chromium() as driver:
        opened(driver, report_page(record, glyphs_machine), tmp_path)
        assert driver.execute_script(_TEXT, "run-digest").startswith("Same bits as the device")
        assert driver.execute_script(_TEXT, "run-sha").endswith(glyphs_machine["golden"]["sha256"])
        assert f"Step {peak['step']} of" in driver.execute_script(_TEXT, "plan-step")
        assert driver.execute_script(_TEXT, "plan-step").endswith("bytes live, the peak.")
        driver.execute_script(_PRESS, "ArrowRight")
        assert f"Step {peak['step'] + 1} of" in driver.execute_script(_TEXT, "plan-step")
        live = sum(1 for each in record["plan"]["buffers"] if each[5] <= peak["step"] + 1 < each[6])
        rows = driver.execute_script("return document.querySelectorAll('#plan-live tr').length")
        assert 0 < rows <= live
        driver.execute_script(_PRESS, "ArrowDown")
        assert "It cannot die before step" in driver.execute_script(_TEXT, "plan-buffer")
        driver.execute_script("document.querySelectorAll('#cost-body button')[6].click()")
        assert driver.execute_script("return document.querySelector('#graph-details h3').textContent") == "6 ADD"
        first = next(step for step, (node, _) in enumerate(_steps(record)) if node == 6)
        assert f"Step {first} of" in driver.execute_script(_TEXT, "plan-step")
        driver.execute_script("document.querySelectorAll('#cost-head button')[5].click()")
        best = driver.execute_script("return document.querySelector('#cost-body tr').dataset.node")
        assert int(best) == max(range(14), key=lambda node: record["nodes"][node]["instructions"])
        order = "return [...document.querySelectorAll('#cost-body tr')].map((row) => Number(row.dataset.node))"
        driver.execute_script("document.querySelectorAll('#cost-head button')[2].click()")
        assert driver.execute_script(order) == [*range(13, 1, -1), 0, 1]  # the worst first, what is not known last
        driver.execute_script("document.querySelectorAll('#cost-head button')[2].click()")
        assert driver.execute_script(order) == [0, *range(2, 14), 1]
        assert driver.execute_script(_DRAW) == "7"
        assert complaints(driver) == []


def _steps(record: dict[str, Any]) -> list[tuple[int, int]]:
    return [(node, first + k) for node, first, count in record["plan"]["runs"] for k in range(count)]


_NUMBERS = """
const panel = document.querySelector(".input details");
panel.querySelector("textarea").value = arguments[0];
panel.querySelector("select").value = arguments[1];
panel.querySelector("button").click();
return document.querySelector(".winner th").textContent;
"""
"""Gives numbers to the model as a person does, and gives the class that wins."""


@pytest.mark.slow
def test_samples_as_numbers_are_read(
    glyphs_record: dict[str, Any], glyphs_machine: dict[str, Any], tmp_path: Path
) -> None:
    """As real values and as stored integers; what is no number is refused by its place."""
    images, labels = demo.samples()
    with chromium() as driver:
        opened(driver, report_page(glyphs_record, glyphs_machine), tmp_path)
        for image, label in zip(images.reshape(len(images), -1).tolist(), labels.tolist(), strict=True):
            real, stored = (",".join(map(str, each)) for each in ([p / 255 for p in image], [p - 128 for p in image]))
            assert driver.execute_script(_NUMBERS, real, "real") == str(label)
            assert driver.execute_script(_NUMBERS, stored, "stored") == str(label)
        driver.execute_script(_NUMBERS, "1, 2, x", "real")
        assert driver.execute_script(_TEXT, "run-problem") == "Not taken: number 3 is “x”, which is none."
        driver.execute_script(_NUMBERS, "1 2;3", "real")
        assert "takes 784 numbers, 3 were given" in driver.execute_script(_TEXT, "run-problem")
        assert complaints(driver) == []


@pytest.mark.slow
def test_picture_file_is_read_as_kibi_run_does(
    glyphs: MeasuredModel, glyphs_record: dict[str, Any], glyphs_machine: dict[str, Any], tmp_path: Path
) -> None:
    """One of the model's own size, whose pixels are not scaled: the same answer, to the last digit."""
    path, _ = demo.picture_paths()
    graph = glyphs.planned.model
    array = read_image(graph, path, graph.tensors[graph.inputs[0]])
    (expected,) = kibi.run(graph, glyphs.planned.plan, [array])
    with chromium() as driver:
        opened(driver, report_page(glyphs_record, glyphs_machine), tmp_path)
        driver.find_element("css selector", ".input input[type=file]").send_keys(str(path))
        assert waited_for(driver, [(int(each) + 128) / 256 for each in expected.reshape(-1)])
        assert complaints(driver) == []


def _sound_bytes() -> bytes:
    """A model of 160 samples of float32, whose answer is their size."""
    builder = ModelBuilder()
    given = builder.input((1, 160), DType.F32)
    made = builder.tensor((1, 160), DType.F32)
    builder.operator("ABS", [given], [made])
    return builder.finish([made])


_CONTROLS = {
    "button",
    "textbox",
    "slider",
    "combobox",
    "checkbox",
    "link",
    "image",
    "region",
    "application",
    "figure",
    "heading",
}


@pytest.mark.slow
def test_screen_reader_finds_a_name_for_everything(
    glyphs: MeasuredModel, glyphs_machine: dict[str, Any], tmp_path: Path
) -> None:
    """Each control, picture and region of the page, with all parts open."""
    found = glyphs.measurement
    choices = [
        Choice(name, "s", 1, 1, True, found.ram_bytes + more, found.flash_bytes - more, found.instructions, None, 0.0)
        for name, more in (("a", 0), ("b", 1))
    ]
    page = report_page(report_record(glyphs, old=glyphs, choices=choices), glyphs_machine)
    with chromium() as driver:
        opened(driver, page, tmp_path)
        driver.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
        driver.execute_script("document.querySelector('#graph-list button').click()")
        nodes = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        named = [(each["role"]["value"], each.get("name", {}).get("value")) for each in nodes if not each["ignored"]]
        assert {role for role, name in named if role in _CONTROLS and not name} == set()
        assert {role for role, _ in named} >= {"slider", "application", "figure", "table", "columnheader", "rowheader"}
        assert len([name for role, name in named if role == "region"]) == len(
            {n for role, n in named if role == "region"}
        )


@pytest.mark.slow
def test_model_without_an_arena_has_all_other_views(tmp_path: Path) -> None:
    """Input and output are in external buffers, so that there is no plan to show."""
    graph = parse_tflite(_sound_bytes(), "sound.tflite")
    plan = kibi.plan(graph, input="external", output="external")
    with chromium() as driver:
        opened(driver, kibi.report(graph, plan, oracle=False).page, tmp_path)
        assert driver.find_elements("id", "plan-canvas") == []
        assert len(driver.find_elements("css selector", "#cost-body tr")) == 1
        assert len(driver.find_elements("css selector", "#graph-list li")) == 1
        driver.execute_script("document.querySelector('#graph-list button').click()")
        assert complaints(driver) == []


@pytest.mark.slow
def test_sound_file_becomes_samples(tmp_path: Path) -> None:
    """A file of the model's rate that is longer than the input: its loudest part, from -1 to 1."""
    samples = np.zeros(480, np.int16)
    samples[100:420] = np.random.default_rng(0).integers(-99, 100, 320)
    samples[200:360] = np.random.default_rng(1).integers(-32768, 32768, 160)
    with wave.open(str(tmp_path / "sound.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(samples.tobytes())
    page = kibi.report(parse_tflite(_sound_bytes(), "sound.tflite"), oracle=False).page
    loudest = sorted(np.abs(samples[200:360].astype(np.float64)) / 32768, reverse=True)[:24]
    with chromium() as driver:
        opened(driver, page, tmp_path)
        driver.find_element("css selector", ".input input[accept='audio/*']").send_keys(str(tmp_path / "sound.wav"))
        assert waited_for(driver, loudest)
        assert complaints(driver) == []


def _tone(path: Path) -> None:
    """A second of a tone of 1 kHz that goes up to a half."""
    samples = (0.5 * 32767 * np.sin(2 * np.pi * np.arange(48_000) / 48)).astype(np.int16)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(48_000)
        file.writeframes(samples.tobytes())


def _pressed(driver: "Chrome", problem: str = "") -> list[float]:
    """Presses the button of the microphone; the values that the model then answers, or none after that problem was told."""
    driver.execute_script("for (const each of document.querySelectorAll('.bars .number')) each.textContent = 'old'")
    driver.find_element("xpath", "//button[text()='Record from the microphone']").click()
    for _ in range(500):
        if problem and problem in driver.execute_script(_TEXT, "run-problem"):
            return []
        shown = shown_values(driver)
        if "old" not in shown:
            return [float(each) for each in shown]
        time.sleep(0.02)
    pytest.fail("the microphone gave neither samples nor a problem")


@pytest.mark.slow
def test_microphone_gives_samples(tmp_path: Path) -> None:
    """As they are, at the rate of the model, and without the silence before them; a page from the disk may ask for it."""
    _tone(tmp_path / "tone.wav")
    page = kibi.report(parse_tflite(_sound_bytes(), "sound.tflite"), oracle=False).page
    fake = "--use-fake-device-for-media-stream", f"--use-file-for-fake-audio-capture={tmp_path / 'tone.wav'}"
    with chromium("--use-fake-ui-for-media-stream", *fake) as driver:
        opened(driver, page, tmp_path)
        found = _pressed(driver)
        assert len(found) == 24
        assert all(0.4 < each < 0.6 for each in found)
        assert [each for each in complaints(driver) if "ScriptProcessorNode" not in str(each)] == []


@pytest.mark.slow
def test_microphone_that_is_not_there_is_said_politely(tmp_path: Path) -> None:
    """Refused by the person, not connected, or withheld by the browser: the page says what to do, and all else works."""
    page = kibi.report(parse_tflite(_sound_bytes(), "sound.tflite"), oracle=False).page
    refused = "navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('', '%s'); }"
    hidden = "Object.defineProperty(navigator, 'mediaDevices', { value: undefined })"
    with chromium() as driver:
        opened(driver, page, tmp_path)
        for script, text in (
            (refused % "NotAllowedError", "Not taken: the browser was not allowed to use the microphone."),
            (refused % "NotFoundError", "Not taken: no microphone was found."),
            (hidden, "Not taken: this browser gives a page from here no microphone. Open the file from your disk"),
        ):
            driver.execute_script(script)
            assert _pressed(driver, text) == []
        driver.find_element("xpath", "//button[text()='Run the golden input']").click()
        assert "old" not in shown_values(driver)
        assert complaints(driver) == []


@pytest.mark.slow
def test_hostile_names_change_nothing(tmp_path: Path) -> None:
    """They are shown as they are, run nothing, and load nothing."""
    graph = parse_tflite(hostile_bytes(), "<script>.tflite")
    made = kibi.report(graph, old=graph, labels=HOSTILE, oracle=False)
    with chromium() as driver:
        opened(driver, made.page, tmp_path)
        for number in range(3):
            driver.execute_script("document.querySelectorAll('#graph-list button')[arguments[0]].click()", number)
            driver.execute_script(_PRESS, "ArrowUp")
        assert driver.title == f"{graph.name} on cortex-m4: Kibi's report"
        assert driver.execute_script("return document.querySelectorAll('script').length") == 2
        assert driver.execute_script("return document.querySelectorAll('[onerror], [onclick], img').length") == 0
        assert "onclick" in driver.execute_script("return document.body.textContent")
        assert complaints(driver) == []


_KINDS = (
    "ASSIGN_VARIABLE", "BATCH_MATMUL", "CAST", "CIRCULAR_BUFFER", "CONCATENATION", "EXP", "IF", "LOGISTIC", "SVDF", "SignalRfft",
    "TRANSPOSE_CONV", "UNIDIRECTIONAL_SEQUENCE_LSTM", "WHILE",
)  # fmt: skip


@pytest.mark.slow
def test_models_of_every_kind_answer_with_the_bits_of_the_device(tmp_path: Path) -> None:
    """Variables, branches, loops, float32, int16, several inputs: the digest in the page is Python's."""
    told = {}
    with chromium() as driver:
        for name in _KINDS:
            graph = parse_tflite(OPERATOR_MODELS[name](Seeded(1)).model, f"{name.lower()}.tflite")
            opened(driver, kibi.report(graph, oracle=False).page, tmp_path)
            told[name] = driver.execute_script(_TEXT, "run-digest")
            assert complaints(driver) == []
    assert {name for name, text in told.items() if not text.startswith("Same bits as the device")} == set()


@pytest.mark.slow
def test_page_of_two_thousand_operators_is_usable(tmp_path: Path) -> None:
    """It is within its size, and shows a step in the middle, with the operators around it."""
    graph = parse_tflite(chain_bytes(2000), "chain.tflite")
    page = kibi.report(graph, oracle=False).page
    assert len(page) <= MOST_BYTES
    with chromium() as driver:
        opened(driver, page, tmp_path)
        assert driver.execute_script("return document.querySelectorAll('#cost-body tr').length") == 2000
        driver.execute_script("document.querySelectorAll('#cost-body button')[1006].click()")
        assert (
            driver.execute_script("return document.querySelector('#graph-details h3').textContent")
            == "1006 MAX_POOL_2D"
        )
        assert "of 1006 MAX_POOL_2D" in driver.execute_script(_TEXT, "plan-step")
        assert driver.execute_script("return document.getElementById('graph-box').scrollTop") > 30_000
        assert complaints(driver) == []


@pytest.mark.slow
def test_browser_without_webassembly_says_so(
    glyphs_record: dict[str, Any], glyphs_machine: dict[str, Any], tmp_path: Path
) -> None:
    """And shows all else."""
    with chromium() as driver:
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": "delete globalThis.WebAssembly"})
        opened(driver, report_page(glyphs_record, glyphs_machine), tmp_path)
        assert driver.execute_script(_TEXT, "run-digest").startswith("This browser has no WebAssembly")
        assert driver.execute_script("return document.querySelectorAll('#cost-body tr').length") == 14
        assert complaints(driver) == []


@pytest.mark.slow
@requires_zoo
@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_models_run_in_their_pages(name: str, tmp_path: Path) -> None:
    """Within 1.5 MB, weights and all."""
    page = kibi.report(kibi.load(model_path(name))).page
    assert len(page) <= MOST_BYTES
    with chromium() as driver:
        opened(driver, page, tmp_path)
        assert driver.execute_script(_TEXT, "run-digest").startswith("Same bits as the device")
        assert complaints(driver) == []
