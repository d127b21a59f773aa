// What is pointed at and what is chosen, in one place, so that all views show the same.

/** Make a hub. Views call `point`, `choose` and `watch`; a focus is {stop} or {vehicle}, or null. */
export function makeHub() {
  const watchers = [];
  const state = { pointed: null, chosen: null };
  let closing = new AbortController();
  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
  const tell = (at) => watchers.forEach((watcher) => watcher(state.pointed ?? state.chosen, at));
  return {
    point(focus, at = null) {
      if (same(focus, state.pointed)) return;
      state.pointed = focus;
      tell(at);
    },
    choose(focus, at = null) {
      state.chosen = same(focus, state.chosen) ? null : focus;
      state.pointed = null;
      tell(at);
    },
    clear() {
      state.pointed = state.chosen = null;
      tell(null);
    },
    watch(watcher) {
      watchers.push(watcher);
    },
    /** What is chosen, to choose it again in another hub. */
    get chosen() {
      return state.chosen;
    },
    /** Listeners beyond the views listen with this, and no longer than the views are there. */
    get listening() {
      return { signal: closing.signal };
    },
    /** Forget all views, for others to take their place. */
    renew() {
      watchers.length = 0;
      state.pointed = null;
      closing.abort();
      closing = new AbortController();
    },
  };
}

/** Let an element stand for a focus: hover, keyboard focus and click lead to the hub. */
export function standFor(element, hub, focus) {
  element.addEventListener("pointerenter", (event) => {
    if (event.pointerType === "mouse") hub.point(focus, element);
  });
  element.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse") hub.point(null);
  });
  element.addEventListener("click", (event) => {
    event.stopPropagation();
    hub.choose(focus, element);
  });
  return element;
}

/** Where each stop is visited: a map from the stop's number to its vehicle, order and visit. */
export function visitsOf(scene) {
  const found = new Map();
  scene.routes.forEach((route, vehicle) => {
    route.visits.forEach((visit, order) => {
      found.set(visit.stop, { vehicle, order: order + 1, visit });
    });
  });
  return found;
}
