// The map: routes, stops and ends; to be moved, enlarged and pointed at.

import { html, onWidth, svg, textScale, textWidth } from "./dom.js";
import { standFor, visitsOf } from "./hub.js";

const EARTH = 40075016.686; // metres around the equator
const MOST_ZOOM = 400;
const TILE = 256;
const TEXT = 12;
const MANY = 150; // stops in view
const LARGE_ENOUGH = 0.4; // of the size at which the routes fill the map
const PAPER_MAP = [688, 416]; // pixels on a page, as page.css has it

/** Draw the map of a scene; null if its places have no coordinates. `view` is where the last map was. */
export function drawMap(scene, hub, view = {}) {
  if (!scene.places.length || scene.places[0].x === undefined) return null;
  const canvas = svg("svg", { class: "map", role: "img", "aria-label": "Map of the routes" });
  const box = html("div", { class: "map-box", tabindex: 0 }, canvas);
  let again = Boolean(view.width); // it takes the place of another one
  if (!again) Object.assign(view, { x: 0, y: 0, scale: 1, fit: 1, width: 0, height: 0, large: 1 });
  const everything = placesShown(scene, true);
  const onRoutes = placesShown(scene, false);
  const routed = onRoutes.length > 1 ? onRoutes : everything;
  const layers = layersOf(scene, hub);
  const scale = html("div", { class: "scale" });
  canvas.append(...layers.map((layer) => layer.element));
  let pending = 0;
  const settle = () => layers.forEach((layer) => layer.settle?.(view));
  const redraw = () => {
    layers.forEach((layer) => layer.move(view));
    showScale(scale, scene, view);
    box.classList.toggle("enlarged", view.scale > 1.01 * view.fit);
    clearTimeout(pending);
    pending = setTimeout(settle, 80);
  };
  const size = (wide, high = box.clientHeight, keep = true, large = textScale()) => {
    const before = { ...view };
    Object.assign(view, { width: wide / large, height: high / large, large });
    canvas.setAttribute("viewBox", `0 0 ${view.width} ${view.height}`);
    fit(view, routed, everything);
    if (before.width && keep && (view.own || again)) {
      Object.assign(view, { x: before.x, y: before.y, scale: again ? before.scale : (before.scale / before.fit) * view.fit });
    }
    again = false;
    redraw();
    settle();
  };
  onWidth(box, (width) => size(width), true);
  let whole = false;
  const reset = () => {
    whole = !whole && view.scale === view.fit;
    fit(view, routed, everything);
    view.own = whole;
    if (whole) Object.assign(view, frame(view, everything));
    redraw();
  };
  const change = { view, redraw, reset };
  box.append(controls(change), scale);
  if (scene.tiles) box.append(html("div", { class: "credit" }, creditOf(scene.tiles)));
  followPointers(box, change);
  hub.watch((focus) => layers.forEach((layer) => layer.focus?.(focus)));
  addEventListener("beforeprint", () => size(...PAPER_MAP, false, 1), hub.listening);
  addEventListener("afterprint", () => size(box.clientWidth, box.clientHeight, false), hub.listening);
  return box;
}

/** Places that vehicles go to, or with `all` those of stops that are left out, too. */
function placesShown(scene, all) {
  const shown = new Set(all ? scene.stops.map((stop) => stop.place) : []);
  scene.routes.forEach((route, vehicle) => {
    if (!route.moves && !all) return;
    route.visits.forEach((visit) => shown.add(visit.place));
    shown.add(scene.vehicles[vehicle].start).add(scene.vehicles[vehicle].end);
  });
  const ways = scene.routes.flatMap((route) => wayPoints(route) ?? []).flat();
  return [...[...shown].map((place) => scene.places[place]), ...ways];
}

