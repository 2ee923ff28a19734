// Which queries are listed, in which order, and how many each choice would leave.

// Of several systems none comes before another, but one stands on the left.
function ordersOf(data) {
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
  return text.normalize("NFKC").toLowerCase();
}

// All that searching looks at, once for each query.
function searchable(query) {
  return folded([query.id, query.text, ...query.tags].map((text) => text.slice(0, MOST_AT_ONCE)).join("\n"));
}

function chosenQueries(data, state) {
  const terms = folded(state.search).split(/\s+/).filter(Boolean);
  const found = data.queries.filter((query) => terms.every((term) => query.searched.includes(term)));
  const tagged = (query) => state.tag === "" || query.tags.includes(data.tags[state.tag]);
  const ended = (query) => state.outcome === "" || query.outcomes.has(state.outcome);
  return {
    queries: ordered(found.filter((query) => tagged(query) && ended(query)), state),
    outcomes: counted(found.filter(tagged), (query) => query.outcomes),
    tags: counted(found.filter(ended), (query) => new Set(query.tags)),
  };
}

function counted(queries, namesOf) {
  const counts = new Map([["", queries.length]]);
  for (const query of queries) for (const name of namesOf(query)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function ordered(queries, { sort, metric, left, right }) {
  if (sort === "dataset") return queries;
  const key = {
    change: (query) => negative(absolute(liftOf(query, metric, left, right))),
    drop: (query) => liftOf(query, metric, left, right),
    gain: (query) => negative(liftOf(query, metric, left, right)),
    "left-low": (query) => valueOf(query, metric, left),
    "left-high": (query) => negative(valueOf(query, metric, left)),
    "right-low": (query) => valueOf(query, metric, right),
    "right-high": (query) => negative(valueOf(query, metric, right)),
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
