// The schedule as a board: visits are dragged, or moved by keys, and answer at once.

import { html, svg } from "./dom.js";
import { AXIS, LANE, drawSchedule } from "./schedule.js";
import { countText, numberText, timeText, windowText } from "./words.js";

const FAR = 36; // pixels beyond the lanes at which a visit is out
const LOCK = "M-4 -3h8v7h-8zM-2.5 -3v-2.5a2.5 2.5 0 0 1 5 0v2.5"; // a padlock
const EDGE = 40; // pixels at the edges where a drag scrolls
const TOUCH = matchMedia("(pointer: coarse)");

/**
 * Draw the board of a view ({scene, labels, breaks}) with what is locked.
 * `fixed` if nothing may be moved; `kept` are lanes of the last drawing; `ready` is called when its bars are there. `act` has `preview(label, target)`, `drop(label, target)`, `cancel()`, `lock(label)`; a target is {vehicle, order} or null.
 */
export function drawBoard(view, hub, locked, act, { fixed, kept, ready }) {
  const { scene, labels } = view;
  const broken = new Map(view.breaks.map((one) => [one.number, one]));
  const extend = (bar, visit, vehicle, order) => {
    const label = labels[visit.stop];
    const stop = scene.stops[visit.stop];
    const fault = broken.get(vehicle);
    const wrong = fault && order >= fault.position;
    if (wrong) bar.classList.add("broken");
    const key = locked.has(label) ? "locked, " : "";
    const when = `${timeText(scene, visit.start)} to ${timeText(scene, visit.leave)}`;
    const why = wrong ? `, broken: ${fault.why}` : `, profit ${numberText(visit.profit)}`;
    bar.setAttribute("tabindex", "0");
    bar.setAttribute("role", "button");
    bar.setAttribute("data-label", label);
    bar.setAttribute("data-stop", visit.stop);
    bar.setAttribute("aria-label", `${stop.name}, ${key}visit ${order + 1} of ${scene.vehicles[vehicle].name}, ${when}${why}`);
    if (locked.has(label)) {
      bar.classList.add("locked");
      const box = bar.querySelector(".stay");
      const [left, top] = [Number(box.getAttribute("x")), Number(box.getAttribute("y"))];
      const middle = left + Math.min(8, Number(box.getAttribute("width")) / 2);
      bar.append(svg("path", { class: "key", d: LOCK, transform: `translate(${middle} ${top - 2})` }));
    }
    if (!fixed) bar.addEventListener("keydown", (event) => byKey(event, act.view(), label, vehicle, order, act));
    bar.addEventListener("focus", () => hub.point({ stop: visit.stop }, bar));
    bar.addEventListener("blur", () => hub.point(null));
  };
  const ground = {};
  const drawn = (canvas, { x, lanes, large }) => {
    Object.assign(ground, { canvas, x, lanes, large, scene, labels });
    ready();
  };
  const mark = (vehicle) => {
    const stops = scene.routes[vehicle].visits.map((visit) => labels[visit.stop]);
    return [view.digest, fixed, broken.get(vehicle) ?? null, stops.filter((label) => locked.has(label))];
  };
  const board = drawSchedule(scene, hub, { everyone: true, extend, drawn, kept, mark });
  board.querySelector("svg.lanes")?.setAttribute("role", "group");
  board.classList.add("board");
  const hints = TOUCH.matches ? "Or tap it, for buttons." : "Keys on a visit: ← → ↑ ↓ move it, L locks it, Delete takes it out.";
  const words = fixed
    ? "Bars are stays, outlined ones waiting, lines the ways between."
    : `Drag a visit along its lane, to another one, or out. ${hints}`;
  board.querySelector(".quiet").textContent = words;
  for (const [vehicle, fault] of broken) {
    const name = board.querySelectorAll(".lane-name")[vehicle];
    name?.classList.add("broken");
    name?.setAttribute("title", `${scene.vehicles[vehicle].name}: ${fault.why}`);
  }
  if (!fixed) {
    board.addEventListener("pointerdown", (event) => {
      const bar = event.target.closest?.(".bar");
      if (bar) startDrag(event, labels[bar.dataset.stop], scene.stops[bar.dataset.stop].name, ground, act);
    });
  }
  return { board, ground };
}

function byKey(event, view, label, vehicle, order, act) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const routes = view.scene.routes;
  const beside = (other) => Math.min(order, routes[other].visits.length);
  const last = routes[vehicle].visits.length - 1;
  const moves = {
    ArrowLeft: () => order > 0 && act.drop(label, { vehicle, order: order - 1 }),
    ArrowRight: () => order < last && act.drop(label, { vehicle, order: order + 1 }),
    ArrowUp: () => vehicle > 0 && act.drop(label, { vehicle: vehicle - 1, order: beside(vehicle - 1) }),
    ArrowDown: () => vehicle + 1 < routes.length && act.drop(label, { vehicle: vehicle + 1, order: beside(vehicle + 1) }),
    Delete: () => act.drop(label, null),
    Backspace: () => act.drop(label, null),
    l: () => act.lock(label),
    L: () => act.lock(label),
  };
  if (!moves[event.key]) return;
  event.preventDefault();
  moves[event.key]();
}

