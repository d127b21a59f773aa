// Stops and vehicles in tables that can be edited.

import { html } from "./dom.js";

const FIRST = 100;

const TIMES = { open: "opens", close: "last start", leave_by: "closes" };

/** Make the tables; `change(instance, renamed)` tries an edited instance, and gives the words if it is refused. */
export function drawTables(instance, change) {
  const note = html("p", { class: "refusal", role: "alert" });
  const attempt = async (cell, make) => {
    const copy = structuredClone(instance);
    const renamed = make(copy);
    const words = await change(copy, renamed ?? null);
    note.textContent = words ?? "";
    cell?.classList.toggle("wrong", Boolean(words));
    cell?.setAttribute("aria-invalid", Boolean(words));
  };
  return html(
    "div",
    { class: "tables" },
    note,
    general(instance, attempt),
    html("h3", {}, "Stops"),
    stopsTable(instance, attempt),
    html("h3", {}, "Vehicles"),
    vehiclesTable(instance, attempt),
  );
}

/** What somebody typed: a number, a text, or nothing. */
function read(text) {
  const words = text.trim();
  if (words === "") return undefined;
  return /^[-+]?\d+(\.\d+)?$/.test(words) ? Number(words) : words;
}

/** A number with as many digits as anybody wants to see; what was read stays exact, unless it is typed anew. */
function short(value) {
  return typeof value === "number" ? Number(value.toPrecision(8)) : value;
}

function put(record, field, value) {
  if (value === undefined) delete record[field];
  else record[field] = value;
}

const KINDS = {
  value: { show: (value) => short(value) ?? "", read },
  text: { show: (value) => value ?? "", read: (text) => text.trim() || undefined },
  list: { show: (value) => (value ?? []).join(", "), read: (text) => (text.trim() ? text.split(",").map((word) => word.trim()) : undefined) },
  profit: {
    show: (value) => (value ?? []).map(([rate, length]) => `${short(rate)} for ${short(length)}`).join(", "),
    read(text) {
      if (!text.trim()) return undefined;
      return text.split(/,|then/).map((part) => part.split(/for|×|x/).map((word) => read(word)));
    },
  },
  place: {
    show: (value) => (value && typeof value === "object" ? Object.values(value).map(short).join(" ") : (value ?? "")),
    read(text, instance) {
      const pair = text.trim().match(/^([-+]?[\d.]+)[\s,]+([-+]?[\d.]+)$/);
      if (!pair) return text.trim() || undefined;
      const [one, other] = "lat" in instance.depot ? ["lat", "lon"] : ["x", "y"];
      return { [one]: Number(pair[1]), [other]: Number(pair[2]) };
    },
  },
};

/** A cell to type in; `store(copy, value)` puts the value into a copy of the instance. */
function cell(label, kind, value, attempt, store, width, placeholder) {
  const { show, read: take } = KINDS[kind];
  const shown = String(show(value));
  const input = html("input", { value: shown, "aria-label": label, size: width ?? 7, placeholder, autocomplete: "off", spellcheck: "false" });
  input.addEventListener("change", () => {
    if (input.value === shown) return input.classList.remove("wrong");
    return attempt(input, (copy) => store(copy, take(input.value, copy)));
  });
  return html("td", {}, input);
}

function general(instance, attempt) {
  const field = (name, label, width) =>
    html(
      "label",
      {},
      html("span", {}, label),
      cell(label, name === "name" ? "text" : "value", instance[name], attempt, (copy, value) => put(copy, name, value), width).firstChild,
    );
  const matrix = instance.travel !== undefined;
  return html(
    "div",
    { class: "general" },
    field("name", "Name", 20),
    field("begin", "Begin", 7),
    field("budget", "Due", 7),
    ...(matrix ? [] : [field("speed", "Speed", 9)]),
  );
}

function axesOf(instance) {
  if ("lat" in instance.depot) return ["lat", "lon"];
  return "x" in instance.depot ? ["x", "y"] : [];
}

function stopsTable(instance, attempt) {
  const axes = axesOf(instance);
  const heads = ["name", ...axes, "required", "opens", "last start", "closes", "least stay", "reward", "profit per time", "only for", ""];
  const body = html("tbody", {});
  const add = (from, to) => {
    instance.stops.slice(from, to).forEach((stop, k) => body.append(...stopRows(instance, from + k, axes, attempt)));
  };
  add(0, FIRST);
  const parts = [html("div", { class: "sheet", tabindex: 0 }, sheet(heads, body))];
  const rest = instance.stops.length - FIRST;
  if (rest > 0) {
    const more = html("button", { type: "button", class: "more" }, `Show ${rest} more`);
    more.addEventListener("click", () => {
      add(FIRST);
      more.remove();
    });
    parts.push(more);
  }
  if (instance.travel === undefined) {
    const create = (copy) => {
      const names = new Set(copy.stops.map((stop) => stop.id));
      let number = copy.stops.length + 1;
      while (names.has(`stop ${number}`)) number += 1;
      const place = Object.fromEntries(axes.map((axis) => [axis, copy.depot[axis]]));
      copy.stops.push({ id: `stop ${number}`, ...place, profit: [[1, 30]] });
    };
    parts.push(html("button", { type: "button", class: "more", onclick: () => attempt(null, create) }, "Add a stop"));
  }
  return html("div", {}, ...parts);
}

function sheet(heads, body) {
  const head = html("tr", {}, ...heads.map((word) => html("th", { scope: "col" }, word)));
  return html("table", {}, html("thead", {}, head), body);
}

