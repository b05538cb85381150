// One panel for each input of the model: a drawing board or a picture, sound, numbers.

import { make, whole } from "./dom.js";
import { DrawingBoard } from "./images.js";
import { formOf } from "./record.js";
import { loudest, recorded, samplesOf, takesSamples } from "./sound.js";
import { bytesOf, parseNumbers, quantized, stored } from "./values.js";

const RATES = [8000, 16000, 44100, 48000];

/** The panel of an input. Calls `changed` with its bytes, and `failed` with an error. */
export function inputPanel(end, changed, failed) {
  const give = (elements) => changed(bytesOf(elements));
  const parts = [make("h3", {}, end.name), make("p", { class: "form" }, formOf(end))];
  if (end.pixels) parts.push(pictureInput(end, give, failed));
  if (takesSamples(end)) parts.push(soundInput(end, give, failed));
  parts.push(numberInput(end, give, failed));
  return make("div", { class: "input" }, ...parts);
}

function pictureInput(end, give, failed) {
  const board = new DrawingBoard(end, give);
  const clear = button("Clear", () => board.clear());
  const invert = button("Swap black and white", () => board.invert());
  const file = make("input", { type: "file", accept: "image/*" });
  const show = (given) => {
    if (given) board.show(given).catch(() => failed(new Error("the file is no picture that this browser reads")));
  };
  file.addEventListener("change", () => show(file.files[0]));
  board.canvas.addEventListener("dragover", (event) => event.preventDefault());
  board.canvas.addEventListener("drop", (event) => {
    event.preventDefault();
    show(event.dataTransfer.files[0]);
  });
  return make("div", {}, board.canvas,
    make("p", { class: "buttons" }, clear, invert),
    make("label", {}, "Draw, drop a picture on the board, or choose one: ", file));
}

function soundInput(end, give, failed) {
  const rate = make("select", {}, ...RATES.map((each) =>
    make("option", { value: each, selected: each === 16000 }, `${whole(each)} Hz`)));
  const file = make("input", { type: "file", accept: "audio/*" });
  const take = (samples) => {
    const window = Array.from(loudest(samples, end.elements));
    while (window.length < end.elements) window.push(0);
    give(end.type === "float32" ? quantized(end, window) : stored(end, window.map((each) =>
      Math.max(-32768, Math.min(32767, Math.round(each * 32768))))));
  };
  file.addEventListener("change", () => {
    if (file.files[0]) samplesOf(file.files[0], Number(rate.value)).then(take, failed);
  });
  // A second more than the input takes: a microphone begins with silence, and a person with a breath.
  const microphone = button("Record from the microphone", () =>
    recorded(end.elements + Number(rate.value), Number(rate.value)).then(take, failed));
  return make("div", {}, make("label", {}, "Samples in a second: ", rate),
    make("label", {}, "A sound file, whose loudest part is taken: ", file), make("p", { class: "buttons" }, microphone),
    make("p", { class: "note" }, "It records a second more than the input takes, and the loudest part is taken."));
}

function numberInput(end, give, failed) {
  const text = make("textarea", { rows: 3, spellcheck: "false", placeholder: "0.1, 0.2, …" });
  const kind = make("select", {},
    make("option", { value: "real" }, "real values"), make("option", { value: "stored" }, "stored integers"));
  const file = make("input", { type: "file", accept: ".csv,.txt,text/*" });
  const take = () => {
    try {
      const values = parseNumbers(text.value, end.elements);
      give(kind.value === "real" ? quantized(end, values) : stored(end, values));
    } catch (error) {
      failed(error);
    }
  };
  file.addEventListener("change", () => {
    file.files[0]?.text().then((given) => {
      text.value = given;
      take();
    }, failed);
  });
  const note = end.pixels || takesSamples(end) ? null : make("p", { class: "note" },
    "A model of sound takes features here, such as a spectrogram: make them with the front end that it was trained with.");
  return make("details", { open: !end.pixels && !takesSamples(end) },
    make("summary", {}, `${whole(end.elements)} numbers`), note,
    make("label", {}, "Numbers, in the order of the tensor: ", text),
    make("label", {}, "They are ", kind),
    make("label", {}, "A CSV file: ", file),
    make("p", { class: "buttons" }, button("Take these numbers", take)));
}

function button(text, act) {
  const made = make("button", { type: "button" }, text);
  made.addEventListener("click", act);
  return made;
}
