// Making elements. Text is always set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== ""));
  return element;
}

/** Make an HTML element: `html("p", {class: "note"}, "words", another)`. */
export function html(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** Make an SVG element. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

const VOWEL = "[aeiouyàáâãäåæèéêëìíîïòóôõöøœùúûüýÿāăąēĕėęěĩīĭįıōŏőũūŭůűųаеёиоуыэюяєіїαεηιουωάέήίόύώ]";
const SYLLABLE = new RegExp(`(?<=\\p{L}{3})(?=(?!${VOWEL})\\p{L}${VOWEL}\\p{L})`, "giu");
const LONG_WORD = /[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}]{17,}/gu;

/** A name that somebody gave, which may be in a script that is written from right to left; a long word may be broken between syllables, with a hyphen. */
export function named(text) {
  return html("bdi", {}, String(text).replace(LONG_WORD, (word) => word.replace(SYLLABLE, "\u00ad")));
}

/** Call `draw(width)` whenever the width of an element changes, the first time soon; with `high`, also when its height does. */
export function onWidth(element, draw, high = false) {
  let last = "";
  new ResizeObserver(() => {
    const width = Math.round(element.clientWidth);
    const key = `${width} ${high ? element.clientHeight : ""}`;
    if (width === 0 || key === last) return;
    last = key;
    draw(width);
  }).observe(element);
}

/** How much larger than usual texts are to be drawn: as large as the root's font is. */
export function textScale() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
}

const ruler = document.createElement("canvas").getContext("2d");
const widths = new Map();

/** Width of a text in pixels. */
export function textWidth(text, size) {
  const key = `${size} ${text}`;
  if (widths.has(key)) return widths.get(key);
  const font = `${size}px system-ui, sans-serif`;
  if (ruler.font !== font) ruler.font = font;
  if (widths.size > 20000) widths.clear();
  widths.set(key, ruler.measureText(text).width);
  return widths.get(key);
}
