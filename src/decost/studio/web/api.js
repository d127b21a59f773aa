// Talking to the service.

import { askToken } from "./dialogs.js";

const AGAIN = 3000; // milliseconds before somebody who does not answer is asked again
const LAST = ["done", "failed", "gone"]; // what ends a plan

const digests = new WeakMap(); // of instances that the service has seen

/** Something that the service has refused, in its words. */
export class Refusal extends Error {
  constructor(code, words) {
    super(words);
    this.code = code;
  }
}

async function send(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "The service does not answer. Is it still running?");
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  if (answer.status === 401 && (await askToken(sendToken))) return send(path, options);
  throw new Refusal(answer.status, told.error ?? `The service has answered ${answer.status}.`);
}

async function sendToken(token) {
  const body = JSON.stringify({ token });
  const answer = await fetch("session", { method: "POST", headers: { "content-type": "application/json" }, body });
  return answer.ok;
}

function posted(path, message, signal) {
  const body = JSON.stringify(message);
  return send(path, { method: "POST", headers: { "content-type": "application/json" }, body, signal });
}

/** Get JSON. */
export async function get(path) {
  return (await send(path)).json();
}

/** Send JSON; an instance in it goes by its digest if the service has seen it. */
export async function post(path, message = {}, signal = undefined) {
  return (await postRaw(path, message, signal)).json();
}

/** Like `post`, but give the answer as it is. */
export async function postRaw(path, message = {}, signal = undefined) {
  const { instance } = message;
  const digest = instance && digests.get(instance);
  if (!digest) return posted(path, message, signal);
  try {
    return await posted(path, { ...message, instance: { digest } }, signal);
  } catch (error) {
    if (error.code !== 409) throw error;
    digests.delete(instance);
    return posted(path, message, signal);
  }
}

/** Ask for what is drawn of orders or a plan; remember the digest of its instance. */
export async function getScene(message, signal = undefined) {
  const told = await post("scenes", message, signal);
  digests.set(message.instance, told.digest);
  return told;
}

/** End a plan early. */
export function stopPlan(id) {
  return send(`plans/${id}/stop`, { method: "POST" });
}

/**
 * Hear of a plan: `on(event, told)` until it ends; an end that `on` could not take in is told again. Gives a function that ends listening.
 * A tab that nobody sees does not listen: browsers have few connections for all tabs together.
 */
export function listen(id, on) {
  let source = null;
  let timer = 0;
  let ended = false;
  const rest = () => {
    clearTimeout(timer);
    source?.close();
  };
  const close = () => {
    ended = true;
    rest();
    document.removeEventListener("visibilitychange", turn);
  };
  const tell = async (name, told) => {
    const last = LAST.includes(name);
    if (last) rest();
    try {
      await on(name, told);
      if (last) close();
    } catch (error) {
      if (!(error instanceof Refusal)) console.error(error);
      if (!last || ended) return;
      on("away", {});
      timer = setTimeout(again, AGAIN);
    }
  };
  const connect = () => {
    source = new EventSource(`plans/${id}/events`);
    for (const name of ["queued", "running", ...LAST]) source.addEventListener(name, (event) => tell(name, JSON.parse(event.data)));
    source.addEventListener("error", () => {
      on("away", {});
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(again, AGAIN); // else the browser tries again
    });
  };
  const again = async () => {
    try {
      await get(`plans/${id}`);
      turn();
    } catch (error) {
      if (ended) return;
      if (error.code === 404) {
        close();
        on("gone", {});
      } else timer = setTimeout(again, AGAIN);
    }
  };
  const turn = () => {
    rest();
    if (!ended && !document.hidden) connect();
  };
  document.addEventListener("visibilitychange", turn);
  turn();
  return close;
}
