// The picture of the memory plan: time goes right, addresses go up; above it the bytes that live.

import { record, tensorOf } from "./record.js";
import { whole } from "./dom.js";

const LEFT = 58;
const RIGHT = 8;
const PROFILE = 46;
const GAP = 14;
const FOOT = 38;
const STRIP = 8;
const SCRATCH = "#b9b9b9";

/** Draws the plan on a canvas. `view` says what part of time is shown, and what is marked. */
export class Picture {
  constructor(canvas, steps, buffers) {
    this.canvas = canvas;
    this.steps = steps;
    this.buffers = buffers;
    this.still = document.createElement("canvas");
    this.view = { from: 0, to: 1, step: 0, buffer: null, node: -1 };
    this.isPrinted = false;
  }

  /** Takes the size that the page gives, and draws anew. */
  resize() {
    const box = this.canvas.getBoundingClientRect();
    this.ratio = window.devicePixelRatio || 1;
    this.width = Math.max(box.width, 240);
    this.height = Math.max(box.height, 200);
    for (const each of [this.canvas, this.still]) {
      each.width = Math.round(this.width * this.ratio);
      each.height = Math.round(this.height * this.ratio);
    }
    this.top = PROFILE + GAP;
    this.bottom = this.height - FOOT;
    this.draw();
  }

