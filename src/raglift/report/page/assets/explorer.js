// The explorer: what is chosen, the list beside the open query, and the address that names it.

const NARROW = window.matchMedia("(max-width: 860px)");
const PHONE = window.matchMedia("(max-width: 40rem)");

function explorer(data) {
  data.tags = [...new Set(data.queries.flatMap((query) => query.tags))].sort();
  data.tops = data.metrics.map((_, metric) =>
    data.queries.reduce((top, query) => Math.max(top, ...query.views.map((view) => view.values[metric] ?? 0)), 1));
  const state = {
    search: "", tag: "", outcome: "", metric: data.primary, left: data.left, right: data.right, query: null,
    sort: data.left === data.right ? "right-low" : "change", everyMetric: false,
  };
  const detail = element("article", { class: "detail", "aria-labelledby": "query-heading" });
  const list = queryList((query) => query && visit(query));
  const count = element("p", { role: "status", class: "count" });
  const chips = element("div", { class: "chips", role: "group", "aria-label": "Outcome" });
  const controls = controlsOf(data, state, refresh, changeViews);
  let gone = null; // the address that going through the list led to

  function address(query) {
    const named = query.id.length <= 200 && query.id === query.id.toWellFormed();
    const views = state.left === data.left && state.right === data.right ? "" : `&left=${state.left}&right=${state.right}`;
    return `#${named ? `q=${encodeURIComponent(query.id)}` : `n=${query.number + 1}`}${views}`;
  }

  function judge() {
    for (const query of data.queries) query.outcomes = outcomesOf(data, query, state.left, state.right);
  }

  function refresh() {
    const chosen = chosenQueries(data, state);
    list.fill(chosen.queries, (query) => queryRow(query, data, state, address));
    const meaning = outcomeNames(data, state).find(([name]) => name === state.outcome)?.[2];
    count.textContent = `${whole(chosen.queries.length)} of ${plural(data.queries.length, "query", "queries")}${meaning ? `. ${meaning}.` : ""}`;
    chips.replaceChildren(...chipsOf(data, state, chosen.outcomes, (outcome) => {
      state.outcome = outcome;
      refresh();
      chips.querySelector("[aria-pressed='true']").focus();
    }));
    controls.tags(chosen.tags);
    list.mark(state.query);
    return chosen.queries;
  }

  function show(query) {
    state.query = query;
    detail.replaceChildren(...queryDetail(data, query, state));
    return list.mark(query);
  }

  // Without a new entry in the browser's history: going through the list is not a way to go back
  function visit(query) {
    gone = address(query);
    location.replace(gone);
    show(query)?.focus({ preventScroll: true });
  }

  function changeViews() {
    judge();
    refresh();
    if (location.hash.startsWith("#q=") || location.hash.startsWith("#n=")) location.replace(address(state.query));
    show(state.query);
  }

  // Opens what the address names; says whether it names anything
  function route() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const query = asked.has("n") ? data.queries[Number(asked.get("n")) - 1] : data.byId.get(asked.get("q"));
    if (!query) return false;
    const [left, right] = ["left", "right"].map((side) => viewOf(asked.get(side), data, side));
    if (left !== state.left || right !== state.right) {
      [state.left, state.right] = [left, right];
      controls.views();
      judge();
      refresh();
    }
    if (query !== state.query) show(query);
    return true;
  }

  // A link to a query that is not here says so; says whether it is one
  function tellUnknown() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const name = asked.get("q") ?? asked.get("n");
    const unknown = name !== null && !(asked.has("n") ? data.queries[Number(name) - 1] : data.byId.get(name));
    trouble(unknown ? `The link names a query that is not in this report: ${short(name, 200)}` : "");
    return unknown;
  }

  const root = document.getElementById("explorer");
  root.append(
    controls.element,
    chips,
    count,
    element("div", { class: "panes" },
      element("nav", { class: "list-pane", "aria-label": "Queries" }, list.scroller, hint()),
      detail),
    data.notes.length ? element("ul", { class: "muted left-out" }, data.notes.map((note) => element("li", { dir: "auto" }, short(note, 600)))) : "",
  );
  root.hidden = false;
  linkNames(data, address);
  judge();
  const first = refresh()[0];
  const named = route();
  if (!named && first) show(first);
  if (named && NARROW.matches) detail.scrollIntoView(); // beside the list only where there is room
  else if (named || tellUnknown()) root.parentElement.scrollIntoView();

  addEventListener("hashchange", () => {
    if (location.hash !== gone && route()) reveal(detail);
    tellUnknown();
    gone = null;
  });
  root.addEventListener("keydown", (event) => {
    if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    const inList = Boolean(event.target.closest(".list"));
    const step = { j: 1, k: -1, ArrowDown: inList ? 1 : 0, ArrowUp: inList ? -1 : 0 }[event.key] ?? 0;
    const next = step ? list.beside(state.query, step) : null;
    if (!next) return;
    event.preventDefault();
    visit(next);
  });
}

