// The studio: a draft, its views, and what can be done with it.

import { Refusal, get, getScene, listen, post, postRaw, stopPlan } from "./api.js";
import { differenceText, drawBoard, faultsOf, startDrag, visitsText } from "./board.js";
import { drawComparison } from "./compare.js";
import { ask } from "./dialogs.js";
import { html, named } from "./dom.js";
import { keptDraft, makeDraft, moved, ordersOf } from "./draft.js";
import { makeHub } from "./hub.js";
import { drawLeftOut } from "./leftout.js";
import { drawMap } from "./map.js";
import { makeProgress } from "./progress.js";
import { drawTables } from "./tables.js";
import { drawTimetables } from "./timetable.js";
import { makeTip } from "./tip.js";
import { makeToolbar } from "./toolbar.js";
import { numberText, someOf } from "./words.js";

const MANY = 150; // stops; the map follows a drag after the schedule, and that of more stops later
const SHORT = 700; // milliseconds of rest before visits that are left out are priced

const draft = makeDraft();
const progress = makeProgress();
const here = {}; // the places of the page
let view = null; // what the service says of the draft, or of a preview
const hub = makeHub();
const lanes = new Map(); // of the board, as they were drawn last
let tip = null;
let mapView = {};
let tab = "left-out";
let compared = 0;
let job = null; // the plan that is being made: {id, end}
let explaining = null; // what visits would cost, that is being asked for
let asked = 0;
let focused = null; // the visit that keys have moved

// What is shown

const TABS = { "left-out": "Left out", timetables: "Timetables", tables: "Stops and vehicles", compare: "Compare" };

function build() {
  const main = document.getElementById("studio");
  here.facts = html("dl", { class: "facts" });
  here.verdict = html("p", { class: "verdict" });
  here.complaints = html("div", { role: "alert" });
  here.map = html("section", { class: "pane", id: "map", "aria-label": "Map" });
  here.board = html("div", {});
  here.actions = html("div", { class: "actions", hidden: true });
  here.panel = html("div", { id: "panel", role: "tabpanel", tabindex: 0 });
  here.says = html("p", { class: "says", role: "status", "aria-live": "polite" });
  here.title = html("h1", {});
  const tabs = html("div", { class: "tabs", role: "tablist", "aria-label": "Parts" });
  for (const [name, words] of Object.entries(TABS)) {
    tabs.append(html("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "panel", onclick: () => choose(name) }, words));
  }
  tabs.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const names = Object.keys(TABS);
    choose(names[(names.indexOf(tab) + step + names.length) % names.length]);
    document.getElementById(`tab-${tab}`).focus();
  });
  const schedule = html("section", { class: "pane", id: "schedule", "aria-label": "Schedule" }, here.board, here.actions);
  const head = html("section", { class: "overview" }, html("div", {}, here.title, here.verdict), here.facts);
  const lower = html("section", { class: "pane", id: "lower" }, tabs, here.panel);
  here.sides = html("div", { class: "sides" }, here.map, schedule, lower);
  main.replaceChildren(head, here.says, here.complaints, here.sides);
  document.addEventListener("click", () => hub.clear());
}

