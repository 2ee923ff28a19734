// The query browser: what is chosen, the list beside the open query, and the address that says both.

const NARROW = window.matchMedia("(max-width: 860px)");
const PHONE = window.matchMedia("(max-width: 40rem)");

function explorer(data) {
  data.tags = [...new Set(data.queries.flatMap((query) => query.tags))].sort();
  data.tops = data.metrics.map((_, metric) =>
    data.queries.reduce((top, query) => Math.max(top, ...query.views.map((view) => view.values[metric] ?? 0)), 1));
  const usualSort = data.left === data.right ? "right-low" : "change";
  const state = {
    search: "", tag: "", outcome: "", metric: data.primary, left: data.left, right: data.right,
    sort: usualSort, usualSort, query: null, everyMetric: false, calls: "", run: 0,
    named: false, // whether the address names the open query
  };
  const detail = element("article", { class: "detail", "aria-labelledby": "query-heading" });
  const list = queryList((query) => query && visit(query));
  const count = element("p", { role: "status", class: "count" });
  const chips = element("div", { class: "chips", role: "group", "aria-label": "Outcome" });
  const controls = controlsOf(data, state, choose, changeViews);
  const address = (query) => addressOf(data, state, query);
  let listed = [];

  function judge() {
    for (const query of data.queries) query.outcomes = outcomesOf(data, query, state.left, state.right);
  }

  // The list as it is chosen; the open query stays if it is in it, else the first is opened.
  function refresh() {
    const chosen = chosenQueries(data, state);
    listed = chosen.queries;
    list.fill(listed, (query) => queryRow(query, data, state, address));
    if (!listed.length) list.none(button("Clear filters", clear));
    const meaning = outcomeNames(data, state).find(([name]) => name === state.outcome)?.[2];
    count.textContent = `${whole(listed.length)} of ${plural(data.queries.length, "question", "questions")}${meaning ? `. ${meaning}.` : ""}${["newly_found", "newly_lost"].includes(state.outcome) ? ` ${whatIf.words} Values and hits are as measured.` : ""}`;
    chips.replaceChildren(...chipsOf(data, state, chosen.outcomes, (outcome) => {
      state.outcome = outcome;
      choose({ back: true });
      chips.querySelector("[aria-pressed='true']").focus();
    }));
    controls.counts(chosen);
    if (!listed.includes(state.query)) {
      state.named = false;
      show(listed[0] ?? null);
    } else list.mark(state.query);
  }

  function show(query) {
    state.query = query;
    const nothing = () => [element("h3", { id: "query-heading", class: "muted" }, "No matching questions")];
    detail.replaceChildren(...(query ? queryDetail(data, query, state, chooseRun) : nothing()));
    return list.mark(query);
  }

  // Another run of the open query
  function chooseRun(run) {
    Object.assign(state, { run, named: true });
    show(state.query);
    setAddress(address(state.query), { back: true });
    detail.querySelector(".runs [aria-pressed='true']")?.focus();
  }

  // After a choice: choices that were pressed can be gone back to, letters typed one by one cannot.
  function choose({ back = false } = {}) {
    refresh();
    setAddress(address(state.named ? state.query : null), { back });
  }

  function clear() {
    Object.assign(state, { search: "", tag: "", outcome: "", calls: "" });
    controls.place();
    choose({ back: true });
  }

  // Without a new entry in the browser's history: going through the list is not a way to go back.
  function visit(query) {
    state.named = true;
    setAddress(address(query));
    show(query)?.focus({ preventScroll: true });
  }

  function changeViews() {
    judge();
    refresh();
    show(state.query);
    setAddress(address(state.named ? state.query : null), { back: true });
  }

  // Does what the address asks for.
  function route(asked, changed) {
    whatIf.asked = asked.get("if") ?? whatIf.asked; // before its outcomes are looked up, and the address is written again
    const wanted = askedOf(data, asked, usualSort);
    const query = queryAsked(data, asked);
    trouble(query === undefined ? `The link names a question that is not in this report: ${short(asked.get("query") ?? asked.get("n"), 200)}` : "");
    const others = wanted.left !== state.left || wanted.right !== state.right || wanted.run !== state.run;
    Object.assign(state, wanted);
    if (others || !data.queries[0]?.outcomes) judge();
    controls.place();
    state.named = Boolean(query);
    const before = state.query;
    if (query) state.query = query;
    refresh();
    if (others || (query && state.query === query && before !== query)) show(state.query);
    setAddress(address(state.named ? state.query : null));
    if (query && changed !== "first") reveal(detail);
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
  linkNames(data, (query) => addressOf(data, state, query, { filtered: false }));
  const first = addressed(location.hash);
  const isAsked = first.name === "queries";
  if (isAsked) route(first.asked, "first");
  else {
    judge();
    refresh();
  }
  if (isAsked && state.named && NARROW.matches) detail.scrollIntoView(); // beside the list only where there is room
  listeners.queries = route;

  document.addEventListener("what-if", () => {
    judge();
    if (!whatIf.asked && ["newly_found", "newly_lost"].includes(state.outcome)) state.outcome = "";
    refresh();
    show(state.query);
  });
  document.addEventListener("open-query", ({ detail: name }) => {
    const query = data.byId.get(name) ?? data.queries.find(({ id }) => short(id, name.length - 1) === name || visible(id) === name);
    if (query) location.hash = addressOf(data, state, query, { filtered: false });
  });
  document.addEventListener("keydown", (event) => {
    if (shownView() !== "queries" || event.target.matches?.("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      event.preventDefault();
      document.getElementById("search").focus();
      return;
    }
    const inList = Boolean(event.target.closest?.(".list"));
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
    if (table.querySelector("thead th")?.textContent.trim() !== "id") continue;
    for (const name of table.querySelectorAll("tbody th[scope='row'] > span")) {
      const query = data.byId.get(name.textContent);
      if (query) name.replaceChildren(element("a", { href: address(query) }, name.textContent));
    }
  }
}

function hint() {
  return element("p", { class: "hint" }, element("kbd", null, "j"), " ", element("kbd", null, "k"), " next and previous question, ", element("kbd", null, "/"), " search");
}

// The open query comes into sight where it is not; on a narrow page also for those who read by ear
function reveal(detail) {
  if (NARROW.matches) detail.querySelector("h3").focus({ preventScroll: true });
  const { top } = detail.getBoundingClientRect();
  if (NARROW.matches || top < 0 || top > innerHeight * 0.7) detail.scrollIntoView();
}

function controlsOf(data, state, choose, changeViews) {
  const set = (name, read, back = true) => (value) => {
    state[name] = read(value);
    choose({ back });
  };
  const search = element("input", { type: "search", id: "search", autocomplete: "off", spellcheck: "false",
    placeholder: "Questions, ids, tags and the texts of hits", oninput: (event) => set("search", String, false)(event.target.value) });
  const views = data.views.map((view, number) => [number, short(view.title, 60)]);
  const sides = ["left", "right"].map((side) => choice(data.systems.length > 1 ? (side === "left" ? "Left" : "Right") : side === "left" ? "Before (left)" : "After (right)", side, views, (value) => {
    state[side] = Number(value);
    changeViews();
  }));
  const tags = choice("Tag", "tag", [], set("tag", (value) => (value === "" ? "" : Number(value))));
  const calls = choice("Searches", "calls", [], set("calls", (value) => (value === "" ? "" : Number(value))));
  const row = element("div", { class: `controls${data.views.length > 2 ? " many" : ""}`, role: "search", "aria-label": "Choose questions" },
    element("div", { class: "choice wide" }, element("label", { for: "search" }, "Search"), search),
    data.tags.length ? tags : null,
    data.queries.some(({ sessions }) => sessions) ? calls : null,
    data.metrics.length > 1 ? choice("Metric", "metric", data.metrics.map((metric, number) => [number, metric]), set("metric", Number)) : null,
    choice("Order", "sort", ordersOf(data), set("sort", String)),
    data.views.length > 2 ? sides : null,
  );
  const place = (id, value) => {
    const control = row.querySelector(`#${id}`);
    if (control && control.value !== String(value)) control.value = String(value);
  };
  const placeAll = () => {
    for (const name of ["search", "metric", "sort", "left", "right", "tag", "calls"]) place(name, state[name]);
  };
  placeAll();
  return {
    element: row,
    place: placeAll,
    counts: (chosen) => {
      const all = (counts) => ["", `All (${whole(counts.get("") ?? 0)})`];
      setOptions(tags.querySelector("select"), [
        all(chosen.tags),
        ...data.tags.map((tag, number) => [number, `${short(tag, 60)} (${whole(chosen.tags.get(tag) ?? 0)})`]),
      ]);
      place("tag", state.tag);
      const made = [...new Set(data.queries.map((query) => callsGroup(data, query, state.right)))].filter((group) => group !== "");
      setOptions(calls.querySelector("select"), [
        all(chosen.calls),
        ...made.sort((one, other) => one - other).map((group) => [group, `${callsName(group)} (${whole(chosen.calls.get(group) ?? 0)})`]),
      ]);
      place("calls", state.calls);
    },
  };
}

function chipsOf(data, state, counts, choose) {
  const happens = (name) => name === "fixed" || name === "broken" || name === state.outcome || data.queries.some((query) => query.outcomes.has(name));
  const shown = outcomeNames(data, state).filter(([name]) => happens(name));
  return [["", "All", "Every question"], ...shown].map(([name, title, said]) =>
    element("button", { type: "button", class: `chip ${name}`, "aria-pressed": String(state.outcome === name), title: said, onclick: () => choose(name) },
      title, " ", element("span", { class: "number" }, whole(counts.get(name) ?? 0))));
}

async function startExplorer() {
  if (!document.getElementById("query-data")) return;
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
