// The timetable of each vehicle, to be read and printed.

import { html, named } from "./dom.js";
import { standFor } from "./hub.js";
import { columnText, countText, durationText, numberText, timeText } from "./words.js";

/** Make a timetable for every vehicle that moves, and a line for those that do not. */
export function drawTimetables(scene, hub) {
  const cards = scene.routes.flatMap((route, vehicle) => (route.moves ? [card(scene, hub, vehicle)] : []));
  const idle = scene.vehicles.filter((_, vehicle) => !scene.routes[vehicle].moves);
  const names = idle.flatMap(({ name }, k) => [k ? ", " : "", named(name)]);
  const rest = idle.length ? [html("p", { class: "quiet" }, "Without visits: ", ...names, ".")] : [];
  return html("div", {}, html("div", { class: "cards" }, ...cards), ...rest);
}

function card(scene, hub, vehicle) {
  const route = scene.routes[vehicle];
  const mine = scene.vehicles[vehicle];
  const name = (place, otherwise) => scene.places[place].name || otherwise;
  const facts = [
    `${timeText(scene, route.depart)}–${timeText(scene, route.finish)}`,
    countText(route.visits.length, "visit"),
    `profit ${numberText(route.profit)}`,
  ];
  const title = html("h3", {}, html("span", { class: "swatch" }), named(mine.name));
  const amount = columnText(route.visits.flatMap((visit) => [visit.profit, scene.stops[visit.stop].full]));
  const rows = [endRow(timeText(scene, route.depart), "leave ", name(mine.start, "the start"))];
  route.visits.forEach((visit, k) => {
    if (route.travel[k] > 0) rows.push(wayRow(scene, route.travel[k]));
    rows.push(visitRow(scene, hub, visit, k, amount));
  });
  const last = route.travel.at(-1);
  if (last > 0) rows.push(wayRow(scene, last));
  const late = route.late ? `, ${durationText(scene, route.late)} late` : "";
  const there = mine.start === mine.end ? "back at " : "arrive at ";
  rows.push(endRow(timeText(scene, route.finish), there, name(mine.end, "the end"), late));
  const heads = ["", "time", "stop", "stay", "profit"];
  const head = html("tr", {}, ...heads.map((word) => html("th", { scope: "col" }, word)));
  return html(
    "article",
    { class: "card routed", "--route": mine.colour },
    html("header", {}, standFor(title, hub, { vehicle }), html("p", {}, facts.join(" · "))),
    html("table", {}, html("thead", {}, head), html("tbody", {}, ...rows)),
  );
}

function endRow(time, words, place, after = "") {
  return html(
    "tr",
    { class: "end" },
    html("td", {}),
    html("td", { class: "time" }, time),
    html("td", { colspan: 3 }, words, named(place), after),
  );
}

function wayRow(scene, travel) {
  const length = scene.clock && travel < 0.5 ? "less than a minute" : durationText(scene, travel);
  const words = `${length} on the way`;
  return html("tr", { class: "way" }, html("td", {}), html("td", {}), html("td", { colspan: 3 }, words));
}

function visitRow(scene, hub, visit, k, amount) {
  const stop = scene.stops[visit.stop];
  const wait = visit.start - visit.arrive;
  const notes = [];
  const place = scene.places[visit.place].name;
  if (place && place !== stop.name) notes.push("at ", named(place));
  if (wait > (scene.clock ? 0.5 : 1e-9)) {
    notes.push(notes.length ? "; " : "", `there at ${timeText(scene, visit.arrive)}, wait ${durationText(scene, wait)}`);
  }
  const what = [stop.required ? html("span", { class: "must", title: "required" }, "★ ") : "", named(stop.name)];
  if (notes.length) what.push(html("small", {}, ...notes));
  const [profit, most] = [visit.profit, stop.full].map(amount);
  const stay = durationText(scene, visit.stay);
  const full = most === profit ? "" : html("small", {}, `of ${most}`);
  what.push(html("small", { class: "narrow" }, `stay ${stay} · profit ${profit}${full && ` of ${most}`}`));
  const row = html(
    "tr",
    { class: "visit", "data-stop": visit.stop },
    html("td", { class: "order" }, html("span", {}, String(k + 1))),
    html("td", { class: "time" }, timeText(scene, visit.start), html("small", {}, timeText(scene, visit.leave))),
    html("td", { class: "what" }, ...what),
    html("td", { class: "stay" }, stay),
    html("td", { class: "profit" }, profit, full),
  );
  hub.watch((focus) => row.classList.toggle("on", focus?.stop === visit.stop));
  return standFor(row, hub, { stop: visit.stop });
}
