// Other ways to plan the model: RAM against instructions and against flash, each way a point.

import { make, makeSvg, part, whole } from "./dom.js";
import { ticks } from "./picture.js";
import { record } from "./record.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, FOOT] = [540, 260, 80, 24, 20, 40];

/** Draws the ways that were measured, where there are two or more. */
export function showChoices() {
  if (record.choices.choices.length < 2) return;
  part("choices-picture").append(
    make("figure", { "aria-label": "RAM and instructions" }, drawn("instructions", "instructions")),
    make("figure", { "aria-label": "RAM and flash" }, drawn("flash_bytes", "bytes of flash")));
}

/** One picture: RAM goes right, another cost goes up; both begin at zero. */
function drawn(cost, unit) {
  const { choices } = record.choices;
  const [mostRam, mostCost] = ["ram_bytes", cost].map((key) => 1.08 * Math.max(...choices.map((each) => each[key])));
  const x = (value) => LEFT + (value / mostRam) * (WIDTH - LEFT - RIGHT);
  const y = (value) => HEIGHT - FOOT - (value / mostCost) * (HEIGHT - FOOT - TOP);
  const texts = choices.map((each) =>
    `${each.variant}: ${whole(each.ram_bytes)} bytes of RAM, ${whole(each[cost])} ${unit}`);
  const picture = makeSvg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": texts.join("; ") });
  for (const value of ticks(mostRam, 4)) {
    picture.append(
      makeSvg("line", { class: "axis", x1: x(value), x2: x(value), y1: TOP, y2: HEIGHT - FOOT }),
      makeSvg("text", { x: x(value), y: HEIGHT - FOOT + 16, "text-anchor": "middle" }, whole(value)));
  }
  for (const value of ticks(mostCost, 4)) {
    picture.append(
      makeSvg("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
      makeSvg("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, whole(value)));
  }
  picture.append(
    makeSvg("text", { x: WIDTH - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }, "bytes of RAM"),
    makeSvg("text", { x: 4, y: 11 }, unit));
  choices.forEach((choice, number) =>
    picture.append(...point(choice, number, x(choice.ram_bytes), y(choice[cost]), texts[number])));
  return picture;
}

function point(choice, number, x, y, text) {
  return [
    makeSvg("circle", { class: choice.pareto_optimal ? "best" : "other", cx: x, cy: y, r: 9 },
      makeSvg("title", {}, text)),
    makeSvg("text", { class: "digit", x, y: y + 4, "text-anchor": "middle" }, number + 1),
  ];
}
