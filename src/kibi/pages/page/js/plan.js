// The memory plan as a live picture: a slider and keys move through the row steps, the mouse asks for buffers.

import { brief, make, part, whole } from "./dom.js";
import { bufferName, explainBuffer, explainStep, groupByTensor, madeBy, neededUntil, rowsOf } from "./explain.js";
import { Picture } from "./picture.js";
import { record, tensorOf } from "./record.js";
import { onSelection, select } from "./selection.js";
import { followRuns, listBuffers } from "./steps.js";

const NARROWEST = 1 / 4096;
const NEAR = 24;

/** Fills the section of the plan; a model that stores nothing in the arena has no such section. */
export function showPlan() {
  const steps = followRuns();
  if (!steps.count || !part("plan")) return;
  const plan = new LivePlan(steps);
  onSelection((node, view) => plan.followSelection(node, view));
  plan.goTo(record.plan.peak ? record.plan.peak.step : 0);
}

class LivePlan {
  constructor(steps) {
    this.steps = steps;
    this.buffers = listBuffers();
    this.picture = new Picture(part("plan-canvas"), steps, this.buffers);
    this.slider = part("plan-slider");
    this.slider.max = String(steps.count - 1);
    this.listen();
    this.picture.resize();
  }

  listen() {
    const { canvas } = this.picture;
    this.slider.addEventListener("input", () => this.goTo(Number(this.slider.value)));
    part("plan-back").addEventListener("click", () => this.goTo(this.step - 1));
    part("plan-on").addEventListener("click", () => this.goTo(this.step + 1));
    part("plan-peak").addEventListener("click", () => this.goTo(record.plan.peak.step));
    part("plan-closer").addEventListener("click", () => this.zoom(0.5));
    part("plan-further").addEventListener("click", () => this.zoom(2));
    canvas.addEventListener("mousemove", (event) => this.hover(event));
    canvas.addEventListener("mouseleave", () => this.choose(null));
    canvas.addEventListener("click", (event) => this.click(event));
    canvas.addEventListener("keydown", (event) => this.press(event));
    new ResizeObserver(() => this.picture.resize()).observe(canvas);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.picture.draw());
    for (const [name, isPrinted] of [["beforeprint", true], ["afterprint", false]]) {
      window.addEventListener(name, () => {
        this.picture.isPrinted = isPrinted;
        this.picture.draw();
      });
    }
  }

  /** Shows a step. */
  goTo(wanted) {
    this.step = Math.min(Math.max(wanted, 0), this.steps.count - 1);
    this.slider.value = String(this.step);
    const text = explainStep(this.step, this.steps);
    this.slider.setAttribute("aria-valuetext", text);
    part("plan-step").textContent = text;
    this.live = this.buffers.filter((each) => each.start <= this.step && this.step < each.end)
      .sort((one, other) => one.offset - other.offset);
    if (this.buffer && !this.live.includes(this.buffer)) this.choose(null);
    this.picture.view.step = this.step;
    if (!this.keepInView()) this.picture.mark();
    this.fillTable();
  }

  /** In a long plan, shows the operators around the step alone: a box of less than a pixel says nothing. */
  showNear() {
    const { view } = this.picture;
    const wanted = NEAR / record.nodes.length;
    if (view.to - view.from > 4 * wanted) this.zoom(wanted / (view.to - view.from));
  }

  /** Moves the shown part of time so that the step is in it. True if all was drawn anew. */
  keepInView() {
    const { view } = this.picture;
    const [start, end] = [this.steps.edges[this.step], this.steps.edges[this.step + 1]];
    if (start >= view.from && end <= view.to + 1e-9) return false;
    const width = view.to - view.from;
    view.from = Math.min(Math.max(start - width / 2, 0), 1 - width);
    view.to = view.from + width;
    this.picture.draw();
    return true;
  }

  zoom(factor) {
    const { view } = this.picture;
    const width = Math.min(1, Math.max(NARROWEST, (view.to - view.from) * factor));
    const middle = (this.steps.edges[this.step] + this.steps.edges[this.step + 1]) / 2;
    view.from = Math.min(Math.max(middle - width / 2, 0), 1 - width);
    view.to = view.from + width;
    this.picture.draw();
  }

  /** Marks a buffer and explains it; null: none. */
  choose(buffer) {
    this.buffer = buffer;
    this.picture.view.buffer = buffer;
    this.picture.mark();
    part("plan-buffer").textContent = buffer === null ?
      "Point at a row, or press the up and down keys in the picture, to learn who made it and who still needs it." :
      explainBuffer(buffer, this.step, this.steps);
  }

  hover(event) {
    const step = this.picture.stepAt(event);
    const buffer = this.picture.bufferAt(event, step);
    if (buffer === this.buffer) return;
    this.choose(buffer);
    if (buffer !== null) part("plan-buffer").textContent = explainBuffer(buffer, step, this.steps);
  }

  click(event) {
    const step = this.picture.stepAt(event);
    const buffer = this.picture.bufferAt(event, step);
    this.goTo(step);
    const maker = buffer === null || buffer.tensor < 0 ? this.steps.nodes[step] : tensorOf(buffer.tensor).maker;
    if (maker >= 0) select(maker, "plan");
  }

  press(event) {
    const keys = {
      ArrowLeft: () => this.goTo(this.step - 1),
      ArrowRight: () => this.goTo(this.step + 1),
      PageUp: () => this.goTo(this.step - 10),
      PageDown: () => this.goTo(this.step + 10),
      Home: () => this.goTo(0),
      End: () => this.goTo(this.steps.count - 1),
      ArrowUp: () => this.chooseNext(1),
      ArrowDown: () => this.chooseNext(-1),
      "+": () => this.zoom(0.5),
      "-": () => this.zoom(2),
      Enter: () => select(this.steps.nodes[this.step], "plan"),
    };
    if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  }

  /** Chooses the live buffer above or below the chosen one. */
  chooseNext(by) {
    if (!this.live.length) return;
    const place = this.live.indexOf(this.buffer);
    const next = place < 0 ? (by > 0 ? 0 : this.live.length - 1) : place + by;
    this.choose(this.live[Math.min(Math.max(next, 0), this.live.length - 1)]);
  }

  /** Shows a node that another view has selected: its first step, and its tensors apart from the others. */
  followSelection(node, view) {
    this.picture.view.node = node;
    this.picture.draw();
    const first = this.steps.nodes.indexOf(node);
    if (view === "plan" || first < 0) return;
    this.goTo(first);
    this.showNear();
  }

  fillTable() {
    const rows = groupByTensor(this.live).map(({ members, size }) => this.row(members, size));
    part("plan-live").replaceChildren(...rows);
  }

  row(members, size) {
    const latest = members.reduce((last, each) => (each.end > last.end ? each : last));
    const { tensor } = latest;
    const chip = make("span", { class: "chip" });
    chip.style.background = tensor < 0 ? "#b9b9b9" : tensorOf(tensor).color ?? "#b9b9b9";
    const name = tensor < 0 ? bufferName(latest) : tensorOf(tensor).name;
    return make("tr", {},
      make("th", { scope: "row", title: name }, chip, brief(name, 40)),
      make("td", { class: "brief" }, rowsOf(members)),
      make("td", { class: "number" }, whole(size)),
      make("td", { class: "brief" }, madeBy(latest)),
      make("td", {}, neededUntil(latest, this.steps)));
  }
}
