// The queries as they are packed in the page, and what follows from them for two chosen views.

async function readQueries() {
  const packed = document.getElementById("query-data").textContent;
  const bytes = Uint8Array.from(atob(packed.trim()), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// What can become of a query between two views, what to call it, and what it means.
function outcomeNames(data, { left, right }) {
  const same = !betweenSystems(data, { left, right });
  const title = (view) => short(data.views[view].title, 28);
  const quoted = (view) => `“${title(view)}”`;
  const agent = hasSessions(data, right);
  const top = `the first ${plural(data.k, "hit")}${agent ? " of a search" : ""}`;
  const only = (one, other) => `A fact is in ${top} of ${quoted(one)}, and not in those of ${quoted(other)}`;
  const of = left === right ? "" : ` of ${quoted(right)}`;
  return [
    ...(whatIf.asked ? [
      ["newly_found", "Fixed by the what-if", "A fact is found that was not found as measured"],
      ["newly_lost", "Broken by the what-if", "A fact that was found as measured is not found"],
    ] : []),
    ["fixed", same ? "Fixed" : `Found only by ${title(right)}`, only(right, left)],
    ["broken", same ? "Broken" : `Found only by ${title(left)}`, only(left, right)],
    ["found", "Found", agent ? `Every fact reached the prompt of the answer${of}, or was found where that is not known` : `Every fact is in ${top}${of}`],
    ["left_out", "Left out of the prompt", "A fact was found by a search, and did not reach the prompt of the answer"],
    ["below_k", "Ranked too low", `A fact is among the hits${of}, but below rank ${data.k}`],
    ["dropped", "Dropped by the reranker", "A fact was among the hits of an earlier stage, and a later one dropped it"],
    ["asked", "Searched for, but not retrieved", "A search asked for a fact, and none retrieved it"],
    ["never_asked", "Never searched for", "No search asked for a fact"],
    ["not_retrieved", "Not retrieved", "A fact is not among the hits of any stage, although no chunking is known to have cut it"],
    ["not_attainable", "Lost in chunking", "A fact is cut by the chunking, so that no chunk can match it"],
    ["failed", "Failed", "The question failed"],
    ["unlabelled", "No labels", "It has no labels, so it is excluded from all averages"],
    ["unanswerable", "Unanswerable", "Nothing in the corpus answers it, so it is excluded from all averages"],
  ].filter(([name]) => left !== right || (name !== "fixed" && name !== "broken"));
}
// The outcome of a query for that of a fact, where they are called otherwise.
const OUTCOME_OF_FATE = { missed: "not_retrieved" };
const FATES = {
  found: "found",
  below_k: "ranked too low",
  dropped: "dropped by the reranker",
  not_retrieved: "not retrieved",
  missed: "not retrieved, or lost in chunking",
  not_attainable: "lost in chunking: no chunk can match it",
  failed: "the question failed",
  left_out: "found, left out of the prompt",
  asked: "searched for, but not retrieved",
  never_asked: "never searched for",
};

function betweenSystems(data, { left, right }) {
  return data.views[left].system !== data.views[right].system;
}

function within(rank, k) {
  return rank !== null && rank <= k;
}

// The outcomes of one query between two views, as a set of their names.
function outcomesOf(data, query, left, right) {
  const [before, after] = [query.views[left], query.views[right]];
  const outcomes = new Set(after.error ? ["failed"] : []);
  if (whatIf.fixed.has(query.number)) outcomes.add("newly_found");
  if (whatIf.broken.has(query.number)) outcomes.add("newly_lost");
  if (!query.answerable) return outcomes.add("unanswerable");
  if (!query.facts.length) return outcomes.add("unlabelled");
  query.facts.forEach((_, fact) => {
    const [was, is] = [within(before.facts[fact], data.k), within(after.facts[fact], data.k)];
    if (is && !was) outcomes.add("fixed");
    if (was && !is) outcomes.add("broken");
  });
  const isFound = (fact) => (hasSessions(data, right) ? fateOf(data, query, fact, right) === "found" : within(after.facts[fact], data.k));
  if (query.facts.every((_, fact) => isFound(fact))) outcomes.add("found");
  query.facts.forEach((_, fact) => {
    const fate = fateOf(data, query, fact, right);
    if (fate && fate !== "found") outcomes.add(OUTCOME_OF_FATE[fate] ?? fate);
  });
  return outcomes;
}

// What became of a fact by the stage of a view. What is said of a system holds for its last stage; of an earlier one,
// where the fact stands in it and in those before it says the same.
function fateOf(data, query, fact, view) {
  const stages = stagesOf(data, view);
  const fate = (query.all_outcomes[systemOf(data, view)] ?? [])[fact];
  if (view === stages.at(-1)) return fate;
  const rank = query.views[view].facts[fact];
  if (rank !== null) return within(rank, data.k) || hasSessions(data, view) ? "found" : "below_k";
  if (!["found", "left_out", "below_k", "dropped"].includes(fate)) return fate;
  return stages.some((one) => one < view && query.views[one].facts[fact] !== null) ? "dropped" : "not_retrieved";
}

// The system of a view, by number, and all views of that system.
function systemOf(data, view) {
  return Math.max(0, data.systems.indexOf(data.views[view].system));
}

function stagesOf(data, view) {
  return [...data.views.keys()].filter((one) => data.views[one].system === data.views[view].system);
}

// The runs of a query by an agent; none where a system is asked once.
function runsOf(data, query, view) {
  return query.sessions?.[systemOf(data, view)] ?? [];
}

// The run that is shown of a view: the chosen one, or the last where there are fewer.
function runOf(data, query, view, state) {
  const runs = runsOf(data, query, view);
  const number = Math.min(state.run, runs.length - 1);
  return runs.length ? { ...runs[number], number, of: runs.length, views: runs[number].views ?? stagesOf(data, view).map((one) => query.views[one]) } : null;
}

function hasSessions(data, view) {
  data.agents ??= data.systems.map((_, system) => data.queries.some((query) => query.sessions?.[system]?.length));
  return data.agents[systemOf(data, view)];
}

// How many calls the first run of a query made; null where its system is asked once.
function callsOf(data, query, view) {
  return runsOf(data, query, view)[0]?.calls.length ?? null;
}

function liftOf(query, metric, left, right) {
  const [before, after] = [query.views[left].values[metric], query.views[right].values[metric]];
  return before === null || after === null || before === undefined || after === undefined ? null : after - before;
}

function valueOf(query, metric, view) {
  return query.views[view].values[metric] ?? null;
}