/** Draw a view; a preview leaves the lower part as it is, and `fit` lets the map show all unless somebody moved it. */
function draw(next, { preview = false, fit = false } = {}) {
  const left = here.board.querySelector(".strip")?.scrollLeft ?? 0;
  const top = here.board.querySelector(".schedule")?.scrollTop ?? 0;
  view = next;
  if (fit && !mapView.own) mapView = {};
  hub.renew();
  const { scene } = view;
  clearTimeout(pendingMap);
  if (preview) pendingMap = setTimeout(drawItsMap, scene.stops.length > MANY ? 200 : 40);
  else drawItsMap();
  const act = { preview: previewed, drop: dropped, cancel: restore, lock, view: () => view };
  const ready = () => {
    here.board.querySelector(".strip").scrollLeft = left;
    here.board.querySelector(".schedule").scrollTop = top;
    if (focused === null) return;
    const bar = [...here.board.querySelectorAll(".bar")].find((one) => one.dataset.label === String(focused));
    focused = null;
    bar?.focus({ preventScroll: true });
  };
  const { board, ground } = drawBoard(view, hub, new Set(draft.state.locked), act, { fixed: job !== null, kept: lanes, ready });
  here.ground = ground;
  here.board.replaceChildren(board);
  tip?.remove();
  tip = makeTip(scene, hub);
  document.body.append(tip);
  hub.watch(() => drawActions());
  drawFacts();
  if (!preview || job) drawWords(); // in a drag nothing may move away from under the pointer
  if (!preview) {
    drawPanel();
    showAddress();
  }
  drawActions();
  toolbar.update({ draft, job, view });
}

let pendingMap = 0;

function drawItsMap() {
  const map = drawMap(view.scene, hub, mapView);
  here.map.replaceChildren(map ?? html("p", { class: "quiet" }, "The places have no coordinates."));
}

function visitedIn(scene) {
  return scene.routes.reduce((sum, route) => sum + route.visits.length, 0);
}

function drawFacts() {
  const { scene } = view;
  const required = scene.stops.filter((stop) => stop.required).length;
  const facts = [["profit", scene.broken.length ? "–" : numberText(scene.profit)]]; // what is broken earns nothing
  if (scene.bound !== null && !scene.broken.length) facts.push(["at most", numberText(scene.bound)]);
  facts.push(["stops visited", `${visitedIn(scene)} of ${scene.stops.length}`]);
  if (required) facts.push(["required", `${required - scene.missing.length} of ${required}`]);
  here.facts.replaceChildren(...facts.map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value))));
}

function drawWords() {
  const { scene } = view;
  here.title.replaceChildren(named(scene.name || "Without a name"));
  document.title = `${scene.name || "plan"} · decost studio`;
  const untouched = draft.state.plan !== null || job !== null;
  here.verdict.className = `verdict${untouched && scene.status === "optimal" ? " proven" : ""}`;
  const among = draft.state.plan !== null && draft.state.among ? ` ${draft.state.among}` : "";
  here.verdict.textContent = untouched ? `${scene.verdict}${among}` : verdictByHand();
  const lines = view.breaks.length ? faultsOf(view) : scene.broken.map((line) => line.replace(/ \[\w+\]$/, ""));
  if (scene.missing.length && visitedIn(scene)) lines.push(`Required, but not visited: ${someOf(scene.missing)}`);
  here.complaints.replaceChildren(...(lines.length ? [html("ul", { class: "complaints" }, ...lines.map((line) => html("li", {}, line)))] : []));
}

function verdictByHand() {
  if (view.breaks.length) return "This order cannot be kept. Its visits are shown as short as they can be.";
  if (visitedIn(view.scene)) return "By hand: these are the best stays for this order.";
  return "Nothing is planned yet. Solve, or drag stops from the list of those left out onto the schedule.";
}

function drawPanel() {
  for (const name of Object.keys(TABS)) {
    const button = document.getElementById(`tab-${name}`);
    button.setAttribute("aria-selected", name === tab);
    button.tabIndex = name === tab ? 0 : -1;
  }
  document.getElementById("tab-left-out").textContent = `${TABS["left-out"]} (${view.scene.left_out.length})`;
  here.sides.classList.toggle("wide", tab === "tables");
  here.panel.setAttribute("aria-labelledby", `tab-${tab}`);
  const used = here.panel.contains(document.activeElement) ? document.activeElement : null;
  here.panel.replaceChildren(PANELS[tab]());
  if (used) goOn(used);
}