/** Where the view has to be to show places. */
function frame(view, places) {
  // Not Math.min(...all): ways have more points than a call may have arguments.
  const [left, top] = ["x", "y"].map((axis) => places.reduce((least, place) => Math.min(least, place[axis]), Infinity));
  const [right, bottom] = ["x", "y"].map((axis) => places.reduce((most, place) => Math.max(most, place[axis]), -Infinity));
  const [room, beside] = [Math.min(40, view.width / 10), 60]; // at the right are buttons
  const widest = Math.max(Math.abs(right), Math.abs(bottom), 1e-9);
  const scale = Math.min(
    (view.width - room - beside) / Math.max(right - left, 1e-9 * widest),
    (view.height - 2 * room) / Math.max(bottom - top, 1e-9 * widest),
  );
  return { x: (left + right) / 2 + (beside - room) / 2 / scale, y: (top + bottom) / 2, scale };
}

/** Show the routes, and all other places if that leaves the routes large enough. */
function fit(view, routed, everything) {
  const [near, far] = [frame(view, routed), frame(view, everything)];
  Object.assign(view, far.scale > LARGE_ENOUGH * near.scale ? far : near);
  view.fit = view.scale;
}

function pixel(view, place) {
  return [
    view.width / 2 + (place.x - view.x) * view.scale,
    view.height / 2 + (place.y - view.y) * view.scale,
  ];
}

function layersOf(scene, hub) {
  const visits = visitsOf(scene);
  const markers = markersOf(scene, hub, visits);
  const layers = [legsLayer(scene), markersLayer(scene, markers), labelsLayer(scene, markers)];
  if (scene.tiles) layers.unshift(tilesLayer(scene.tiles));
  return layers;
}

// Routes

function legsLayer(scene) {
  const element = svg("g", { class: "legs" });
  const routes = [];
  scene.routes.forEach((route, number) => {
    if (!route.moves) return;
    const { start, end, colour, dashes } = scene.vehicles[number];
    const places = [start, ...route.visits.map((visit) => visit.place), end].map((place) => scene.places[place]);
    const legs = wayPoints(route) ?? places.slice(1).map((to, k) => [places[k], to]);
    const line = svg("path", { class: "leg", "stroke-dasharray": dashes.map((d) => 2 * d).join(" ") });
    const arrows = svg("path", { class: "arrow" });
    const group = svg("g", { class: "routed", "--route": colour, "data-vehicle": number }, line, arrows);
    routes.push({ legs, line, arrows, group, number });
    element.append(group);
  });
  const move = (view) => {
    for (const { legs, line, arrows } of routes) {
      const ways = legs.map((leg) => leg.map((point) => pixel(view, point)));
      line.setAttribute("d", `M${ways.flat().map((point) => point.map(near).join(" ")).join("L")}`);
      arrows.setAttribute("d", ways.map(arrowOf).join(""));
    }
  };
  const focus = (focused) => {
    const vehicle = focused?.vehicle;
    for (const { group, number } of routes) {
      group.classList.toggle("faint", vehicle !== undefined && vehicle !== number);
    }
  };
  return { element, move, focus };
}

function near(value) {
  return Math.round(10 * value) / 10;
}

/** Points of the ways along streets, leg by leg; null if they are straight. */
function wayPoints(route) {
  if (!route.ways) return null;
  return route.ways.map((way) => {
    const points = [];
    for (let k = 0; k < way.length; k += 2) points.push({ x: way[k], y: way[k + 1] });
    return points;
  });
}

/** An arrow on the part of a way that is nearest to its middle and long enough. */
function arrowOf(way) {
  const parts = way.slice(1).map((to, k) => [way[k], to, Math.hypot(to[0] - way[k][0], to[1] - way[k][1])]);
  const whole = parts.reduce((sum, [, , length]) => sum + length, 0);
  if (whole < 36) return "";
  let [before, best] = [0, null];
  for (const [from, to, length] of parts) {
    const off = Math.abs(before + length / 2 - whole / 2);
    before += length;
    if (length >= Math.min(18, whole / 3) && (!best || off < best.off)) best = { off, from, to };
  }
  return best ? arrow(best.from, best.to) : "";
}

