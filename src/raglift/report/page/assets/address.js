// What is chosen among the queries, as a part of the address: a reload, the back button and a link restore it.

const LONGEST_NAME = 200;
const whatIf = { asked: addressed(location.hash).asked.get("if") ?? "", words: "", fixed: new Set(), broken: new Set(), ranks: null }; // the setting, and what it changes

// The address of the queries as they are chosen; with a query, that query open.
function addressOf(data, state, query, { filtered = true } = {}) {
  const asked = [];
  const say = (name, value) => asked.push(`${name}=${encodeURIComponent(value)}`);
  if (filtered) {
    if (state.outcome) say("outcome", state.outcome);
    if (state.tag !== "") say("tag", data.tags[state.tag].toWellFormed());
    if (state.calls !== "") say("calls", state.calls);
    if (state.search.trim()) say("q", state.search.trim().toWellFormed());
    if (state.sort !== state.usualSort) say("sort", state.sort);
    if (state.metric !== data.primary) say("metric", data.metrics[state.metric]);
  }
  if (state.left !== data.left || state.right !== data.right) {
    say("left", state.left);
    say("right", state.right);
  }
  if (whatIf.asked) say("if", whatIf.asked);
  if (query && state.run > 0) say("run", state.run + 1);
  if (query) {
    const named = query.id.length <= LONGEST_NAME && query.id === query.id.toWellFormed();
    if (named) say("query", query.id);
    else say("n", query.number + 1);
  }
  return `#queries${asked.length ? "?" : ""}${asked.join("&")}`;
}

// What an address asks for, as far as it is there.
function askedOf(data, asked, usualSort) {
  const view = (side) => {
    const number = asked.has(side) ? Number(asked.get(side)) : NaN;
    return Number.isInteger(number) && number >= 0 && number < data.views.length ? number : data[side];
  };
  const metric = data.metrics.indexOf(asked.get("metric"));
  const tag = data.tags.indexOf(asked.get("tag"));
  const [left, right] = [view("left"), view("right")];
  const outcome = OUTCOME_OF_FATE[asked.get("outcome")] ?? asked.get("outcome") ?? "";
  const sort = asked.get("sort");
  const [calls, run] = ["calls", "run"].map((name) => (/^\d{1,6}$/.test(asked.get(name)) ? Number(asked.get(name)) : null));
  return {
    outcome: outcomeNames(data, { left, right }).some(([name]) => name === outcome) ? outcome : "",
    tag: tag < 0 ? "" : tag,
    calls: calls === null || !hasSessions(data, right) ? "" : Math.min(calls, MANY_CALLS),
    run: Math.max(0, (run ?? 1) - 1),
    search: asked.get("q") ?? "",
    sort: ordersOf(data).some(([name]) => name === sort) ? sort : usualSort,
    metric: metric < 0 ? data.primary : metric,
    left,
    right,
  };
}

// The query that an address names: null for none, undefined for one that is not here.
function queryAsked(data, asked) {
  if (asked.has("n")) return data.queries[Number(asked.get("n")) - 1];
  return asked.has("query") ? data.byId.get(asked.get("query")) : null;
}

// Changes the address without loading anything; where that is not allowed, as in a frame, it stays as it is.
function setAddress(address, { back = false, view = "queries" } = {}) {
  if (address === location.hash) return;
  try {
    history[back ? "pushState" : "replaceState"](null, "", address);
  } catch {
    return;
  }
  document.querySelector(`a[data-view="${view}"]`).setAttribute("href", address);
}