/** Let somebody who types or presses keys in the panel go on after it was drawn anew. */
function goOn(used) {
  const name = used.getAttribute("aria-label");
  const same = name && [...here.panel.querySelectorAll("[aria-label]")].find((one) => one.getAttribute("aria-label") === name);
  if (!same) return;
  same.focus({ preventScroll: true });
  if (used.value !== used.defaultValue && used.type !== "checkbox") same.value = used.value;
}

const PANELS = {
  "left-out": () => html("div", {}, drawLeftOut(pricedScene(), hub, leftOutRow), explaining?.busy ? html("p", { class: "quiet" }, "Finding out what visits would cost …") : ""),
  timetables: () => (view.breaks.length ? html("p", { class: "quiet" }, "There are no timetables of orders that break.") : drawTimetables(view.scene, hub)),
  tables: () => drawTables(draft.state.instance, edited),
  compare: drawCompare,
};

/** The scene with what visits would cost, once that is known. */
function pricedScene() {
  const { explanation } = draft.state;
  if (!explanation || !draft.state.priced || draft.state.priced !== JSON.stringify(draft.state.orders)) return view.scene;
  const numbers = new Map(view.labels.map((label, number) => [label, number]));
  const left_out = explanation.left_out.map((one) => ({ ...one, stop: numbers.get(one.stop) }));
  view.scene.left_out = left_out.filter((one) => one.stop !== undefined);
  view.scene.more_time = explanation.words;
  return view.scene;
}

function leftOutRow(row, one) {
  if (job) return;
  const label = view.labels[one.stop];
  const name = view.scene.stops[one.stop].name;
  const add = html("button", { type: "button", class: "small add", "aria-label": `Add ${name} where it earns most` }, "Add");
  add.addEventListener("click", (event) => {
    event.stopPropagation();
    insert(label);
  });
  row.classList.add("draggable");
  row.append(add);
  row.addEventListener("pointerdown", (event) => {
    if (event.target === add || event.pointerType === "touch") return;
    event.preventDefault();
    startDrag(event, label, name, here.ground, { preview: previewed, drop: dropped, cancel: restore });
  });
}

function drawCompare() {
  const { kept } = draft;
  if (!kept.length) return html("p", { class: "quiet" }, "Press “Keep” above to keep a plan; then change it or solve again, and see here what differs.");
  compared = Math.min(compared, kept.length - 1);
  const select = html("select", { "aria-label": "Plan to compare with" }, ...kept.map((one, k) => html("option", { value: k, selected: k === compared }, one.name)));
  select.addEventListener("change", () => {
    compared = Number(select.value);
    drawPanel();
  });
  const back = () => {
    draft.change(kept[compared].state);
    refresh();
  };
  return html("div", {}, html("label", { class: "inline" }, html("span", {}, "Compare with "), select), drawComparison(kept[compared], view, "now", back));
}

function choose(name) {
  tab = name;
  drawPanel();
  document.getElementById(`tab-${name}`).scrollIntoView({ block: "nearest", inline: "nearest" });
}

function say(words, bad = false) {
  here.says.textContent = words;
  here.says.classList.toggle("bad", bad);
}

/** Do something, and say what is wrong if it is refused. */
async function trying(what) {
  try {
    say("");
    return await what();
  } catch (error) {
    if (error.name === "AbortError") return undefined;
    if (!(error instanceof Refusal)) console.error(error);
    say(error.message, true);
    return undefined;
  }
}

function sceneOf(state, signal) {
  const { instance, orders, plan } = state;
  return getScene(plan ? { instance, plan } : { instance, orders }, signal);
}

/** Show the draft as it is now. */
function refresh() {
  return trying(async () => {
    const turn = ++asked;
    const next = await sceneOf(draft.state);
    if (turn !== asked) return;
    draw(next, { fit: true });
    price();
  });
}

