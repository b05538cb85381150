// The model, running in the page: the golden input first, then whatever a person gives.

import { make, part, whole } from "./dom.js";
import { inputPanel } from "./inputs.js";
import { Machine, decoded } from "./machine.js";
import { formOf, record } from "./record.js";
import { realValues } from "./values.js";

const MOST_BARS = 24;

/** Starts the model, checks its digest, and shows its inputs. */
export async function showRun() {
  const { run } = record;
  if (run.left_out) return;
  if (typeof WebAssembly === "undefined") {
    tell("This browser has no WebAssembly, so the model cannot run here. All else in this report works without it.", "bad");
    return;
  }
  try {
    const machine = await Machine.start(run);
    checkGolden(machine, run);
    new Run(machine, run).show();
  } catch (error) {
    tell(`The model does not run in this browser: ${error.message}.`, "bad");
  }
}

function tell(text, kind) {
  part("run-digest").textContent = text;
  part("run-digest").dataset.state = kind;
}

function checkGolden(machine, run) {
  const { digest, milliseconds } = machine.golden();
  const isEqual = digest === run.golden.sha256;
  const took = `${milliseconds.toFixed(milliseconds < 10 ? 2 : 0)} ms for an inference in this browser`;
  tell(isEqual ? `Same bits as the device: the digest of the golden answer is equal, ${took}.` :
    `Other bits than the device: the digest of the golden answer is ${digest}, ${run.golden.sha256} is right.`,
  isEqual ? "good" : "bad");
  part("run-sha").textContent = `SHA-256 ${digest}`;
}

class Run {
  constructor(machine, run) {
    this.machine = machine;
    this.run = run;
    this.inputs = run.golden.inputs.map(decoded);
  }

  show() {
    const failed = (error) => {
      part("run-problem").textContent = `Not taken: ${error.message}.`;
    };
    const panels = this.run.inputs.map((end, number) => inputPanel(end, (bytes) => this.take(number, bytes), failed));
    part("run-inputs").replaceChildren(...panels);
    const golden = make("button", { type: "button" }, "Run the golden input");
    golden.addEventListener("click", () => {
      this.inputs = this.run.golden.inputs.map(decoded);
      this.infer();
    });
    part("run-inputs").append(make("p", { class: "buttons" }, golden));
    this.inputs = this.run.golden.inputs.map(decoded);
    this.infer();
  }

  take(number, bytes) {
    part("run-problem").textContent = "";
    this.inputs[number] = bytes;
    this.infer();
  }

  infer() {
    const outputs = this.machine.infer(this.inputs);
    part("run-outputs").replaceChildren(...(outputs.length ?
      outputs.map((bytes, number) => this.output(this.run.outputs[number], bytes)) :
      [make("p", {}, "No answer yet: the model waits for more input. Run it again.")]));
  }

  output(end, bytes) {
    const values = realValues(end, bytes);
    const ranked = values.map((value, place) => ({ value, place })).sort((one, other) => other.value - one.value);
    const isLong = values.length > MOST_BARS;
    const shown = isLong ? ranked.slice(0, MOST_BARS) : values.map((value, place) => ({ value, place }));
    const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
    const winner = ranked[0]?.place;
    const rows = shown.map(({ value, place }) => this.bar(value, place, low, high, place === winner && values.length > 1));
    return make("div", { class: "output" },
      make("h3", {}, end.name), make("p", { class: "form" }, formOf(end)),
      make("table", { class: "bars" }, make("caption", { class: "hidden" }, `Values of ${end.name}`),
        make("tbody", {}, ...rows)),
      isLong ? make("p", { class: "note" }, `The ${MOST_BARS} largest of ${whole(values.length)} values.`) : null);
  }

  bar(value, place, low, high, isWinner) {
    const width = high > low ? (100 * Math.max(value - Math.min(low, 0), 0)) / (high - low) : 0;
    const made = make("span", { class: "bar", "aria-hidden": "true" });
    made.style.width = `${width}%`;
    const text = Number.isInteger(value) ? whole(value) : value.toPrecision(4);
    return make("tr", { class: isWinner ? "winner" : null },
      make("th", { scope: "row" }, this.run.labels[place] ?? String(place)),
      make("td", { class: "track" }, made),
      make("td", { class: "number" }, text));
  }
}