/** Follow a pointer with a visit; the ground is the board as it was when the drag began. */
export function startDrag(event, label, name, ground, act) {
  if (event.button > 0 || !ground.canvas) return;
  const { lanes, x, large, scene, labels } = ground;
  const first = [event.clientX, event.clientY];
  const id = event.pointerId;
  let chip = null;
  let last;
  const strip = () => document.querySelector(".board .strip");
  const lanesSeen = () => document.querySelector(".board .schedule"); // what is seen of many lanes
  const targetAt = (clientX, clientY) => {
    const canvas = document.querySelector(".board svg.lanes");
    const box = canvas.getBoundingClientRect();
    const row = Math.floor(((clientY - box.top) / large - AXIS) / LANE);
    const seen = lanesSeen().getBoundingClientRect();
    const [above, below] = [Math.max(box.top + AXIS * large, seen.top), Math.min(box.bottom, seen.bottom)];
    const outside = clientY < above - FAR || clientY > below + FAR;
    const frame = strip().getBoundingClientRect();
    if (outside || clientX < frame.left - 3 * FAR || clientX > frame.right + FAR) return null;
    const vehicle = lanes[Math.min(Math.max(row, 0), lanes.length - 1)];
    const time = x.invert((clientX - box.left) / large);
    const others = scene.routes[vehicle].visits.filter((visit) => labels[visit.stop] !== label);
    return { vehicle, order: others.filter((visit) => (visit.start + visit.leave) / 2 < time).length };
  };
  const move = (now) => {
    if (now.pointerId !== id) return;
    if (!chip) {
      if (Math.hypot(now.clientX - first[0], now.clientY - first[1]) < 5) return;
      chip = html("div", { class: "chip", role: "status" }, html("strong", {}, name), html("span", {}));
      document.body.append(chip);
      document.body.classList.add("dragging");
    }
    now.preventDefault();
    chip.style.transform = `translate(${now.clientX + 12}px, ${now.clientY + 14}px)`;
    const frame = strip().getBoundingClientRect();
    if (now.clientX > frame.right - EDGE) strip().scrollLeft += 12;
    if (now.clientX < frame.left + EDGE) strip().scrollLeft -= 12;
    const seen = lanesSeen().getBoundingClientRect();
    if (Math.abs(now.clientY - seen.bottom) < EDGE / 2) lanesSeen().scrollTop += 12;
    if (Math.abs(now.clientY - seen.top) < EDGE / 2) lanesSeen().scrollTop -= 12;
    const target = targetAt(now.clientX, now.clientY);
    const key = JSON.stringify(target);
    if (key === last) return;
    last = key;
    act.preview(label, target, (words) => chip && chip.lastChild.replaceChildren(words));
  };
  const end = (dropped) => {
    abort.abort();
    const dragged = chip !== null;
    chip?.remove();
    chip = null;
    document.body.classList.remove("dragging");
    if (!dragged) return;
    // The click that ends a drag is none.
    addEventListener("click", (click) => click.stopPropagation(), { capture: true, once: true });
    setTimeout(() => dispatchEvent(new Event("click")), 0);
    if (dropped && last !== undefined) act.drop(label, JSON.parse(last));
    else act.cancel();
  };
  const abort = new AbortController();
  const { signal } = abort;
  addEventListener("pointermove", move, { signal });
  addEventListener("pointerup", (up) => up.pointerId === id && end(true), { signal });
  addEventListener("pointercancel", (gone) => gone.pointerId === id && end(false), { signal });
  addEventListener("keydown", (key) => key.key === "Escape" && end(false), { signal });
}

/** Say how a plan differs from another in its profit. */
export function differenceText(before, after) {
  const change = after - before;
  if (Math.abs(change) < 1e-9 * Math.max(1, Math.abs(before))) return "same profit";
  return `${change > 0 ? "+" : "−"}${numberText(Math.abs(change))} profit`;
}

/** Say in a line what is wrong with the orders. */
export function faultsOf(view) {
  return view.breaks.map((one) => {
    const stop = view.scene.stops[view.labels.indexOf(one.stop)];
    return `${view.scene.vehicles[one.number].name}, visit ${one.position + 1} (${stop.name}): ${one.why}${timesOf(view, one, stop)}`;
  });
}

/** Say by how much an order is late where it breaks. */
function timesOf({ scene }, { number, position }, stop) {
  const route = scene.routes[number];
  const visit = route.visits[position];
  const { due } = scene.vehicles[number];
  const open = [...new Set(stop.ways.map((way) => windowText(scene, way)))].filter(Boolean);
  const when = timeText(scene, visit.start);
  const late = stop.ways.every((way) => visit.start > (way.close ?? Infinity) || visit.leave > (way.leave_by ?? Infinity));
  if (late) return ` (open ${open.join("; ")}, and it would be ${when} by then)`;
  if (route.finish > due) return ` (the shift ends at ${timeText(scene, due)}, and it would be ${timeText(scene, route.finish)} by then)`;
  return "";
}

/** Say how many visits there are. */
export function visitsText(scene) {
  return countText(scene.routes.reduce((sum, route) => sum + route.visits.length, 0), "visit");
}
