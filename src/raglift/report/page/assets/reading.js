// The queries as they are packed in the page, and what follows from them for two chosen views.

async function readQueries() {
  const packed = document.getElementById("queries").textContent;
  const bytes = Uint8Array.from(atob(packed.trim()), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const OUTCOMES = [
  ["fixed", "Fixed", "A fact is found only in the right view"],
  ["broken", "Broken", "A fact is found only in the left view"],
  ["complete", "All found", "Every fact is found in the right view"],
  ["below", "Ranked too low", "A fact was retrieved, but too far down"],
  ["dropped", "Dropped", "A stage dropped the hit that had a fact"],
  ["never", "Never retrieved", "A fact was in the index, or may have been, and was not retrieved"],
  ["chunking", "Lost at chunking", "No chunk of the index can match a fact"],
  ["failed", "Failed", "The query failed"],
  ["unlabelled", "No labels", "The query has no facts to look for"],
];
const OF_FATE = {
  below_k: "below",
  dropped: "dropped",
  not_retrieved: "never",
  missed: "never",
  not_attainable: "chunking",
  failed: "failed",
};
const FATES = {
  found: "found",
  below_k: "retrieved, but ranked too low",
  dropped: "dropped by a later stage",
  not_retrieved: "in the index, never retrieved",
  missed: "never retrieved",
  not_attainable: "lost at chunking: no chunk can match it",
  failed: "the query failed",
};

function within(rank, k) {
  return rank !== null && rank <= k;
}

// The outcomes of one query between two views, as a set of their names.
function outcomesOf(data, query, left, right) {
  if (!query.facts.length) return new Set(["unlabelled"]);
  const [before, after] = [query.views[left], query.views[right]];
  const outcomes = new Set();
  query.facts.forEach((_, fact) => {
    const [was, is] = [within(before.facts[fact], data.k), within(after.facts[fact], data.k)];
    if (is && !was) outcomes.add("fixed");
    if (was && !is) outcomes.add("broken");
  });
  if (query.facts.every((_, fact) => within(after.facts[fact], data.k))) outcomes.add("complete");
  const system = Math.max(0, data.systems.indexOf(data.views[right].system));
  for (const fate of query.fates[system] ?? []) if (OF_FATE[fate]) outcomes.add(OF_FATE[fate]);
  if (after.error) outcomes.add("failed");
  return outcomes;
}

function liftOf(query, metric, left, right) {
  const [before, after] = [query.views[left].values[metric], query.views[right].values[metric]];
  return before === null || after === null || before === undefined || after === undefined ? null : after - before;
}

function valueOf(query, metric, view) {
  return query.views[view].values[metric] ?? null;
}