function stopRows(instance, k, axes, attempt) {
  const stop = instance.stops[k];
  const name = stop.id ?? String(k + 1);
  const at = (copy) => copy.stops[k];
  const ways = stop.alternatives;
  const rename = (copy, value) => {
    put(at(copy), "id", value === undefined ? undefined : String(value));
    return { stop: [stop.id ?? k + 1, value] };
  };
  const must = html("input", { type: "checkbox", "aria-label": `${name}: required` });
  must.checked = Boolean(stop.required);
  must.addEventListener("change", () => attempt(must, (copy) => put(at(copy), "required", must.checked || undefined)));
  const remove = () =>
    attempt(null, (copy) => {
      copy.stops.splice(k, 1);
      const cut = (matrix) => matrix.filter((_, row) => row !== k + 1).map((row) => row.filter((_, column) => column !== k + 1));
      if (Array.isArray(copy.travel)) copy.travel = cut(copy.travel);
      else if (copy.travel) for (const profile of Object.keys(copy.travel)) copy.travel[profile] = cut(copy.travel[profile]);
      return { removed: stop.id ?? k + 1 };
    });
  const first = html(
    "tr",
    { "data-row": k },
    cell(`${name}: name`, "text", stop.id, attempt, rename, 16, `stop ${k + 1}`),
    ...axes.map((axis) => cell(`${name}: ${axis}`, "value", stop[axis], attempt, (copy, value) => put(at(copy), axis, value), 8)),
    html("td", {}, must),
    ...wayCells(name, stop, attempt, at),
    html("td", {}, html("button", { type: "button", class: "small", "aria-label": `Delete ${name}`, title: "Delete", onclick: remove }, "✕")),
  );
  const others = (ways ?? []).map((way, w) => {
    const where = KINDS.place.show(way.place) || axes.map((axis) => short(way[axis])).filter((one) => one !== undefined).join(" ");
    return html(
      "tr",
      { class: "alternative" },
      html("td", { colspan: 2 + axes.length }, `or ${where ? `at ${where}` : `way ${w + 1}`}`),
      ...wayCells(`${name}, way ${w + 1}`, way, attempt, (copy) => at(copy).alternatives[w]),
      html("td", {}),
    );
  });
  return [first, ...others];
}

function wayCells(name, way, attempt, at) {
  const one = (field, label, kind, width) =>
    cell(`${name}: ${label}`, kind, way[field], attempt, (copy, value) => put(at(copy), field, value), width);
  const profit = way.profit ?? (way.rate !== undefined ? [[way.rate, (way.max_stay ?? 0) - (way.min_stay ?? 0)]] : undefined);
  const store = (copy, value) => {
    put(at(copy), "profit", value);
    delete at(copy).rate;
    delete at(copy).max_stay;
  };
  return [
    ...Object.entries(TIMES).map(([field, label]) => one(field, label, "value", 6)),
    one("min_stay", "least stay", "value", 5),
    one("reward", "reward", "value", 5),
    cell(`${name}: profit per time`, "profit", profit, attempt, store, 18),
    one("vehicles", "only for", "list", 9),
  ];
}

function vehiclesTable(instance, attempt) {
  const count = typeof instance.vehicles === "number" || instance.vehicles === undefined;
  const vehicles = count ? Array.from({ length: instance.vehicles ?? 1 }, () => ({})) : instance.vehicles;
  const listed = (copy) => {
    if (!Array.isArray(copy.vehicles)) copy.vehicles = Array.from({ length: copy.vehicles ?? 1 }, () => ({}));
    return copy.vehicles;
  };
  const body = html("tbody", {});
  vehicles.slice(0, FIRST).forEach((vehicle, k) => {
    const name = vehicle.id ?? String(k + 1);
    const one = (field, label, kind, width) =>
      cell(`${name}: ${label}`, kind, vehicle[field], attempt, (copy, value) => put(listed(copy)[k], field, value), width);
    const rename = (copy, value) => {
      put(listed(copy)[k], "id", value);
      for (const stop of copy.stops) {
        for (const way of [stop, ...(stop.alternatives ?? [])]) {
          if (way.vehicles) way.vehicles = way.vehicles.map((other) => (other === name ? value : other));
        }
      }
    };
    const remove = () => attempt(null, (copy) => (listed(copy).splice(k, 1), { vehicle: k }));
    body.append(
      html(
        "tr",
        {},
        cell(`${name}: name`, "text", vehicle.id, attempt, rename, 14, `vehicle ${k + 1}`),
        one("start", "start", "place", 16),
        one("end", "end", "place", 16),
        one("begin", "begin", "value", 7),
        one("due", "due", "value", 7),
        ...(instance.travel === undefined ? [one("speed", "speed", "value", 9)] : []),
        html(
          "td",
          {},
          vehicles.length > 1 &&
            html("button", { type: "button", class: "small", "aria-label": `Delete ${name}`, title: "Delete", onclick: remove }, "✕"),
        ),
      ),
    );
  });
  const heads = ["name", "start", "end", "begin", "due", ...(instance.travel === undefined ? ["speed"] : []), ""];
  const create = (copy) => void listed(copy).push({ ...(listed(copy).at(-1) ?? {}), id: `vehicle ${listed(copy).length + 1}` });
  return html(
    "div",
    {},
    html("div", { class: "sheet", tabindex: 0 }, sheet(heads, body)),
    html("button", { type: "button", class: "more", onclick: () => attempt(null, create) }, "Add a vehicle"),
  );
}
