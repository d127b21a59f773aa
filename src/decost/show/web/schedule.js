// The schedule: a lane for each vehicle, with its shift, ways, waits and stays.

import { html, named, onWidth, svg, textScale, textWidth } from "./dom.js";
import { standFor } from "./hub.js";
import { timeText } from "./words.js";

export const LANE = 40;
export const AXIS = 24;
const BAR = 24;
const CLOCK_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720, 1440];
const PAPER = 570; // pixels beside the names on a page, as page.css has it
const LEAST = 22; // pixels for a visit, on average; else the schedule scrolls

/**
 * Draw the schedule of a scene.
 * With `everyone`, vehicles without visits have lanes as well; `extend(bar, visit, vehicle, order)` may add to a bar, and
 * `drawn(canvas, {x, lanes, large})` hears of every drawing: where times are, whose the lanes are, and how large a pixel is. Lanes that are as they were
 * in `kept`, a map from the last drawing, are used again; `mark(vehicle)` is what they depend on beside their routes.
 */
export function drawSchedule(scene, hub, { everyone = false, extend = null, drawn = null, kept = null, mark = null } = {}) {
  const lanes = scene.routes.map((_, vehicle) => vehicle).filter((k) => everyone || scene.routes[k].moves);
  if (!lanes.length) return html("p", { class: "quiet" }, "Nobody goes anywhere.");
  const names = html("div", { class: "lane-names" }, html("div", { class: "lane-axis" }));
  for (const vehicle of lanes) {
    const name = html(
      "div",
      { class: "lane-name routed", "--route": scene.vehicles[vehicle].colour, title: scene.vehicles[vehicle].name },
      named(scene.vehicles[vehicle].name),
    );
    names.append(standFor(name, hub, { vehicle }));
  }
  const height = AXIS + LANE * lanes.length;
  const canvas = svg("svg", { class: "lanes", role: "img", "aria-label": "Schedule of the vehicles" });
  const strip = html("div", { class: "strip", tabindex: 0 }, canvas);
  const bars = new Map();
  const most = Math.max(...lanes.map((vehicle) => scene.routes[vehicle].visits.length));
  const show = (wide, large) => {
    const width = wide / large;
    canvas.setAttribute("viewBox", `0 0 ${width} ${height}`);
    canvas.setAttribute("width", wide);
    canvas.setAttribute("height", height * large);
    const x = scaleOf(scene, width);
    canvas.replaceChildren(...partsOf(scene, hub, lanes, width, { x, bars, extend, kept, mark }));
    drawn?.(canvas, { x, lanes, large });
  };
  const onScreen = (wide) => show(Math.max(wide, LEAST * most * textScale()), textScale());
  onWidth(strip, onScreen);
  addEventListener("beforeprint", () => show(PAPER, 1), hub.listening);
  addEventListener("afterprint", () => onScreen(strip.clientWidth), hub.listening);
  hub.watch((focus) => {
    bars.forEach((bar, stop) => bar.classList.toggle("on", focus?.stop === stop));
  });
  const hint = "Bars are stays, outlined ones waiting, lines the ways between. Lanes are as long as the shift.";
  return html("div", {}, html("div", { class: "schedule" }, names, strip), html("p", { class: "quiet" }, hint));
}

/** Where a time is on a schedule; `invert` tells the time at a place. */
function scaleOf(scene, width) {
  const span = scene.until - scene.begin || 1;
  const x = (time) => 22 + ((time - scene.begin) / span) * (width - 44);
  x.invert = (place) => scene.begin + ((place - 22) / (width - 44)) * span;
  return x;
}

function partsOf(scene, hub, lanes, width, { x, bars, extend, kept, mark }) {
  const parts = ticksOf(scene, width).flatMap((time) => [
    svg("line", { class: "grid", x1: x(time), x2: x(time), y1: AXIS - 4, y2: AXIS + LANE * lanes.length }),
    svg("text", { class: "tick", x: x(time), y: AXIS - 9 }, timeText(scene, time)),
  ]);
  bars.clear();
  lanes.forEach((vehicle, row) => {
    const top = AXIS + LANE * row;
    const key = kept && JSON.stringify([scene.routes[vehicle], scene.begin, scene.until, width, top, mark?.(vehicle)]);
    let drawn = kept?.get(vehicle);
    if (!drawn || drawn.key !== key) {
      const own = new Map();
      drawn = { key, own, lane: laneOf(scene, hub, vehicle, top, { x, bars: own, extend }) };
      kept?.set(vehicle, drawn);
    }
    parts.push(drawn.lane);
    drawn.own.forEach((bar, stop) => bars.set(stop, bar));
  });
  return parts;
}

function ticksOf(scene, width) {
  const span = scene.until - scene.begin || 1;
  const most = Math.max(2, Math.floor(width / 64));
  let step = CLOCK_STEPS.find((minutes) => span <= most * minutes) ?? 1440 * Math.ceil(span / 1440 / most);
  if (!scene.clock) {
    const power = 10 ** Math.floor(Math.log10(span / most));
    step = power * [1, 2, 5, 10].find((factor) => span <= most * factor * power);
  }
  const ticks = [];
  for (let k = Math.ceil(scene.begin / step - 1e-9); k * step <= scene.until + 1e-9 * span; k++) ticks.push(k * step);
  return ticks;
}

function laneOf(scene, hub, vehicle, top, { x, bars, extend }) {
  const route = scene.routes[vehicle];
  const { begin, due, colour } = scene.vehicles[vehicle];
  const middle = top + LANE / 2;
  const lane = svg("g", { class: "lane routed", "--route": colour });
  const low = middle - BAR / 2;
  lane.append(svg("rect", { class: "shift", x: x(begin), y: top + 3, width: x(due) - x(begin), height: LANE - 6, rx: 4 }));
  const legs = [route.depart, ...route.visits.map((visit) => visit.leave)];
  const reach = [...route.visits.map((visit) => visit.arrive), route.finish];
  legs.forEach((from, k) => {
    lane.append(svg("line", { class: "way", x1: x(from), x2: x(reach[k]), y1: middle, y2: middle }));
  });
  route.visits.forEach((visit, k) => {
    const stop = scene.stops[visit.stop];
    const left = x(visit.start);
    const wide = Math.max(x(visit.leave) - left, 2);
    const bar = svg("g", { class: "bar" });
    if (x(visit.start) - x(visit.arrive) > 0.5) {
      const wait = { x: x(visit.arrive), y: middle - 5, width: left - x(visit.arrive), height: 10 };
      bar.append(svg("rect", { class: "wait", ...wait }));
    }
    bar.append(svg("rect", { class: "stay", x: left, y: low, width: wide, height: BAR, rx: Math.min(4, wide / 3) }));
    const text = [`${stop.required ? "★ " : ""}${stop.name}`, String(k + 1)].find((words) => textWidth(words, 11) + 6 <= wide);
    if (text) bar.append(svg("text", { class: "bar-name", x: left + wide / 2, y: middle }, text));
    extend?.(bar, visit, vehicle, k);
    lane.append(standFor(bar, hub, { stop: visit.stop }));
    bars.set(visit.stop, bar);
  });
  for (const time of [route.depart, route.finish]) {
    lane.append(svg("circle", { class: "depot", cx: x(time), cy: middle, r: 4 }));
  }
  return lane;
}
