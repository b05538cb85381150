// The table of costs: a row for each layer, sorted by any column.

import { brief, make, part, percent, whole } from "./dom.js";
import { nodeLabel, outputOf, record } from "./record.js";
import { onSelection, select, selected } from "./selection.js";

/** Two more columns where the errors of layers were measured; names are shorter then. */
const ERRORS = record.layer_errors.reference === undefined ? [] : [
  { title: "S/N, dB", key: (node) => node.decibels, text: (node) => decibels(node.decibels), isNumber: true, isRising: true },
  { title: "lost, dB", key: (node) => node.lost_decibels, text: (node) => decibels(node.lost_decibels), isNumber: true },
];
const MOST_OUTPUT = ERRORS.length ? 24 : 30;
const COLUMNS = [
  { title: "operator", key: (node, number) => number, text: (node, number) => nodeLabel(number) },
  {
    title: "output",
    key: (node, number) => outputOf(number).name,
    text: (node, number) => brief(outputOf(number).name, MOST_OUTPUT),
  },
  ...ERRORS,
  { title: "MACs", key: (node) => node.macs, isNumber: true },
  { title: "instructions", key: (node) => node.instructions, isNumber: true },
  {
    title: "per MAC",
    key: (node) => (node.macs ? node.instructions / node.macs : -1),
    text: (node) => (node.macs ? (node.instructions / node.macs).toFixed(2) : ""),
    isNumber: true,
  },
  { title: "share", key: (node) => node.instructions, text: (node) => percent(shareOf(node)), isNumber: true, bar: true },
  { title: "weights", key: (node) => node.weights_bytes, isNumber: true },
  { title: "own code", key: (node) => node.code_bytes, isNumber: true },
  { title: "scratch", key: (node) => node.scratch_bytes, isNumber: true },
];
let sorting = { column: 0, isFalling: false };
const rows = new Map();

/** Fills the table of costs. */
export function showCosts() {
  part("cost-head").append(...COLUMNS.map(header));
  record.nodes.forEach((node, number) => rows.set(number, row(node, number)));
  part("cost-body").append(...rows.values());
  part("cost-foot").append(...footer());
  onSelection((node, view) => mark(node, view));
}

function decibels(value) {
  return value === null ? "" : value.toFixed(1).replace("-", "−");
}

function shareOf(node) {
  return node.instructions / Math.max(record.answer.instructions, 1);
}

function header(column, number) {
  const button = make("button", { type: "button" }, column.title);
  button.addEventListener("click", () => sort(number));
  return make("th", {
    scope: "col",
    class: column.isNumber ? "number" : null,
    "aria-sort": number === 0 ? "ascending" : "none",
  }, button);
}

function row(node, number) {
  const cells = COLUMNS.map((column, place) => {
    const value = column.text ? column.text(node, number) : whole(column.key(node, number));
    const text = column.isNumber && value === "0" ? "" : value;
    if (place === 0) return make("th", { scope: "row", class: "brief" }, opener(number, text));
    const cell = make("td", { class: column.isNumber ? "number" : "brief" }, text);
    if (!column.isNumber) cell.title = String(column.key(node, number));
    if (column.bar) cell.prepend(bar(shareOf(node)));
    return cell;
  });
  return make("tr", { "data-node": number }, ...cells);
}

function opener(number, text) {
  const button = make("button", { type: "button", class: "plain", title: "Show in the plan and in the graph" }, text);
  button.addEventListener("click", () => select(number === selected() ? -1 : number, "costs"));
  return button;
}

const largestShare = Math.max(...record.nodes.map(shareOf), 1e-9);

function bar(share) {
  const made = make("span", { class: "bar", "aria-hidden": "true" });
  made.style.width = `${(48 * share) / largestShare}px`;
  return make("span", { class: "track" }, made);
}

function sort(number) {
  const { isNumber, isRising } = COLUMNS[number];
  const isFalling = sorting.column === number ? !sorting.isFalling : Boolean(isNumber && !isRising);
  sorting = { column: number, isFalling };
  const { key } = COLUMNS[number];
  const order = record.nodes.map((_, node) => node).sort((one, other) => {
    const [a, b] = [key(record.nodes[one], one), key(record.nodes[other], other)];
    if (a === null || b === null) return (a === null) - (b === null) || one - other; // what is not known comes last
    return (a < b ? -1 : a > b ? 1 : 0) * (isFalling ? -1 : 1) || one - other;
  });
  part("cost-body").replaceChildren(...order.map((node) => rows.get(node)));
  [...part("cost-head").children].forEach((cell, place) =>
    cell.setAttribute("aria-sort", place === number ? (isFalling ? "descending" : "ascending") : "none"));
}

function mark(node, view) {
  for (const each of part("cost-body").querySelectorAll(".is-selected")) each.classList.remove("is-selected");
  const found = rows.get(node);
  if (!found) return;
  found.classList.add("is-selected");
  if (view !== "costs") reveal(found);
}

/** Scrolls a row into the view of its own box, without moving the page. */
function reveal(found) {
  const box = part("cost-box");
  const [top, bottom] = [found.offsetTop - 40, found.offsetTop + found.offsetHeight];
  if (top < box.scrollTop || bottom > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 2;
}

/** Two rows: what belongs to no layer, and the sums. */
function footer() {
  const { answer, nodes } = record;
  const sum = (key) => nodes.reduce((total, node) => total + node[key], 0);
  const rest = answer.instructions - sum("instructions");
  const line = (name, macs, instructions, weights, code) => {
    const perMac = macs ? (instructions / macs).toFixed(2) : "";
    const share = percent(instructions / Math.max(answer.instructions, 1));
    const values = ["", ...ERRORS.map(() => ""), macs ? whole(macs) : "", whole(instructions), perMac, share, whole(weights), whole(code), ""];
    return make("tr", {}, make("th", { scope: "row" }, name),
      ...values.map((value, place) => make("td", { class: place ? "number" : null }, value)));
  };
  return [
    line("shared, and calls", 0, rest, answer.weights_bytes - sum("weights_bytes"), answer.code_bytes - sum("code_bytes")),
    line("total", answer.macs, answer.instructions, answer.weights_bytes, answer.code_bytes),
  ];
}