/** Find out what visits would cost, after a while without changes. */
function price() {
  stopPricing();
  if (!view.result || job || !view.scene.left_out.length) return;
  const key = JSON.stringify(draft.state.orders);
  if (draft.state.priced === key && draft.state.explanation) return;
  const mine = { control: new AbortController(), busy: true };
  mine.timer = setTimeout(async () => {
    try {
      const plan = draft.state.plan ?? view.result;
      const explanation = await post("explain", { instance: draft.state.instance, plan, time_limit: 2 }, mine.control.signal);
      if (explaining === mine) draft.amend({ explanation, priced: key });
    } catch {
      // The list without prices will do.
    }
    mine.busy = false;
    if (explaining === mine && tab === "left-out") drawPanel();
  }, SHORT);
  explaining = mine;
  if (tab === "left-out") drawPanel();
}

function stopPricing() {
  clearTimeout(explaining?.timer);
  explaining?.control.abort();
  explaining = null;
}

// Changes by hand

function changedOrders(orders) {
  return { ...draft.state, orders, plan: null, source: null };
}

/** Note how long something took until it was on the screen. */
function measured(name, since) {
  requestAnimationFrame(() => setTimeout(() => performance.measure(name, { start: since, end: performance.now() })));
}

let previewing = null; // {key, busy, next, view}

async function previewed(label, target, tell) {
  const since = performance.now();
  const orders = moved(draft.state.orders, label, target);
  const key = JSON.stringify(orders);
  previewing ??= { base: view.breaks.length ? null : view.scene.profit };
  previewing.wanted = { key, orders, tell, since };
  if (previewing.busy) return;
  const mine = previewing;
  mine.busy = true;
  while (mine.wanted && previewing === mine) {
    const { wanted } = mine;
    mine.wanted = null;
    try {
      const next = await getScene({ instance: draft.state.instance, orders: wanted.orders });
      if (previewing !== mine) break;
      mine.view = next;
      mine.key = wanted.key;
      draw(next, { preview: true });
      measured("drag", wanted.since);
      wanted.tell(next.breaks.length ? next.breaks[0].why : mine.base === null ? "" : differenceText(mine.base, next.scene.profit));
    } catch (error) {
      wanted.tell(error.message);
    }
  }
  mine.busy = false;
}

async function dropped(label, target) {
  const since = performance.now();
  const orders = moved(draft.state.orders, label, target);
  const key = JSON.stringify(orders);
  const shown = previewing?.key === key ? previewing.view : null;
  previewing = null;
  focused = label;
  if (key === JSON.stringify(draft.state.orders)) return restore();
  const before = view.breaks.length ? null : view.scene.profit;
  return trying(async () => {
    const next = shown ?? (await getScene({ instance: draft.state.instance, orders }));
    const locked = target ? draft.state.locked : draft.state.locked.filter((one) => one !== label);
    draft.change({ ...changedOrders(orders), locked });
    draw(next, { fit: true });
    measured("drop", since);
    price();
    if (!shown && before !== null) say(next.breaks.length ? faultsOf(next)[0] : differenceText(before, next.scene.profit));
  });
}

function restore() {
  previewing = null;
  return refresh();
}

function insert(label) {
  return trying(async () => {
    const next = await getScene({ instance: draft.state.instance, orders: draft.state.orders, insert: label });
    draft.change(changedOrders(next.orders));
    draw(next, { fit: true });
    price();
    say(`Added; now ${visitsText(next.scene)}.`);
  });
}

function lock(label) {
  const { locked } = draft.state;
  const has = locked.includes(label);
  draft.change({ ...draft.state, locked: has ? locked.filter((one) => one !== label) : [...locked, label] });
  focused = label;
  draw(view);
  say(has ? "Unlocked." : "Locked: solving keeps this visit with its vehicle.");
}