function arrow([x, y], [toX, toY]) {
  const [dx, dy] = [toX - x, toY - y];
  const length = Math.hypot(dx, dy);
  const [ux, uy] = [dx / length, dy / length];
  const [tipX, tipY] = [x + dx * 0.55, y + dy * 0.55];
  const [backX, backY] = [tipX - 9 * ux, tipY - 9 * uy];
  const corners = [
    [tipX, tipY],
    [backX - 4.2 * uy, backY + 4.2 * ux],
    [backX + 4.2 * uy, backY - 4.2 * ux],
  ];
  return `M${corners.map((corner) => corner.map(near).join(" ")).join("L")}Z`;
}

// Stops and ends

function markersOf(scene, hub, visits) {
  const most = Math.max(...scene.stops.map((stop) => stop.full), 1e-12);
  const markers = scene.stops.map((stop, number) => {
    const found = visits.get(number);
    const worth = Math.sqrt(stop.full / most);
    const radius = found ? 7 + 5 * worth : 3.5 + 3.5 * worth;
    return stopMarker(scene, hub, number, found, radius);
  });
  markers.sort((one, other) => one.rank - other.rank);
  return [...markers, ...endMarkers(scene)];
}

function stopMarker(scene, hub, number, found, radius) {
  const stop = scene.stops[number];
  const missing = stop.required && !found;
  const group = svg("g", { class: `stop ${found ? "routed" : missing ? "missing" : "unvisited"}` });
  group.append(svg("circle", { class: "reach", r: Math.max(radius + 4, 11) }));
  const circle = svg("circle", { class: "spot", r: radius });
  group.append(circle);
  if (found) {
    group.style.setProperty("--route", scene.vehicles[found.vehicle].colour);
    group.append(svg("text", { class: "order" }, String(found.order)));
  }
  const star = stop.required ? svg("text", { class: "star" }, "★") : null;
  if (star) group.append(star);
  standFor(group, hub, { stop: number });
  return {
    group,
    circle,
    star,
    radius,
    number,
    vehicle: found?.vehicle,
    place: scene.places[found ? found.visit.place : stop.place],
    text: stop.name,
    rank: missing ? 3 : found ? 2 : 1,
    worth: stop.full,
  };
}

function endMarkers(scene) {
  const ends = new Map();
  scene.vehicles.forEach((vehicle) => {
    ends.set(vehicle.start, "start");
    if (!ends.has(vehicle.end)) ends.set(vehicle.end, "end");
  });
  return [...ends].map(([place, kind]) => {
    const shape =
      kind === "start"
        ? svg("rect", { class: "depot", x: -6, y: -6, width: 12, height: 12, rx: 2 })
        : svg("path", { class: "depot", d: "M0 -8L8 0L0 8L-8 0Z" });
    const text = scene.places[place].name || kind;
    const group = svg("g", { class: "end" }, shape, svg("title", {}, text));
    return { group, circle: null, radius: 7, place: scene.places[place], text, rank: 4, worth: 0 };
  });
}

function markersLayer(scene, markers) {
  const element = svg("g", { class: "stops" });
  element.append(...markers.map((marker) => marker.group));
  const move = (view) => {
    const apart = Math.sqrt((view.width * view.height) / markers.length);
    const larger = Math.sqrt(Math.max(1, view.scale / view.fit));
    const grown = Math.min(1.5, Math.max(0.45, Math.min(1, apart / 60) * larger));
    for (const marker of markers) {
      const [x, y] = pixel(view, marker.place);
      marker.at = [x, y];
      marker.reach = marker.radius * (marker.circle ? grown : 1);
      marker.group.setAttribute("transform", `translate(${near(x)} ${near(y)})`);
      if (marker.circle) {
        marker.circle.setAttribute("r", near(marker.reach));
        marker.star?.setAttribute("x", near(marker.reach));
        marker.star?.setAttribute("y", near(-marker.reach));
        marker.group.classList.toggle("small", marker.reach < 7);
      }
    }
  };
  const focus = (focused) => {
    for (const { group, number, vehicle } of markers) {
      group.classList.toggle("on", focused?.stop !== undefined && focused.stop === number);
      const other = focused?.vehicle !== undefined && vehicle !== focused.vehicle;
      group.classList.toggle("faint", other && number !== undefined);
    }
  };
  return { element, move, focus };
}

// Names, where there is room

