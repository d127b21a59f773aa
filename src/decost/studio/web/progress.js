// How a solve goes on: profit, bound and time, and a curve of both.

import { html, svg } from "./dom.js";
import { numberText } from "./words.js";

const [WIDTH, HEIGHT] = [160, 36];

/** Make the display; `show(event, told)` takes what the service says. */
export function makeProgress() {
  const words = html("span", { class: "words" });
  const curve = svg("svg", { class: "curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" });
  const element = html("div", { class: "progress", hidden: true }, curve, words);
  const points = [];
  const show = (event, told) => {
    element.hidden = false;
    if (event === "queued") {
      words.textContent = told.ahead ? `waiting, ${told.ahead} before it (${told.queue} in all)` : "waiting for a worker";
      return;
    }
    if (event === "away") {
      words.textContent = "the service does not answer, trying again";
      return;
    }
    if (told.compiling) {
      words.textContent = `compiling once: ${told.compiling.done} of ${told.compiling.total}`;
      return;
    }
    if (told.profit === undefined) {
      words.textContent = "planning";
      return;
    }
    const gap = told.bound > 0 ? Math.max(0, 1 - told.profit / told.bound) : 0;
    const bound = told.bound === null ? "" : `, at most ${numberText(told.bound)} (gap ${(100 * gap).toFixed(gap < 0.001 ? 3 : 1)}%)`;
    words.textContent = `profit ${numberText(told.profit)}${bound}, ${told.seconds.toFixed(1)} s`;
    points.push(told);
    draw(curve, points);
  };
  const clear = () => {
    points.length = 0;
    curve.replaceChildren();
    element.hidden = true;
  };
  return { element, show, clear };
}

function draw(curve, points) {
  const last = points.at(-1).seconds || 1;
  const known = points.flatMap(({ profit, bound }) => (bound === null ? [profit] : [profit, bound]));
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const place = (seconds, value) => `${((WIDTH - 4) * seconds) / last + 2} ${HEIGHT - 3 - ((HEIGHT - 6) * (value - low)) / (high - low || 1)}`;
  const line = (field, name) => {
    const some = points.filter((point) => point[field] !== null);
    if (!some.length) return [];
    const steps = some.map((point, k) => `${k ? `H${place(point.seconds, 0).split(" ")[0]}V${place(0, point[field]).split(" ")[1]}` : `M${place(point.seconds, point[field])}`}`);
    return [svg("path", { class: name, d: steps.join("") })];
  };
  curve.replaceChildren(...line("bound", "bound"), ...line("profit", "profit"));
}
