// Which queries are listed, in which order, and how many each choice would leave.

// Of several systems none comes before another, but one stands on the left.
function ordersOf(data) {
  const orders = metricOrders(data);
  if (data.queries.some(({ sessions }) => sessions)) orders.splice(-1, 0, ["calls", "Most searches first"]);
  return orders;
}

function metricOrders(data) {
  const [left, right] = data.systems.length > 1 ? ["Left", "Right"] : ["Before", "After"];
  if (data.views.length < 2) return [["right-low", "Lowest first"], ["right-high", "Highest first"], ["dataset", "As in the dataset"]];
  return [
    ["change", `Largest ${data.systems.length > 1 ? "difference" : "change"} first`],
    ["drop", "Largest drop first"],
    ["gain", "Largest gain first"],
    ["right-low", `${right}: lowest first`],
    ["right-high", `${right}: highest first`],
    ["left-low", `${left}: lowest first`],
    ["left-high", `${left}: highest first`],
    ["dataset", "As in the dataset"],
  ];
}

function folded(text) {
  return (/[^\u0000-\u007f]/.test(text) ? text.normalize("NFKC") : text).toLowerCase();
}

// All that searching looks at beside hits, once for each query: also what agents searched for.
function searchable(query) {
  const searches = (query.sessions ?? []).flat().flatMap(({ calls }) => calls.map((call) => call.query));
  return folded([query.id, query.text, ...query.tags, ...new Set(searches)].map((text) => text.slice(0, MOST_AT_ONCE)).join("\n"));
}

// The queries of which the question, the id, the tags and one hit together have every term. Each chunk is read once a
// search, however many queries it was returned for.
function searched(data, search) {
  const terms = [...new Set(folded(search).split(/\s+/).filter(Boolean))].slice(0, 30);
  if (!terms.length) return data.queries;
  data.chunkTexts ??= data.chunks.map(([document, , , text]) => folded(`${document}\n${text}`));
  const held = Uint32Array.from(data.chunkTexts, (text) => maskOf(terms, text));
  const every = 2 ** terms.length - 1;
  return data.queries.filter((query) => {
    const own = maskOf(terms, query.searched);
    return own === every || query.views.some(({ hits }) => hits.some(([, chunk]) => (own | held[chunk]) === every));
  });
}

// Which of the terms a text has, as bits.
function maskOf(terms, text) {
  let mask = 0;
  terms.forEach((term, n) => {
    if (text.includes(term)) mask |= 1 << n;
  });
  return mask;
}

function chosenQueries(data, state) {
  const found = searched(data, state.search);
  const tagged = (query) => state.tag === "" || query.tags.includes(data.tags[state.tag]);
  const ended = (query) => state.outcome === "" || query.outcomes.has(state.outcome);
  const made = (query) => state.calls === "" || callsGroup(data, query, state.right) === state.calls;
  return {
    queries: ordered(data, found.filter((query) => tagged(query) && ended(query) && made(query)), state),
    outcomes: counted(found.filter((query) => tagged(query) && made(query)), (query) => query.outcomes),
    tags: counted(found.filter((query) => ended(query) && made(query)), (query) => new Set(query.tags)),
    calls: counted(found.filter((query) => tagged(query) && ended(query)), (query) => [callsGroup(data, query, state.right)]),
  };
}

// Queries are chosen by their number of calls; those with very many are one group.
const MANY_CALLS = 10;
function callsGroup(data, query, view) {
  const calls = callsOf(data, query, view);
  return calls === null ? "" : Math.min(calls, MANY_CALLS);
}

function callsName(calls) {
  return calls === MANY_CALLS ? `${MANY_CALLS} or more` : String(calls);
}

function counted(queries, namesOf) {
  const counts = new Map([["", queries.length]]);
  for (const query of queries) for (const name of namesOf(query)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function ordered(data, queries, { sort, metric, left, right }) {
  if (sort === "dataset") return queries;
  const key = {
    change: (query) => negative(absolute(liftOf(query, metric, left, right))),
    drop: (query) => liftOf(query, metric, left, right),
    gain: (query) => negative(liftOf(query, metric, left, right)),
    "left-low": (query) => valueOf(query, metric, left),
    "left-high": (query) => negative(valueOf(query, metric, left)),
    "right-low": (query) => valueOf(query, metric, right),
    "right-high": (query) => negative(valueOf(query, metric, right)),
    calls: (query) => negative(callsOf(data, query, right)),
  }[sort];
  const keyed = queries.map((query) => [key(query) ?? Infinity, query]);
  keyed.sort(([one, a], [other, b]) => (one === other ? a.number - b.number : one - other));
  return keyed.map(([, query]) => query);
}

function negative(value) {
  return value === null ? null : -value;
}

function absolute(value) {
  return value === null ? null : Math.abs(value);
}
