// Times, durations and numbers as people read them.

const DAY = 1440;

/** Write a time: of the day if the scene has a clock, else a number. */
export function timeText(scene, time) {
  if (!scene.clock) return numberText(time);
  const minutes = Math.floor(time + 0.5);
  const day = Math.floor(minutes / DAY);
  const rest = minutes - day * DAY;
  const two = (value) => String(value).padStart(2, "0");
  const later = day ? (day > 0 ? `+${day}` : `${day}`) : "";
  return `${two(Math.floor(rest / 60))}:${two(rest % 60)}${later}`;
}

/** Write a duration. */
export function durationText(scene, length) {
  if (!scene.clock) return numberText(length);
  const minutes = Math.round(length);
  if (minutes < 60) return `${minutes} min`;
  const rest = minutes % 60;
  return rest ? `${Math.floor(minutes / 60)} h ${rest} min` : `${minutes / 60} h`;
}

/** Write a number in a few characters. */
export function numberText(value) {
  const size = Math.abs(value);
  if (size >= 1e9 || (size > 0 && size < 1e-3)) return value.toPrecision(4);
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  const rounded = Number(value.toFixed(digits)) + 0;
  return rounded.toLocaleString("en", { maximumFractionDigits: digits });
}

/** Give what writes numbers that stand below each other: all with the same digits. */
export function columnText(values) {
  const most = Math.max(...values.map(Math.abs), 0);
  if (most >= 1e9 || most < 1e-2) return numberText;
  const whole = values.every((value) => Number.isInteger(Number(value.toFixed(6))));
  const digits = whole || most >= 1000 ? 0 : most >= 10 ? 1 : 3;
  const format = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return (value) => value.toLocaleString("en", format);
}

/** Write when an alternative is open, "" if it always is. */
export function windowText(scene, way) {
  const ends = [way.close, way.leave_by].filter((time) => time !== null);
  const late = ends.length ? Math.min(...ends) : null;
  if (late === null && way.open <= scene.begin) return "";
  if (late === null) return `from ${timeText(scene, way.open)}`;
  if (way.leave_by !== null && way.close !== null && way.close < way.leave_by) {
    const last = timeText(scene, way.close);
    return `${timeText(scene, way.open)}–${timeText(scene, way.leave_by)}, last start ${last}`;
  }
  if (way.open <= scene.begin) return `until ${timeText(scene, late)}`;
  return `${timeText(scene, way.open)}–${timeText(scene, late)}`;
}

/** Write a count with its noun. */
export function countText(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

/** Write some of many names. */
export function someOf(names, most = 8) {
  const more = names.length > most ? ` and ${names.length - most} more` : "";
  return `${names.slice(0, most).join(", ")}${more}`;
}