  /** Draws all of it, and the marks. */
  draw() {
    const pen = this.still.getContext("2d");
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    pen.font = "11px system-ui, sans-serif";
    this.colors = this.readColors();
    this.drawAxes(pen);
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, 0, this.width - LEFT - RIGHT, this.height);
    pen.clip();
    this.drawBuffers(pen);
    this.drawProfile(pen);
    this.drawRegions(pen);
    pen.restore();
    this.drawSteps(pen);
    this.mark();
  }

  /** Draws the marks alone: the step, and the chosen buffer. */
  mark() {
    const pen = this.canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.drawImage(this.still, 0, 0);
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.beginPath();
    pen.rect(LEFT, 0, this.width - LEFT - RIGHT, this.height);
    pen.clip();
    const { step, buffer } = this.view;
    const from = this.x(this.steps.edges[step]);
    const width = Math.max(this.x(this.steps.edges[step + 1]) - from, 1.5);
    pen.fillStyle = this.colors.accent;
    pen.globalAlpha = 0.22;
    pen.fillRect(from, 0, width, this.bottom);
    pen.globalAlpha = 1;
    pen.fillRect(from, 0, 1.5, this.bottom);
    if (buffer !== null) {
      const [x, y, w, h] = this.box(buffer);
      pen.strokeStyle = this.colors.ink;
      pen.lineWidth = 2;
      pen.strokeRect(x - 0.5, y - 0.5, w + 1, h + 1);
    }
  }

  /** The step at a place of the page, as a mouse event has it. */
  stepAt(event) {
    const time = this.timeAt(event);
    let low = 0;
    let high = this.steps.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.steps.edges[middle] <= time) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The buffer at a place of the page; null where nothing lives. */
  bufferAt(event, step) {
    const box = this.canvas.getBoundingClientRect();
    const y = event.clientY - box.top;
    if (y < this.top) return null;
    const address = ((this.bottom - y) / (this.bottom - this.top)) * this.most();
    return this.buffers.find((each) => each.start <= step && step < each.end &&
      each.offset <= address && address < each.offset + each.size) ?? null;
  }

  timeAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - LEFT) / (this.width - LEFT - RIGHT);
    return this.view.from + Math.min(Math.max(share, 0), 1) * (this.view.to - this.view.from);
  }

  most() {
    return Math.max(record.plan.arena_bytes, 1);
  }

  x(time) {
    const share = (time - this.view.from) / (this.view.to - this.view.from);
    return LEFT + share * (this.width - LEFT - RIGHT);
  }

  y(address) {
    return this.bottom - (address / this.most()) * (this.bottom - this.top);
  }

  box(buffer) {
    const x = this.x(this.steps.edges[buffer.start]);
    const y = this.y(buffer.offset + buffer.size);
    return [x, y, Math.max(this.x(this.steps.edges[buffer.end]) - x, 0.6), Math.max(this.y(buffer.offset) - y, 0.6)];
  }

  readColors() {
    if (this.isPrinted) return { ink: "#111", muted: "#555", line: "#ddd", accent: "#0b6e6e", bad: "#a02020" };
    const style = getComputedStyle(this.canvas);
    const read = (name) => style.getPropertyValue(`--${name}`).trim();
    return { ink: read("ink"), muted: read("muted"), line: read("line"), accent: read("accent"), bad: read("bad") };
  }

  drawAxes(pen) {
    pen.fillStyle = this.colors.muted;
    pen.strokeStyle = this.colors.line;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const value of ticks(this.most(), Math.max(2, Math.floor((this.bottom - this.top) / 60)))) {
      const y = Math.round(this.y(value)) + 0.5;
      pen.beginPath();
      pen.moveTo(LEFT, y);
      pen.lineTo(this.width - RIGHT, y);
      pen.stroke();
      pen.fillText(whole(value), LEFT - 8, y);
    }
    pen.fillText("live", LEFT - 8, PROFILE / 2);
  }

  drawBuffers(pen) {
    const { node } = this.view;
    const near = node < 0 ? null : new Set([...record.nodes[node].inputs, ...record.nodes[node].outputs]);
    for (const buffer of this.buffers) {
      if (this.steps.edges[buffer.end] < this.view.from || this.steps.edges[buffer.start] > this.view.to) continue;
      const isNear = near === null || near.has(buffer.tensor) || (buffer.tensor < 0 && buffer.nodes.includes(node));
      const [x, y, w, h] = this.box(buffer);
      pen.globalAlpha = isNear ? 1 : 0.22;
      pen.fillStyle = buffer.tensor < 0 ? SCRATCH : tensorOf(buffer.tensor).color ?? SCRATCH;
      pen.fillRect(x, y, w, h);
      if (w > 3 && h > 3) {
        pen.globalAlpha = isNear ? 0.35 : 0.1;
        pen.strokeStyle = "#000";
        pen.lineWidth = 0.5;
        pen.strokeRect(x, y, w, h);
      }
      if (isNear) this.label(pen, buffer, x, y, w, h);
    }
    pen.globalAlpha = 1;
  }

  label(pen, buffer, x, y, w, h) {
    if (buffer.tensor < 0 || h < 13 || w < 34) return;
    const { name } = tensorOf(buffer.tensor);
    const visible = Math.min(x + w, this.width - RIGHT) - Math.max(x, LEFT);
    if (pen.measureText(name).width > visible - 8) return;
    pen.globalAlpha = 0.85;
    pen.fillStyle = "#111";
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    pen.fillText(name, Math.max(x, LEFT) + 4, y + h / 2);
  }

  drawProfile(pen) {
    const levels = record.plan.live_bytes;
    pen.beginPath();
    pen.moveTo(this.x(0), PROFILE);
    levels.forEach((level, step) => {
      const y = PROFILE - (level / this.most()) * (PROFILE - 4);
      pen.lineTo(this.x(this.steps.edges[step]), y);
      pen.lineTo(this.x(this.steps.edges[step + 1]), y);
    });
    pen.lineTo(this.x(1), PROFILE);
    pen.closePath();
    pen.globalAlpha = 0.28;
    pen.fillStyle = this.colors.accent;
    pen.fill();
    pen.globalAlpha = 1;
    if (record.plan.peak) {
      const y = PROFILE - (record.plan.peak.live_bytes / this.most()) * (PROFILE - 4);
      pen.fillStyle = this.colors.accent;
      pen.beginPath();
      pen.arc(this.x(this.steps.edges[record.plan.peak.step]), y, 3, 0, 2 * Math.PI);
      pen.fill();
    }
  }

  drawRegions(pen) {
    pen.strokeStyle = this.colors.ink;
    pen.fillStyle = this.colors.ink;
    pen.textAlign = "right";
    pen.textBaseline = "bottom";
    for (const region of record.plan.regions) {
      const y = Math.round(this.y(region.base)) - 0.5;
      pen.beginPath();
      pen.moveTo(LEFT, y);
      pen.lineTo(this.width, y);
      pen.stroke();
      pen.fillText(region.name, this.width - RIGHT - 2, y - 2);
    }
  }

  /** Under the picture: which operator runs, in the colour of its output, and the numbers of steps. */
  drawSteps(pen) {
    const { nodes, edges, count } = this.steps;
    let free = LEFT - 20;
    pen.textAlign = "center";
    pen.textBaseline = "top";
    for (let step = 0; step < count; step += 1) {
      const [from, to] = [this.x(edges[step]), this.x(edges[step + 1])];
      if (to < LEFT || from > this.width - RIGHT) continue;
      const [low, high] = [Math.max(from, LEFT), Math.min(to, this.width - RIGHT)];
      pen.fillStyle = tensorOf(record.nodes[nodes[step]].outputs[0]).color ?? SCRATCH;
      pen.fillRect(low, this.bottom + 5, Math.max(high - low, 0.6), STRIP);
      const middle = (from + to) / 2;
      if (middle < free + 44 || middle < LEFT || middle > this.width - RIGHT - 12) continue;
      free = middle;
      pen.fillStyle = this.colors.muted;
      pen.fillText(whole(step), middle, this.bottom + STRIP + 10);
    }
    pen.textAlign = "right";
    pen.fillStyle = this.colors.muted;
    pen.fillText("step", LEFT - 8, this.bottom + STRIP + 10);
  }
}

/** Round numbers from 0 to a number, at most so many and one. */
export function ticks(most, count) {
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const unit = Math.max(1, [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough));
  return Array.from({ length: Math.floor(most / unit) + 1 }, (_, k) => k * unit);
}
