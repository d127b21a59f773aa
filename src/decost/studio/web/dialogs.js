// Questions to the user.

import { html } from "./dom.js";

/** Ask with a form of `fields` ({name, label, ...attributes}); gives their values, or null. */
export function ask(title, words, fields, action = "OK") {
  return new Promise((resolve) => {
    const inputs = fields.map(({ name, label, options, ...attributes }) => {
      const input = options
        ? html("select", { name, ...attributes }, ...options.map(([value, text]) => html("option", { value }, text)))
        : html("input", { name, ...attributes });
      return [input, html("label", {}, html("span", {}, label), input)];
    });
    const close = (value) => {
      dialog.close();
      dialog.remove();
      resolve(value);
    };
    const form = html(
      "form",
      { method: "dialog" },
      html("h2", {}, title),
      ...(words ? [html("p", { class: "quiet" }, words)] : []),
      ...inputs.map(([, label]) => label),
      html(
        "div",
        { class: "row" },
        html("button", { type: "button", onclick: () => close(null) }, "Cancel"),
        html("button", { type: "submit", class: "primary" }, action),
      ),
    );
    const dialog = html("dialog", { "aria-label": title }, form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const value = (input) => (input.type === "checkbox" ? input.checked : input.value);
      close(Object.fromEntries(inputs.map(([input]) => [input.name, value(input)])));
    });
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      close(null);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

let asking = null;

/** Ask for a token, once for all who need it; `show` tells whether it is known. */
export function askToken(show) {
  asking ??= (async () => {
    for (let words = "This studio is for those who have a token."; ; words = "That token is not known.") {
      const told = await ask("Token", words, [{ name: "token", label: "Token", type: "password", required: true }]);
      if (told === null) return false;
      if (await show(told.token)) return true;
    }
  })().finally(() => (asking = null));
  return asking;
}