function labelsLayer(scene, markers) {
  const element = svg("g", { class: "labels" });
  const order = [...markers].sort((one, other) => other.rank - one.rank || other.worth - one.worth);
  let shown = [];
  const move = () => {
    for (const { marker, label, dx, dy } of shown) {
      const [x, y] = marker.at;
      label.setAttribute("transform", `translate(${near(x + dx)} ${near(y + dy)})`);
    }
  };
  const settle = (view) => {
    shown = placeLabels(view, order);
    element.replaceChildren(...shown.map(({ label }) => label));
    move();
  };
  const focus = (focused) => {
    for (const { marker, label } of shown) {
      label.classList.toggle("on", focused?.stop !== undefined && focused.stop === marker.number);
    }
  };
  return { element, move, settle, focus };
}

function placeLabels(view, order) {
  const inside = ([x, y]) => x > 0 && y > 0 && x < view.width && y < view.height;
  const seen = order.filter((marker) => inside(marker.at));
  const many = seen.length > MANY;
  const taken = seen.map(({ at: [x, y], reach }) => [x - reach, y - reach, x + reach, y + reach]);
  const { width: right, height: bottom } = view;
  taken.push([right - 54, 0, right, 144], [0, bottom - 34, 20 + Math.min(120, right / 4), bottom]); // buttons, scale
  const shown = [];
  for (const marker of seen.slice(0, 400)) {
    if (many && marker.rank === 1) break; // names of stops that are left out come when it is enlarged
    const text = marker.text.length > 28 ? `${marker.text.slice(0, 19)}…${marker.text.slice(-8)}` : marker.text;
    const width = textWidth(text, TEXT) + 4;
    const gap = marker.reach + 4;
    const tries = [
      [gap, 0, "start"],
      [-gap, 0, "end"],
      [0, -gap - 5, "middle"],
      [0, gap + 6, "middle"],
    ];
    for (const [dx, dy, anchor] of tries) {
      const x = marker.at[0] + dx;
      const y = marker.at[1] + dy;
      const left = anchor === "start" ? x : anchor === "end" ? x - width : x - width / 2;
      const box = [left, y - TEXT / 2 - 1, left + width, y + TEXT / 2 + 1];
      const within = box[0] > 2 && box[1] > 2 && box[2] < view.width - 2 && box[3] < view.height - 2;
      if (!within || taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      const kind = marker.rank === 1 ? "label modest" : "label";
      shown.push({ marker, dx, dy, label: svg("text", { class: kind, "text-anchor": anchor }, text) });
      break;
    }
  }
  return shown;
}

function overlap(one, other) {
  return one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
}

// A map by others behind it, if there is an address for it

function tilesLayer(address) {
  const element = svg("g", { class: "tiles" });
  const kept = new Map();
  const move = (view) => {
    for (const { image, x, y, level } of kept.values()) put(image, view, x, y, level);
  };
  const settle = (view) => {
    const level = Math.min(19, Math.max(0, Math.round(Math.log2(view.scale / TILE))));
    const side = 2 ** level;
    const wanted = new Set();
    const [left, top] = [view.x - view.width / 2 / view.scale, view.y - view.height / 2 / view.scale];
    const [right, bottom] = [left + view.width / view.scale, top + view.height / view.scale];
    for (let x = Math.floor(left * side); x <= Math.floor(right * side); x++) {
      for (let y = Math.max(0, Math.floor(top * side)); y <= Math.min(side - 1, Math.floor(bottom * side)); y++) {
        const key = `${level}/${x}/${y}`;
        wanted.add(key);
        if (kept.has(key)) continue;
        const round = ((x % side) + side) % side;
        const href = address.replace("{z}", level).replace("{x}", round).replace("{y}", y);
        const image = svg("image", { href });
        element.append(image);
        kept.set(key, { image, x, y, level });
      }
    }
    for (const [key, { image }] of kept) {
      if (wanted.has(key)) continue;
      image.remove();
      kept.delete(key);
    }
    move(view);
  };
  return { element, move, settle };
}

function put(image, view, x, y, level) {
  const size = view.scale / 2 ** level;
  const [left, top] = pixel(view, { x: x / 2 ** level, y: y / 2 ** level });
  for (const [name, value] of Object.entries({ x: left, y: top, width: size + 0.5, height: size + 0.5 })) {
    image.setAttribute(name, value);
  }
}

function creditOf(address) {
  const { hostname } = new URL(address.replace(/[{}]/g, ""));
  return hostname.endsWith("openstreetmap.org") ? "© OpenStreetMap contributors" : `Map: ${hostname}`;
}

// Moving and enlarging

function zoom(change, factor, x = change.view.width / 2, y = change.view.height / 2) {
  const { view } = change;
  const scale = Math.min(MOST_ZOOM * view.fit, Math.max(view.fit / 8, view.scale * factor));
  const [dx, dy] = [x - view.width / 2, y - view.height / 2];
  view.x += dx / view.scale - dx / scale;
  view.y += dy / view.scale - dy / scale;
  view.scale = scale;
  view.own = true;
  change.redraw();
}

function shift(change, dx, dy) {
  change.view.x -= dx / change.view.scale;
  change.view.y -= dy / change.view.scale;
  change.view.own = true;
  change.redraw();
}

function controls(change) {
  const button = (name, sign, action) =>
    html("button", { type: "button", title: name, "aria-label": name, onclick: action }, sign);
  return html(
    "div",
    { class: "controls" },
    button("Enlarge", "+", () => zoom(change, 1.6)),
    button("Make smaller", "−", () => zoom(change, 1 / 1.6)),
    button("Show the routes, or all stops", "⤢", change.reset),
  );
}

function followPointers(box, change) {
  const down = new Map();
  let moved = false;
  const at = (event) => {
    const frame = box.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top].map((pixels) => pixels / change.view.large);
  };
  box.addEventListener("pointerdown", (event) => {
    if (event.target.closest(".controls") || event.button > 0) return;
    down.set(event.pointerId, at(event));
    moved = false;
  });
  box.addEventListener("pointermove", (event) => {
    const before = down.get(event.pointerId);
    if (!before) return;
    const now = at(event);
    if (!moved && Math.hypot(now[0] - before[0], now[1] - before[1]) < 4) return;
    if (!moved) box.setPointerCapture(event.pointerId);
    moved = true;
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    down.set(event.pointerId, now);
    if (!other) return shift(change, now[0] - before[0], now[1] - before[1]);
    const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
    shift(change, (now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
    zoom(change, apart(now) / apart(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
  });
  const up = (event) => down.delete(event.pointerId);
  for (const name of ["pointerup", "pointercancel"]) box.addEventListener(name, up);
  box.addEventListener("click", (event) => moved && event.stopPropagation(), true);
  box.addEventListener("dblclick", (event) => zoom(change, 2, ...at(event)));
  box.addEventListener(
    "wheel",
    (event) => {
      // The page scrolls on, unless the map is in use.
      if (!event.ctrlKey && document.activeElement !== box) return;
      event.preventDefault();
      zoom(change, Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), ...at(event));
    },
    { passive: false },
  );
  const keys = {
    "+": () => zoom(change, 1.4),
    "=": () => zoom(change, 1.4),
    "-": () => zoom(change, 1 / 1.4),
    0: change.reset,
    ArrowLeft: () => shift(change, 60, 0),
    ArrowRight: () => shift(change, -60, 0),
    ArrowUp: () => shift(change, 0, 60),
    ArrowDown: () => shift(change, 0, -60),
  };
  box.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  });
}

function showScale(scale, scene, view) {
  scale.hidden = !scene.geographic;
  if (scale.hidden) return;
  const north = Math.PI * (1 - 2 * view.y);
  const metres = EARTH / Math.cosh(north) / view.scale; // of a pixel
  const most = metres * Math.min(120, view.width / 4);
  const power = 10 ** Math.floor(Math.log10(most));
  const length = power * [5, 2, 1].find((factor) => factor * power <= most);
  scale.style.width = `${(view.large * length) / metres}px`;
  scale.textContent = length >= 1000 ? `${length / 1000} km` : `${length} m`;
}
