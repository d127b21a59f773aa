// Two plans beside each other.

import { html, named } from "./dom.js";
import { makeHub, visitsOf } from "./hub.js";
import { drawSchedule } from "./schedule.js";
import { durationText, numberText, timeText } from "./words.js";

/** Show a kept plan and the present one; `back` makes the kept one the present one. */
export function drawComparison(kept, view, name, back) {
  const [one, other] = [kept.view.scene, view.scene];
  const rows = differences(kept.view, view);
  const fact = (scene) => numberText(scene.profit);
  const change = other.profit - one.profit;
  const signed = `${change < 0 ? "−" : "+"}${numberText(Math.abs(change))}`;
  const table = html(
    "table",
    {},
    html("thead", {}, html("tr", {}, ...["stop", kept.name, name].map((word) => html("th", { scope: "col" }, word)))),
    html(
      "tbody",
      {},
      html("tr", { class: "sum" }, html("td", {}, "profit"), html("td", {}, fact(one)), html("td", {}, `${fact(other)} (${signed})`)),
      ...rows.map(([label, before, after]) =>
        html("tr", {}, html("td", {}, named(label)), html("td", {}, before), html("td", {}, after)),
      ),
    ),
  );
  const words = rows.length ? "" : "Both plans visit the same stops at the same times.";
  return html(
    "div",
    { class: "comparison" },
    html("div", { class: "sheet", tabindex: 0 }, table),
    html("p", { class: "quiet" }, words),
    html("h3", {}, named(kept.name)),
    drawSchedule(one, makeHub()),
    html("button", { type: "button", class: "more", onclick: back }, "Go back to this plan"),
  );
}

function differences(one, other) {
  const [before, after] = [described(one), described(other)];
  const labels = new Set([...before.keys(), ...after.keys()]);
  return [...labels]
    .map((label) => [label, before.get(label) ?? "not visited", after.get(label) ?? "not visited"])
    .filter(([, first, second]) => first !== second);
}

function described({ scene }) {
  const found = new Map();
  for (const [stop, { vehicle, visit }] of visitsOf(scene)) {
    const times = `${timeText(scene, visit.start)}, stay ${durationText(scene, visit.stay)}`;
    found.set(scene.stops[stop].name, `${scene.vehicles[vehicle].name} at ${times}, profit ${numberText(visit.profit)}`);
  }
  return found;
}
