// What was left out, and why.

import { html, named } from "./dom.js";
import { standFor } from "./hub.js";
import { numberText } from "./words.js";

const FIRST = 24;

/**
 * List the stops that are not visited, those that come nearest to a visit first.
 * `extend(row, one)` may add to a row.
 */
export function drawLeftOut(scene, hub, extend = null) {
  if (!scene.left_out.length) return html("p", { class: "quiet" }, "Nothing: every stop is visited.");
  const list = html("ul", { class: "left-out" });
  const add = (some) => list.append(...some.map((one) => item(scene, hub, one, extend)));
  add(scene.left_out.slice(0, FIRST));
  const rest = scene.left_out.slice(FIRST);
  const parts = [list];
  if (rest.length) {
    const button = html("button", { type: "button", class: "more" }, `Show ${rest.length} more`);
    button.addEventListener("click", () => {
      add(rest);
      button.remove();
    });
    parts.push(button, html("p", { class: "quiet on-paper" }, `and ${rest.length} more`));
  }
  if (scene.more_time) parts.push(html("p", { class: "quiet" }, `What more time is worth: ${scene.more_time}.`));
  return html("div", {}, ...parts);
}

function item(scene, hub, one, extend) {
  const stop = scene.stops[one.stop];
  const row = html(
    "li",
    { class: stop.required ? "missing" : "" },
    html("span", { class: "what" }, stop.required ? "★ " : "", named(stop.name)),
    html("span", { class: "worth" }, `can earn ${numberText(stop.full)}`),
    html("span", { class: "why" }, one.words),
  );
  extend?.(row, one);
  hub.watch((focus) => row.classList.toggle("on", focus?.stop === one.stop));
  return standFor(row, hub, { stop: one.stop });
}