// The queries that tables name lead to them
function linkNames(data, address) {
  for (const table of document.querySelectorAll("main table")) {
    if (table.querySelector("thead th")?.textContent.trim() !== "query") continue;
    for (const name of table.querySelectorAll("tbody th[scope='row'] > span")) {
      const query = data.byId.get(name.textContent);
      if (query) name.replaceChildren(element("a", { href: address(query) }, name.textContent));
    }
  }
}

function viewOf(asked, data, side) {
  const view = asked === null ? NaN : Number(asked);
  return Number.isInteger(view) && view >= 0 && view < data.views.length ? view : data[side];
}

function hint() {
  return element("p", { class: "hint" }, element("kbd", null, "j"), " ", element("kbd", null, "k"), " or arrow keys: next and previous query");
}

// The open query comes into sight where it is not; on a narrow page also for those who read by ear
function reveal(detail) {
  if (NARROW.matches) detail.querySelector("h3").focus({ preventScroll: true });
  const { top } = detail.getBoundingClientRect();
  if (NARROW.matches || top < 0 || top > innerHeight * 0.7) detail.scrollIntoView();
}

function controlsOf(data, state, refresh, changeViews) {
  const set = (name, read) => (value) => {
    state[name] = read(value);
    refresh();
  };
  const search = element("input", { type: "search", id: "search", autocomplete: "off", spellcheck: "false",
    oninput: (event) => set("search", String)(event.target.value) });
  const views = data.views.map((view, number) => [number, short(view.title, 60)]);
  const sides = ["left", "right"].map((side) => choice(data.systems.length > 1 ? (side === "left" ? "Left" : "Right") : side === "left" ? "Before (left)" : "After (right)", side, views, (value) => {
    state[side] = Number(value);
    changeViews();
  }));
  const tags = choice("Tag", "tag", [], set("tag", (value) => (value === "" ? "" : Number(value))));
  const row = element("div", { class: `controls${data.views.length > 2 ? " many" : ""}`, role: "search", "aria-label": "Choose queries" },
    element("div", { class: "choice wide" }, element("label", { for: "search" }, "Search"), search),
    data.tags.length ? tags : null,
    data.metrics.length > 1 ? choice("Metric", "metric", data.metrics.map((metric, number) => [number, metric]), set("metric", Number)) : null,
    choice("Order", "sort", ordersOf(data), set("sort", String)),
    data.views.length > 2 ? sides : null,
  );
  const place = (id, value) => {
    const select = row.querySelector(`#${id}`);
    if (select) select.value = String(value);
  };
  place("metric", state.metric);
  place("sort", state.sort);
  const placeViews = () => ["left", "right"].forEach((side) => place(side, state[side]));
  placeViews();
  return {
    element: row,
    views: placeViews,
    tags: (counts) => setOptions(tags.querySelector("select"), [
      ["", `All (${whole(counts.get("") ?? 0)})`],
      ...data.tags.map((tag, number) => [number, `${short(tag, 60)} (${whole(counts.get(tag) ?? 0)})`]),
    ]),
  };
}

function chipsOf(data, state, counts, choose) {
  const happens = (name) => name === "fixed" || name === "broken" || name === state.outcome || data.queries.some((query) => query.outcomes.has(name));
  const shown = outcomeNames(data, state).filter(([name]) => happens(name));
  return [["", "All", "Every query"], ...shown].map(([name, title, said]) =>
    element("button", { type: "button", class: `chip ${name}`, "aria-pressed": String(state.outcome === name), title: said, onclick: () => choose(name) },
      title, " ", element("span", { class: "number" }, whole(counts.get(name) ?? 0))));
}

async function startExplorer() {
  if (!document.getElementById("queries")) return;
  const data = await readQueries();
  data.byId = new Map();
  data.queries.forEach((query, number) => {
    Object.assign(query, { number, searched: searchable(query) });
    data.byId.set(query.id, query);
  });
  explorer(data);
}

// What cannot be shown, and why; an empty text takes it back
function trouble(text) {
  const place = document.getElementById("explorer-trouble");
  place.textContent = text;
  place.hidden = !text;
}

startExplorer().catch((error) => {
  trouble(`The queries cannot be shown: ${error.message}. A browser of 2023 or later can.`);
  throw error;
});
