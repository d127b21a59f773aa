// What is being planned, with its history, and kept in the browser.

const MOST = 200; // steps back

/** The draft: an instance, orders of stops, locks, and the plan if it is one of a method; and beside its history what was kept. */
export function makeDraft() {
  let state = null;
  let kept = [];
  const past = [];
  const future = [];
  return {
    get state() {
      return state;
    },
    /** Plans to compare with. */
    get kept() {
      return kept;
    },
    keep(plans) {
      kept = plans;
      save(state, kept);
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
      save(state, kept);
    },
    /** Add to what is known of the state. */
    amend(more) {
      state = { ...state, ...more };
      save(state, kept);
    },
    undo() {
      if (!past.length) return;
      future.push(state);
      state = past.pop();
      save(state, kept);
    },
    redo() {
      if (!future.length) return;
      past.push(state);
      state = future.pop();
      save(state, kept);
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

// Each tab has a draft of its own in the browser's base; a new tab begins with the latest.

const KEPT = 12; // drafts
let opened = null;
let tab = null;
let pending = 0;
let unsaved = null; // what is to be kept a moment later

function base() {
  opened ??= settled(indexedDB.open("decost", 2), (asked) => {
    asked.onupgradeneeded = () => {
      for (const name of asked.result.objectStoreNames) asked.result.deleteObjectStore(name);
      asked.result.createObjectStore("drafts", { keyPath: "tab" });
    };
  });
  return opened;
}

function settled(asked, prepare = null) {
  prepare?.(asked);
  return new Promise((resolve, reject) => {
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
}

async function drafts(mode) {
  return (await base()).transaction("drafts", mode).objectStore("drafts");
}

function save(state, kept) {
  clearTimeout(pending);
  unsaved = { state, kept };
  pending = setTimeout(put, 150);
}

async function put() {
  clearTimeout(pending);
  if (!unsaved) return;
  const draft = { tab, ...unsaved, when: Date.now() };
  unsaved = null;
  try {
    const store = await drafts("readwrite");
    store.put(draft);
    store.transaction.commit(); // a page that is left has no time to hear that it was put
  } catch {
    // Without it, only a reload loses the draft.
  }
}

document.addEventListener("visibilitychange", () => document.hidden && put()); // also before the page is left

/** Whether no other tab goes by this name, as one does that was made from another. */
function isOwn(name) {
  if (!navigator.locks) return true;
  return new Promise((resolve) => {
    navigator.locks.request(`draft ${name}`, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock && new Promise(() => {}); // until the tab is closed
    });
  });
}

/** The draft that was kept of this tab, else the latest, as {state, kept}; null if there is none. */
export async function keptDraft() {
  const before = sessionStorage.getItem("tab");
  tab = before && (await isOwn(before)) ? before : String(Math.random()).slice(2);
  if (tab !== before) await isOwn(tab);
  sessionStorage.setItem("tab", tab);
  try {
    const all = await settled((await drafts("readonly")).getAll());
    all.sort((one, other) => other.when - one.when);
    const old = await drafts("readwrite");
    for (const one of all.slice(KEPT)) old.delete(one.tab);
    return (all.find((one) => one.tab === before) ?? all[0]) ?? null;
  } catch {
    return null;
  }
}
