// The bar at the top: opening, solving, undoing, saving.

import { html } from "./dom.js";

const FORMATS = {
  csv: "Table (CSV)",
  xlsx: "Table (Excel)",
  json: "Plan (JSON)",
  instance: "Problem (JSON)",
  html: "Report (page)",
  ics: "Calendar",
  geojson: "Map (GeoJSON)",
  png: "Picture (PNG)",
  svg: "Picture (SVG)",
  pdf: "Picture (PDF)",
};

/** Make the bar; `act` has what its buttons do. */
export function makeToolbar(bar, act) {
  const button = (words, name, action, kind = "") =>
    html("button", { type: "button", class: kind, title: name, "aria-label": name, onclick: action }, words);
  const file = html("input", { type: "file", multiple: true, hidden: true, id: "file", "aria-label": "Files" });
  file.addEventListener("change", () => {
    act.open(file.files);
    file.value = "";
  });
  const examples = html("select", { "aria-label": "Examples", id: "examples" }, html("option", { value: "" }, "Examples"));
  examples.addEventListener("change", () => {
    act.example(examples.value);
    examples.value = "";
  });
  const method = html("select", { "aria-label": "Method", id: "method" }, html("option", { value: "auto" }, "auto"));
  const seconds = html("input", { type: "number", min: 0, max: 600, step: "any", value: 10, "aria-label": "Seconds", id: "seconds" });
  const wanted = () => ({ method: method.value, seconds: Number(seconds.value) });
  const solve = button("Solve", "Solve", () => act.solve(wanted()), "primary");
  const stop = button("Stop", "Stop, and keep the plan", act.stop, "stop");
  const undo = button("Undo", "Undo (Ctrl+Z)", act.undo);
  const redo = button("Redo", "Redo (Ctrl+Y)", act.redo);
  const replan = button("Replan…", "Replan from now", act.replan);
  const keep = button("Keep", "Keep this plan to compare with", act.keep);
  const save = html(
    "select",
    { "aria-label": "Export", id: "export" },
    html("option", { value: "" }, "Export"),
    ...Object.entries(FORMATS).map(([value, words]) => html("option", { value }, words)),
  );
  save.addEventListener("change", () => {
    act.save(save.value);
    save.value = "";
  });
  const open = button("Open…", "Open a table, JSON, or a plan; or drop it on the page", () => file.click());
  const time = html("label", { class: "inline" }, seconds, html("span", {}, " s"));
  const group = (...parts) => html("div", { class: "group" }, ...parts);
  const others = [group(undo, redo), group(replan, keep, save)];
  bar.append(file, group(open, examples), group(method, time, solve, stop), ...others);
  stop.hidden = true;
  return {
    element: bar,
    options() {
      const { method: name, seconds: limit } = wanted();
      return limit > 0 ? { method: name, time_limit: limit } : { method: name };
    },
    fill(names, methods) {
      examples.append(...names.map((name) => html("option", { value: name }, name)));
      method.replaceChildren(...Object.entries(methods).map(([name, words]) => html("option", { value: name, title: words }, name)));
    },
    update({ draft, job, view }) {
      const busy = job !== null;
      const [shown, away] = busy ? [stop, solve] : [solve, stop];
      const focused = document.activeElement === away;
      [shown.hidden, away.hidden] = [false, true];
      if (focused) shown.focus();
      for (const part of others) part.hidden = busy; // how it goes on is shown in their place
      undo.disabled = busy || !draft.canUndo;
      redo.disabled = busy || !draft.canRedo;
      const planned = view.result !== null && view.scene.routes.some((route) => route.visits.length);
      replan.disabled = busy || !planned;
      keep.disabled = busy || !planned;
      save.disabled = busy || view.result === null;
      for (const part of [open, examples, method, seconds]) part.disabled = busy;
    },
  };
}