/** Take an edited instance; give the words if it is refused. */
async function edited(instance, renamed) {
  let { orders, locked } = draft.state;
  const rename = (label) => (renamed?.stop?.[0] === label ? renamed.stop[1] : label);
  orders = orders.map((order) => order.map(rename).filter((label) => label !== renamed?.removed));
  locked = locked.map(rename).filter((label) => label !== renamed?.removed);
  if (renamed?.vehicle !== undefined) orders.splice(renamed.vehicle, 1);
  const state = { ...draft.state, instance: { ...instance, version: 2 }, orders, locked, plan: null, source: null, explanation: null };
  try {
    const next = await sceneOf(state);
    draft.change({ ...state, orders: next.orders });
    mapView = {};
    draw(next);
    price();
    return null;
  } catch (error) {
    const stopName = (_, number) => `stop ${instance.stops[number]?.id ?? Number(number) + 1}: `;
    return error.message.replace(/^instance: /, "").replace(/\bstops\[(\d+)\]\.?/, stopName);
  }
}

function drawActions() {
  const number = hub.chosen?.stop;
  here.actions.hidden = number === undefined || job !== null;
  if (here.actions.hidden) return;
  const label = view.labels[number];
  const vehicle = draft.state.orders.findIndex((order) => order.includes(label));
  const button = (words, name, action, off = false) =>
    html("button", { type: "button", "aria-label": name, title: name, disabled: off, onclick: (event) => (event.stopPropagation(), action()) }, words);
  const parts = [html("strong", {}, named(view.scene.stops[number].name))];
  if (vehicle < 0) {
    parts.push(button("Add", "Add it where it earns most", () => insert(label)));
  } else {
    const order = draft.state.orders[vehicle].indexOf(label);
    const to = (other, place) => () => dropped(label, { vehicle: other, order: place });
    const beside = (other) => Math.min(order, draft.state.orders[other]?.length ?? 0);
    const last = draft.state.orders[vehicle].length - 1;
    parts.push(
      button("←", "Earlier", to(vehicle, order - 1), order === 0),
      button("→", "Later", to(vehicle, order + 1), order === last),
      button("↑", "To the vehicle above", to(vehicle - 1, beside(vehicle - 1)), vehicle === 0),
      button("↓", "To the vehicle below", to(vehicle + 1, beside(vehicle + 1)), vehicle === draft.state.orders.length - 1),
      button(draft.state.locked.includes(label) ? "Unlock" : "Lock", "Lock or unlock it", () => lock(label)),
      button("Take out", "Take it out of the plan", () => dropped(label, null)),
    );
  }
  here.actions.replaceChildren(...parts);
}

// Loading

function begin(instance, plan = null, source = null) {
  const vehicles = typeof instance.vehicles === "number" ? instance.vehicles : (instance.vehicles?.length ?? 1);
  const orders = plan ? ordersOf(plan.routes) : Array.from({ length: vehicles }, () => []);
  draft.change({ instance: { ...instance, version: 2 }, orders, locked: [], plan, explanation: null, source, among: "" });
  mapView = {};
  draft.keep([]);
  return refresh();
}

/** Let the address name the plan, to come back to it. */
function showAddress() {
  const hash = draft.state.source ? `#plan=${draft.state.source}` : "";
  if (location.hash !== hash) history.replaceState(null, "", hash || " ");
}

function loadExample(name) {
  return trying(async () => begin(await get(`examples/${encodeURIComponent(name)}`)));
}

