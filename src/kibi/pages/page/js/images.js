// Pictures as inputs: drawn by hand, or from a file, in the size of the input.

import { make } from "./dom.js";
import { emptyFor } from "./machine.js";

const SIDE = 224;

/** Elements of an input from the pixels of a canvas of the input's size; transparent pixels are seen on white. */
function fromPixels(end, data) {
  const [, height, width, channels] = end.shape;
  const elements = emptyFor(end);
  for (let place = 0; place < height * width; place += 1) {
    const [red, green, blue] = [0, 1, 2].map((k) => {
      const alpha = data[4 * place + 3] / 255;
      return Math.round(data[4 * place + k] * alpha + 255 * (1 - alpha));
    });
    // Grey as Pillow makes it, which `kibi run` reads pictures with: ITU-R 601-2.
    const grey = (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16;
    const levels = channels === 1 ? [grey] : [red, green, blue];
    levels.forEach((level, channel) => {
      elements[channels * place + channel] = end.pixels[level];
    });
  }
  return elements;
}

/** A canvas to draw on with the mouse, a finger or a pen. Calls `changed` with the elements after each stroke. */
export class DrawingBoard {
  constructor(end, changed) {
    const [, height, width] = end.shape;
    this.end = end;
    this.changed = changed;
    this.canvas = make("canvas", {
      class: "board", width: SIDE, height: Math.round((SIDE * height) / width), role: "img",
      "aria-label": `Drawing board of ${width} by ${height} pixels`,
    });
    this.small = make("canvas", { width, height });
    this.isInverted = false;
    this.clear();
    this.canvas.addEventListener("pointerdown", (event) => this.begin(event));
    this.canvas.addEventListener("pointermove", (event) => this.go(event));
    this.canvas.addEventListener("pointerup", () => this.stop());
    this.canvas.addEventListener("pointercancel", () => this.stop());
  }

  /** Black and white change places. */
  invert() {
    this.isInverted = !this.isInverted;
    this.clear();
  }

  clear() {
    const pen = this.canvas.getContext("2d");
    pen.fillStyle = this.isInverted ? "#fff" : "#000";
    pen.fillRect(0, 0, this.canvas.width, this.canvas.height);
    this.tell();
  }

  /** Shows a picture file, scaled to the input. */
  async show(file) {
    const picture = await createImageBitmap(file);
    const pen = this.canvas.getContext("2d");
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, this.canvas.width, this.canvas.height);
    pen.imageSmoothingQuality = "high";
    pen.drawImage(picture, 0, 0, this.canvas.width, this.canvas.height);
    const small = this.small.getContext("2d");
    small.fillStyle = "#fff";
    small.fillRect(0, 0, this.small.width, this.small.height);
    small.imageSmoothingQuality = "high";
    small.drawImage(picture, 0, 0, this.small.width, this.small.height);
    picture.close();
    this.changed(fromPixels(this.end, this.pixels(small)));
  }

  begin(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.last = this.place(event);
    this.go(event);
  }

  go(event) {
    if (!this.last) return;
    const next = this.place(event);
    const pen = this.canvas.getContext("2d");
    pen.strokeStyle = this.isInverted ? "#000" : "#fff";
    pen.lineWidth = this.canvas.width / 12;
    pen.lineCap = "round";
    pen.lineJoin = "round";
    pen.beginPath();
    pen.moveTo(...this.last);
    pen.lineTo(next[0] + 0.01, next[1]);
    pen.stroke();
    this.last = next;
    this.tell();
  }

  stop() {
    this.last = null;
    this.tell();
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const scale = this.canvas.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  }

  tell() {
    const small = this.small.getContext("2d", { willReadFrequently: true });
    small.imageSmoothingQuality = "high";
    small.drawImage(this.canvas, 0, 0, this.small.width, this.small.height);
    this.changed(fromPixels(this.end, this.pixels(small)));
  }

  pixels(pen) {
    return pen.getImageData(0, 0, this.small.width, this.small.height).data;
  }
}
