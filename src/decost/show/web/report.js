// The report: all parts on one page.

import { html, named } from "./dom.js";
import { makeHub } from "./hub.js";
import { drawLeftOut } from "./leftout.js";
import { drawMap } from "./map.js";
import { drawSchedule } from "./schedule.js";
import { drawTimetables } from "./timetable.js";
import { makeTip } from "./tip.js";
import { numberText, someOf, timeText } from "./words.js";

/** Build the page of a scene within an element. */
export function showReport(page, scene) {
  const hub = makeHub();
  const map = drawMap(scene, hub);
  page.append(
    headOf(scene),
    ...complaintsOf(scene),
    ...(map ? [section("map", scene.approximate ? "Approximate map" : "Map", map, mapNote(scene))] : []),
    section("schedule", "Schedule", drawSchedule(scene, hub)),
    section("timetables", "Timetables", drawTimetables(scene, hub)),
    section("left-out", "Left out", drawLeftOut(scene, hub)),
    html("footer", {}, `Made with decost ${scene.version}`),
  );
  document.body.append(makeTip(scene, hub));
  document.addEventListener("click", hub.clear);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hub.clear());
}

function section(id, title, ...parts) {
  return html("section", { id }, html("h2", {}, title), ...parts);
}

function headOf(scene) {
  const visited = scene.routes.reduce((sum, route) => sum + route.visits.length, 0);
  const moving = scene.routes.filter((route) => route.moves);
  const facts = [
    ["profit", numberText(scene.profit)],
    ["stops visited", `${visited} of ${scene.stops.length}`],
  ];
  const required = scene.stops.filter((stop) => stop.required).length;
  if (required) facts.push(["required", `${required - scene.missing.length} of ${required}`]);
  if (scene.routes.length > 1) facts.push(["vehicles", `${moving.length} of ${scene.routes.length}`]);
  if (moving.length) {
    const depart = Math.min(...moving.map((route) => route.depart));
    const finish = Math.max(...moving.map((route) => route.finish));
    facts.push(["from, to", `${timeText(scene, depart)}–${timeText(scene, finish)}`]);
  }
  const list = html("dl", { class: "facts" });
  facts.forEach(([name, value]) => list.append(html("div", {}, html("dt", {}, name), html("dd", {}, value))));
  const print = html("button", { type: "button", class: "print", onclick: () => globalThis.print() }, "Print");
  return html(
    "header",
    { class: "head" },
    html("div", { class: "title" }, html("h1", {}, scene.name ? named(scene.name) : "Plan"), print),
    list,
    html("p", { class: scene.status === "optimal" ? "verdict proven" : "verdict" }, scene.verdict),
  );
}

function complaintsOf(scene) {
  const lines = [...scene.broken];
  if (scene.missing.length) {
    lines.push(`Required, but not visited: ${someOf(scene.missing)}`);
  }
  lines.push(...scene.reasons);
  if (!lines.length) return [];
  return [html("ul", { class: "complaints" }, ...lines.map((line) => html("li", {}, line)))];
}

function mapNote(scene) {
  const notes = ["Squares are starts, rings stops that are not visited, ★ required ones; a stop is as large as it can earn."];
  if (scene.approximate) notes.push("There are no coordinates: distances resemble travel times.");
  if (scene.detour !== null) notes.push(`Ways are ${scene.detour} times as long as the straight line.`);
  if (scene.streets) notes.push("Ways are along the streets.");
  return html("p", { class: "quiet" }, notes.join(" "));
}

const source = document.getElementById("scene");
if (source) showReport(document.getElementById("page"), JSON.parse(source.textContent));