function inBase64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(new Refusal(0, `${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
}

let loading = Promise.resolve(); // the files that are being read

/** Read what was dropped, after what was dropped before: an instance, or a plan for the one that is open. */
function loadFiles(list) {
  const given = [...list]; // the browser empties the list after the event
  if (given.length) loading = loading.then(() => loadGiven(given));
  return loading;
}

function loadGiven(given) {
  return trying(async () => {
    say("Reading …");
    const plan = given.length === 1 && draft.state ? await planIn(given[0]) : null;
    if (plan) {
      await leave();
      const state = { ...draft.state, plan, orders: ordersOf(plan.routes), locked: [], source: null, explanation: null };
      const turn = ++asked; // what was asked for before must not be drawn over it
      const next = await sceneOf(state);
      if (turn !== asked) return;
      draft.change({ ...state, orders: next.orders });
      draw(next, { fit: true });
      say("");
      return price();
    }
    const packed = await Promise.all(given.map(async (file) => ({ name: file.name, content: await inBase64(file) })));
    const answer = await postRaw("instances", { files: packed });
    const instance = await answer.json();
    await leave();
    await begin(instance);
    const notes = JSON.parse(answer.headers.get("decost-notes") ?? "[]");
    if (notes.length) say(notes.join("\n"));
  });
}

/** End a plan that is being made, if something else takes its place. */
async function leave() {
  if (!job) return;
  const { id } = job;
  stopListening();
  await stopPlan(id);
}

async function planIn(file) {
  if (!file.name.endsWith(".json") || file.size > 2 ** 25) return null;
  try {
    const data = JSON.parse(await file.text());
    return data.routes ? data : null;
  } catch {
    return null;
  }
}

// Plans by the service

function solve({ method, seconds }) {
  return trying(async () => {
    const { instance, orders } = draft.state;
    const locked = draft.state.locked.filter((label) => orders.some((order) => order.includes(label)));
    const options = { method };
    if (seconds > 0) options.time_limit = seconds;
    const message = { instance, options };
    if (orders.some((order) => order.length)) Object.assign(message, { start: orders, locked });
    follow((await post("plans", message)).id, locked.length ? "This is about plans that keep what is locked." : "");
  });
}

async function replan() {
  const clock = draft.state.instance.unit === "minutes";
  const fields = [
    { name: "now", label: clock ? "Now, such as 12:30" : "Now", required: true, value: clock ? new Date().toTimeString().slice(0, 5) : "" },
    { name: "drop", label: "Stops that fell away, with commas between", value: "" },
    { name: "keep", label: "What is to stay", options: [["", "nothing but what has begun"], ["stop", "every stop that is visited"], ["order", "the order; others may come between"], ["route", "the stops and their order"]] },
  ];
  const told = await ask("Replan from now", "What has begun stays as it is, the rest is planned anew.", fields, "Replan");
  if (!told) return;
  await trying(async () => {
    const number = Number(told.now);
    const drop = told.drop.split(",").map((word) => word.trim()).filter(Boolean);
    const known = new Map(view.labels.map((label) => [String(label), label]));
    const message = {
      instance: draft.state.instance,
      plan: draft.state.plan ?? view.result,
      now: Number.isNaN(number) ? told.now : number,
      drop: drop.map((word) => known.get(word) ?? word),
      keep: told.keep || null,
      options: toolbar.options(),
    };
    follow((await post("replan", message)).id, "This is about plans that keep what has begun.");
  });
}

/** Show a plan while it is made; `among` says which plans it is compared with. */
function follow(id, among = draft.state.among ?? "") {
  stopPricing();
  draft.amend({ source: id, awaited: true, among }); // what is awaited is taken in also after a reload
  progress.clear();
  job = { id, busy: false, wanted: null };
  job.end = listen(id, (event, told) => heard(id, event, told));
  draw(view);
}

function stopListening() {
  job?.end();
  job = null;
  draft.amend({ awaited: false });
  progress.clear();
}

async function heard(id, event, told) {
  if (job?.id !== id) return;
  if (event === "done") {
    const instance = { ...(await get(`plans/${id}/instance`)), version: 2 }; // replanning may have changed it
    if (job?.id !== id) return;
    stopListening();
    draft.change({ ...draft.state, instance, plan: told, orders: ordersOf(told.routes), explanation: null });
    await refresh();
    say(`Planned: profit ${numberText(view.scene.profit)}, ${visitsText(view.scene)}.`);
    document.body.dataset.solved = id;
  } else if (event === "failed" || event === "gone") {
    stopListening();
    draft.amend({ source: null });
    await refresh();
    say(told.error ? `No plan: ${told.error}` : "The plan is not there any more.", true);
  } else {
    progress.show(event, told);
    if (told.routes) await live(told);
  }
}

/** Draw the best plan so far, the latest only if there are many. */
async function live(told) {
  const mine = job;
  mine.wanted = told;
  if (mine.busy) return;
  mine.busy = true;
  try {
    while (mine.wanted && job === mine) {
      const { routes, bound } = mine.wanted;
      mine.wanted = null;
      const next = await getScene({ instance: draft.state.instance, plan: { routes, status: "feasible", bound } });
      if (job === mine) draw(next, { preview: true, fit: true });
    }
  } finally {
    mine.busy = false;
  }
}

function stop() {
  return trying(() => stopPlan(job.id));
}

function keep() {
  const name = `plan ${draft.kept.length + 1} (${numberText(view.scene.profit)})`;
  compared = draft.kept.length;
  draft.keep([...draft.kept, { name, view, state: draft.state }]);
  choose("compare");
  say(`Kept as ${name}.`);
}

async function save(format) {
  if (format === "instance") {
    return download(new Blob([JSON.stringify(draft.state.instance, null, 1)], { type: "application/json" }), "instance.json");
  }
  let date = null;
  if (format === "ics") {
    const today = new Date().toISOString().slice(0, 10);
    const told = await ask("Calendar", "The day of the plan.", [{ name: "date", label: "Day", type: "date", value: today, required: true }], "Save");
    if (!told) return undefined;
    date = told.date;
  }
  return trying(async () => {
    const plan = draft.state.plan ?? view.result;
    const answer = await postRaw("exports", { instance: draft.state.instance, plan, format, date });
    download(await answer.blob(), `${(view.scene.name || "plan").replace(/[^\p{L}\p{M}\p{N}_-]+/gu, "_")}.${format}`);
    say("Saved.");
  });
}

function download(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = html("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function step(which) {
  if (job) return undefined;
  draft[which]();
  return refresh();
}

const toolbar = makeToolbar(document.getElementById("bar"), {
  open: loadFiles,
  example: loadExample,
  solve,
  stop,
  undo: () => step("undo"),
  redo: () => step("redo"),
  replan,
  keep,
  save,
});
toolbar.element.append(progress.element);

function listenToAll() {
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    loadFiles(event.dataTransfer.files);
  });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") hub.clear();
    const typing = event.target.closest?.("input, select, textarea, dialog");
    if (typing || !(event.ctrlKey || event.metaKey)) return;
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    step(key === "y" || event.shiftKey ? "redo" : "undo");
  });
}

async function start() {
  build();
  listenToAll();
  await trying(async () => {
    toolbar.fill(await get("examples"), await get("methods"));
    let plan = location.hash.match(/^#plan=([0-9a-f]{32})$/)?.[1];
    let saved = await keptDraft();
    if (saved) {
      plan ??= saved.state.awaited && saved.state.source;
      draft.change(saved.state);
      draft.keep(saved.kept ?? []);
      await refresh();
      if (!view) saved = null; // it is of another version, or the service has changed
    }
    if (plan) await resume(plan, saved);
    else if (!saved) await loadExample("guides");
  });
  document.body.dataset.ready = "yes";
}

/** Show the plan that the address names, and go on with it if it is not ready. */
async function resume(id, saved) {
  let told;
  try {
    told = await get(`plans/${id}`);
  } catch {
    if (!saved) return loadExample("guides");
    draft.amend({ source: null, awaited: false });
    return showAddress();
  }
  const pending = ["queued", "running"].includes(told.status);
  const known = saved?.state.source === id;
  if (!known) await begin(await get(`plans/${id}/instance`), pending || !told.routes ? null : told, id);
  if (pending || (known && draft.state.awaited)) follow(id);
  return undefined;
}

start();
