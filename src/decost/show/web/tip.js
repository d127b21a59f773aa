// The note beside what is pointed at.

import { html, named } from "./dom.js";
import { visitsOf } from "./hub.js";
import { durationText, numberText, timeText, windowText } from "./words.js";

/** Make the note; it shows what the hub says, beside the element that was pointed at. */
export function makeTip(scene, hub) {
  const tip = html("div", { class: "tip", role: "status", hidden: true });
  const visits = visitsOf(scene);
  const reasons = new Map(scene.left_out.map((one) => [one.stop, one.words]));
  let anchor = null;
  hub.watch((focus, at) => {
    anchor = at;
    tip.hidden = focus === null || focus.stop === undefined || at === null;
    if (tip.hidden) return;
    tip.replaceChildren(...describe(scene, focus.stop, visits.get(focus.stop), reasons));
    place(tip, at.getBoundingClientRect());
  });
  const follow = () => tip.hidden || place(tip, anchor.getBoundingClientRect());
  addEventListener("scroll", follow, { passive: true, capture: true, ...hub.listening });
  return tip;
}

function describe(scene, number, found, reasons) {
  const stop = scene.stops[number];
  const lines = [html("strong", {}, stop.required ? "★ " : "", named(stop.name))];
  const line = (...words) => lines.push(html("span", {}, ...words));
  if (found) {
    const { visit } = found;
    const vehicle = scene.vehicles[found.vehicle];
    line(named(vehicle.name), `, visit ${found.order}`);
    const stay = durationText(scene, visit.stay);
    line(`${timeText(scene, visit.start)}–${timeText(scene, visit.leave)}, stay ${stay}`);
    line(`profit ${numberText(visit.profit)} of ${numberText(stop.full)}`);
  } else {
    line(stop.required ? "required, but not visited" : "not visited", ", can earn ");
    lines.at(-1).append(numberText(stop.full));
    if (reasons.get(number)) line(reasons.get(number));
  }
  const open = [...new Set(stop.ways.map((way) => windowText(scene, way)))].filter(Boolean);
  if (open.length) line(`open ${open.slice(0, 4).join("; ")}${open.length > 4 ? "; …" : ""}`);
  return lines;
}

function place(tip, box) {
  const { offsetWidth: width, offsetHeight: height } = tip;
  const room = document.documentElement.clientWidth;
  const middle = Math.min(Math.max(box.left + box.width / 2, 0), room);
  const left = Math.min(Math.max(middle - width / 2, 8), room - width - 8);
  const above = box.top - height - 10;
  tip.style.left = `${left}px`;
  tip.style.top = `${above > 8 ? above : box.bottom + 10}px`;
}
