// What is being planned, with its history, and kept in the browser.

const MOST = 200; // steps back

/** The draft: an instance, orders of stops, locks, and the plan if it is one of a method. */
export function makeDraft() {
  let state = null;
  const past = [];
  const future = [];
  return {
    get state() {
      return state;
    },
    get canUndo() {
      return past.length > 0;
    },
    get canRedo() {
      return future.length > 0;
    },
    /** Go on to another state, from which `undo` leads back. */
    change(next) {
      if (state) past.push(state);
      if (past.length > MOST) past.shift();
      future.length = 0;
      state = next;
      save(state);
    },
    /** Begin with something else; there is no way back. */
    begin(next) {
      past.length = future.length = 0;
      state = next;
      save(state);
    },
    /** Add to what is known of the state. */
    amend(more) {
      state = { ...state, ...more };
      save(state);
    },
    undo() {
      if (!past.length) return;
      future.push(state);
      state = past.pop();
      save(state);
    },
    redo() {
      if (!future.length) return;
      past.push(state);
      state = future.pop();
      save(state);
    },
  };
}

/** Orders of stops by the routes of a plan, in either form of the file. */
export function ordersOf(routes) {
  return routes.map((route) => (route.visits ?? route).map((visit) => visit.stop));
}

/** Orders with a stop taken out, and put at a place of a vehicle if there is a target. */
export function moved(orders, label, target) {
  const rest = orders.map((order) => order.filter((stop) => stop !== label));
  if (target) rest[target.vehicle].splice(target.order, 0, label);
  return rest;
}

function base() {
  return new Promise((resolve, reject) => {
    const asked = indexedDB.open("decost", 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore("drafts");
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
}

let pending = 0;

function save(state) {
  clearTimeout(pending);
  pending = setTimeout(async () => {
    try {
      (await base()).transaction("drafts", "readwrite").objectStore("drafts").put(state, "draft");
    } catch {
      // Without it, only a reload loses the draft.
    }
  }, 150);
}

/** The draft that was kept, null if there is none. */
export async function keptDraft() {
  try {
    const asked = (await base()).transaction("drafts").objectStore("drafts").get("draft");
    return await new Promise((resolve) => {
      asked.onsuccess = () => resolve(asked.result ?? null);
      asked.onerror = () => resolve(null);
    });
  } catch {
    return null;
  }
}
