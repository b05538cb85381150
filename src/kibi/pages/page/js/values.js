// Numbers and stored elements: what a value is for a tensor with a scale, and what an element means.

import { emptyFor } from "./machine.js";

const LIMITS = { int8: [-128, 127], uint8: [0, 255], int16: [-32768, 32767], int32: [-2147483648, 2147483647] };

/** Elements of an input from real values: divided by the scale in single precision, rounded half away from zero. */
export function quantized(end, values) {
  const elements = emptyFor(end);
  values.forEach((value, place) => {
    elements[place] = toElement(end, value);
  });
  return elements;
}

function toElement(end, value) {
  if (end.type === "int64" || end.type === "uint64") return BigInt(Math.round(value));
  if (!end.scale || !(end.type in LIMITS)) return value;
  const scaled = Math.fround(Math.fround(value) / Math.fround(end.scale));
  const rounded = Math.sign(scaled) * Math.floor(Math.abs(scaled) + 0.5) + end.zero_point;
  const [low, high] = LIMITS[end.type];
  return Math.min(Math.max(rounded, low), high);
}

/** Elements of an input as they are stored. */
export function stored(end, values) {
  const elements = emptyFor(end);
  values.forEach((value, place) => {
    elements[place] = typeof elements[0] === "bigint" ? BigInt(Math.round(value)) : value;
  });
  return elements;
}

/** The real values of an output's bytes. */
export function realValues(end, bytes) {
  const elements = emptyFor(end);
  new Uint8Array(elements.buffer).set(bytes);
  return Array.from(elements, (element) =>
    end.scale ? (Number(element) - end.zero_point) * end.scale : Number(element));
}

/** The bytes of elements. */
export function bytesOf(elements) {
  return new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
}

/** Numbers from text with commas, semicolons, blanks or lines between them. Throws an error that says what is wrong. */
export function parseNumbers(text, count) {
  const words = text.split(/[\s,;]+/).filter((word) => word !== "");
  const values = words.map(Number);
  const wrong = values.findIndex((value) => !Number.isFinite(value));
  if (wrong >= 0) throw new Error(`number ${wrong + 1} is “${words[wrong].slice(0, 24)}”, which is none`);
  if (values.length !== count) throw new Error(`the input takes ${count} numbers, ${values.length} were given`);
  return values;
}
