// Elements and texts of the page. Text from a model is set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

/** Makes an element. Attributes whose value is null or false are left out; children are elements or texts. */
export function make(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Makes an element of SVG. */
export function makeSvg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null).map((child) =>
    child instanceof Node ? child : String(child)));
  return element;
}

/** The element of an id. */
export function part(id) {
  return document.getElementById(id);
}

/** A whole number with commas, as everywhere in the report. */
export function whole(value) {
  return Math.round(value).toLocaleString("en-US");
}

/** A share as percents. */
export function percent(value) {
  return `${(100 * value).toFixed(1)} %`;
}

/** A name in little room: names differ at their ends, so what is left out is in the middle. */
export function brief(name, most = 30) {
  if (name.length <= most) return name;
  const tail = Math.floor((most - 1) / 2);
  return `${name.slice(0, most - 1 - tail)}…${name.slice(-tail)}`;
}

/** Runs of numbers in words: 3, 4, 5, 9 are "3 to 5, 9". */
export function spans(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const found = [];
  for (const number of sorted) {
    const last = found.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else found.push([number, number]);
  }
  return found.map(([first, last]) => (first === last ? whole(first) : `${whole(first)} to ${whole(last)}`)).join(", ");
}
