// The graph: a line for each operator, its tensors as lanes beside it.

import { brief, make, makeSvg, part, whole } from "./dom.js";
import { formOf, nodeLabel, outputOf, record, tensorOf } from "./record.js";
import { onSelection, select, selected } from "./selection.js";

const LINE = 38;
const LANE = 14;
const MARGIN = 12;

/** Fills the section of the graph. */
export function showGraph() {
  const lanes = Math.max(...record.nodes.map((node) => node.lane), 0) + 1;
  const width = lanes * LANE + MARGIN;
  part("graph-lanes").append(drawn(width));
  const list = part("graph-list");
  list.append(...record.nodes.map((_, number) => line(number)));
  list.addEventListener("keydown", move);
  list.firstElementChild?.querySelector("button").setAttribute("tabindex", "0");
  onSelection((node, view) => mark(node, view));
}

function x(lane) {
  return MARGIN + lane * LANE;
}

function y(number) {
  return number * LINE + LINE / 2;
}

/** All edges and operators in one picture; an edge stays in the lane of its maker until its reader. */
function drawn(width) {
  const picture = makeSvg("svg", { width, height: record.nodes.length * LINE, "aria-hidden": "true" });
  const edges = [];
  record.nodes.forEach((node, number) => {
    for (const index of node.inputs) {
      const { maker } = tensorOf(index);
      if (maker >= 0 && maker < number) edges.push(edge(maker, number));
    }
  });
  picture.append(makeSvg("path", { class: "edges", d: edges.join("") }));
  picture.append(makeSvg("path", { class: "picked", id: "graph-picked", d: "" }));
  picture.append(...record.nodes.map((node, number) =>
    makeSvg("circle", { cx: x(node.lane), cy: y(number), r: 4.5, fill: outputOf(number).color ?? "#999" })));
  return picture;
}

function edge(from, to) {
  const [a, b] = [x(record.nodes[from].lane), x(record.nodes[to].lane)];
  const turn = y(to) - LINE;
  const straight = `M${a} ${y(from)}V${Math.max(turn, y(from))}`;
  return a === b ? `M${a} ${y(from)}V${y(to)}` : `${straight}C${a} ${turn + LINE / 2} ${b} ${turn + LINE / 2} ${b} ${y(to)}`;
}

function line(number) {
  const node = record.nodes[number];
  const output = outputOf(number);
  const button = make("button", { type: "button", tabindex: "-1", "aria-pressed": "false" },
    make("span", { class: "op" }, nodeLabel(number)),
    make("span", { class: "name", title: output.name }, brief(output.name, 24)),
    make("span", { class: "form" }, formOf(output)),
    make("span", { class: "attributes" }, node.attributes));
  button.addEventListener("click", () => select(number === selected() ? -1 : number, "graph"));
  return make("li", {}, button);
}

/** Up and down move through the list, as in a list of options. */
function move(event) {
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
  if (!(event.key in steps)) return;
  event.preventDefault();
  const buttons = [...part("graph-list").querySelectorAll("button")];
  const place = buttons.indexOf(document.activeElement);
  const next = buttons[Math.min(Math.max(place + steps[event.key], 0), buttons.length - 1)];
  for (const each of [buttons[place], next]) each?.setAttribute("tabindex", each === next ? "0" : "-1");
  next.focus();
}

function mark(node, view) {
  for (const each of part("graph-list").querySelectorAll("[aria-pressed=true]")) {
    each.setAttribute("aria-pressed", "false");
  }
  part("graph-picked").setAttribute("d", node < 0 ? "" : edgesOf(node).join(""));
  part("graph-details").replaceChildren(...(node < 0 ? [make("p", { class: "note" }, "Choose an operator.")] : details(node)));
  if (node < 0) return;
  const item = part("graph-list").children[node];
  item.firstElementChild.setAttribute("aria-pressed", "true");
  if (view !== "graph") part("graph-box").scrollTop = y(node) - part("graph-box").clientHeight / 2;
}

function edgesOf(number) {
  const makers = record.nodes[number].inputs.map((index) => tensorOf(index).maker).filter((maker) => maker >= 0);
  const readers = record.nodes[number].outputs.flatMap((index) => tensorOf(index).readers);
  return [...makers.map((maker) => edge(maker, number)), ...readers.map((reader) => edge(number, reader))];
}

/** The facts of a node, its neighbours as buttons. */
function details(number) {
  const node = record.nodes[number];
  const facts = [
    ["inputs", ends(node.inputs, (tensor) => [tensor.maker])],
    ["outputs", ends(node.outputs, (tensor) => tensor.readers)],
    ["attributes", [node.attributes || "none"]],
    ["kernel", [node.kernel]],
    ["row steps", [whole(node.steps)]],
    ["MACs", [whole(node.macs)]],
    ["instructions", [whole(node.instructions)]],
    ["flash", [`weights ${whole(node.weights_bytes)}, own code ${whole(node.code_bytes)} bytes`]],
    ["scratch", [`${whole(node.scratch_bytes)} bytes`]],
  ];
  return [
    make("h3", {}, nodeLabel(number)),
    make("dl", {}, ...facts.flatMap(([name, values]) => [make("dt", {}, name), make("dd", {}, ...values)])),
  ];
}

function ends(indices, neighbours) {
  return indices.map((index) => {
    const tensor = tensorOf(index);
    const links = neighbours(tensor).filter((node) => node >= 0).map((node) => {
      const button = make("button", { type: "button", class: "plain" }, nodeLabel(node));
      button.addEventListener("click", () => select(node, "details"));
      return button;
    });
    const role = tensor.role ? ` (${tensor.role})` : "";
    return make("div", {}, `${tensor.name}${role}: ${formOf(tensor)}, ${whole(tensor.size_bytes)} bytes `, ...links);
  });
}
