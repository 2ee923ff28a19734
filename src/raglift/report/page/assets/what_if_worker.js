// Answers to settings, off the page's own thread: figures at once, p-values and what would be needed when they are ready.

const STEP = 50; // tokens from one prompt size to the next
let data = null;
let latest = 0; // of several settings, the last one is answered

const pause = () => new Promise((resolve) => setTimeout(resolve));

onmessage = async ({ data: asked }) => {
  try {
    if (asked.packed) {
      const bytes = Uint8Array.from(atob(asked.packed.trim()), (character) => character.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      data = prepared(JSON.parse(await new Response(stream).text()));
      data.asMeasured = new Map();
      postMessage({ opened: opened(data) });
    } else {
      latest = asked.number;
      await answer(asked);
    }
  } catch (error) {
    postMessage({ number: asked.number, trouble: String(error.message ?? error) });
  }
};

// What can be chosen, and what was measured.
function opened({ limit, metrics, sides, systems, focus, depth, tagsOf, factsOf, passages, confidence, longest, isEstimated }) {
  const tagged = new Map();
  tagsOf.forEach((tags, query) => {
    if (factsOf[query].length) for (const tag of tags) tagged.set(tag, (tagged.get(tag) ?? 0) + 1);
  });
  const reranked = sides.map(({ system }) => systems[system]).filter(({ stages }) => stages.length > 1);
  return {
    limit: { ...limit, tokens: Math.max(1, Math.ceil(longest / STEP)) * STEP },
    depth, metrics, sides, focus, confidence,
    tags: [...tagged].sort(([, one], [, other]) => other - one).map(([tag]) => tag),
    grades: [...new Set(passages.grade)].sort((one, other) => one - other),
    fuses: reranked.length > 0 && reranked.every(({ isReranked }) => isReranked),
    whyNotFewer: reranked.map(({ whyNotFewer }) => whyNotFewer).find(Boolean) ?? null,
    reranks: reranked.length > 0, isEstimated,
    firstFact: factsOf.map((facts) => facts[0] ?? null),
  };
}

// What was measured, of the questions with a tag.
function measuredOf(data, tag) {
  if (!data.asMeasured.has(tag)) data.asMeasured.set(tag, figuresOf(data, { ...measuredSetting(data), tag }));
  return data.asMeasured.get(tag);
}

// The same of the questions and facts that count in others, so that both are means over the same.
function limitedTo({ setting, metrics, of }, others) {
  return {
    setting, metrics,
    of: of.map((one, side) => ({
      ...one,
      values: one.values.map((values) => values.map((value, query) => (others[side].counts[query] ? value : NaN))),
      counted: others[side].counted,
    })),
  };
}

// All that is computed by a setting: the values of each side, and where its facts stand.
function figuresOf(data, setting, metrics = data.metrics) {
  return { setting, metrics, of: data.sides.map((side) => measured(data, side, setting, metrics)) };
}

async function answer({ number, setting, measure, goal }) {
  await pause(); // of the settings that came meanwhile, only the last one is computed
  if (number !== latest) return;
  const found = figuresOf(data, setting);
  postMessage({ number, result: summarized(data, found, measure) });
  await pause();
  if (number !== latest) return;
  postMessage({ number, tests: testsOf(data, found, measure) });
  await need(number, setting, goal);
}

// Means with intervals, differences to the first side and to what was measured, losses, and the questions that changed.
function summarized(data, found, measure) {
  const { focus, confidence, metrics } = data;
  const asMeasured = limitedTo(measuredOf(data, found.setting.tag), found.of);
  const result = withoutRows(found);
  const [now, before] = [found, asMeasured].map(({ of }) => of[focus].values[measure]);
  result.measured = withoutRows(asMeasured);
  result.ranks = found.of[focus].ranks;
  result.against = difference(minus(now, before), { confidence, bounded: isBounded(metrics[measure]) });
  result.losses = lossesOf(data, found);
  result.curves = [asMeasured, found].map(({ of }) => curveOf(data, of[focus]));
  Object.assign(result, changedQuestions(data, asMeasured.of[focus], found.of[focus]));
  return result;
}

function withoutRows({ setting, metrics, of }) {
  const { confidence } = data;
  return {
    setting,
    rows: metrics.map((metric, place) => {
      const bounded = isBounded(metric);
      const [base, ...others] = of.map(({ values }) => values[place]);
      const side = (values) => ({ mean: meanOf(values), n: count(values), interval: meanInterval(values, { confidence, bounded }) });
      return {
        sides: [base, ...others].map(side),
        differences: others.map((values) => difference(minus(values, base), { confidence, bounded })),
      };
    }),
    facts: of.map((one) => factsOf(one)),
  };
}

function isBounded({ name }) {
  return name !== "context_tokens";
}

function count(values) {
  return values.reduce((sum, value) => sum + !Number.isNaN(value), 0);
}

function minus(values, others) {
  return values.map((value, place) => value - others[place]);
}

// How many facts are found in what is read, of how many that count.
function factsOf({ ranks, lengths, counted }) {
  let [found, all] = [0, 0];
  data.facts.forEach((query, fact) => {
    if (!counted[fact]) return;
    all++;
    if (ranks[fact] > 0 && ranks[fact] <= lengths[query]) found++;
  });
  return { found, all };
}

// The p-value of each difference to the first side; over several sides those of one measure are corrected after Holm.
// Only the measure that decides has a verdict: whichever else is looked at is looked at to explore. Hits that did not
// come as measured are missing by other settings too.
function testsOf(data, { metrics, of }, measure) {
  const { confidence, seed } = data;
  const rows = metrics.map((metric, place) => {
    const bounded = isBounded(metric);
    return of.slice(1).map(({ values }) => {
      const differences = minus(values[place], of[0].values[place]);
      return { ...difference(differences, { confidence, bounded }), ...pOf(differences, { confidence, bound: bounded ? 1 : null, seed }) };
    });
  });
  const ps = holm(rows[measure].map(({ p, n }) => (n ? p : NaN)));
  return rows.map((row, place) => row.map((one, side) => {
    const p = place === measure ? ps[side] : one.p;
    const decided = data.sides[side + 1].isComparable ? verdict(one, p, confidence) : "not comparable by size";
    return { ...one, p, verdict: one.n ? decided : null, exploratory: place !== 0 };
  }));
}

// What became of each fact, as the failure analysis tells it: counts by outcome.
function lossesOf(data, { setting, of }) {
  const side = data.sides[data.focus];
  const { ranks, lengths, counted } = of[data.focus];
  const { stages, failed, attainable } = data.systems[side.system];
  const least = setting.grade ?? 1;
  const earlier = stages.slice(0, side.stage).map((_, stage) => {
    const known = data.sides.findIndex((one) => one.system === side.system && one.stage === stage);
    return (of[known] ?? measured(data, { ...side, stage }, setting, [])).ranks;
  });
  const lost = new Set(failed);
  const counts = {};
  data.facts.forEach((query, fact) => {
    if (!counted[fact]) return;
    const canBe = attainable !== null && data.passagesOf[fact].some((passage) => attainable[passage] && data.passages.grade[passage] >= least);
    const outcome = lost.has(query) ? "failed"
      : ranks[fact] > 0 ? (ranks[fact] <= lengths[query] ? "found" : "below_k")
      : earlier.some((one) => one[fact] > 0) ? "dropped"
      : attainable === null ? "missed" : canBe ? "not_retrieved" : "not_attainable";
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  });
  return counts;
}

// Recall over the tokens that are read: [tokens, recall] of each step, the mean over the questions that count.
function curveOf(data, { ranks, lengths, counts, counted, rankings }) {
  const facts = new Float64Array(data.queries);
  data.facts.forEach((query, fact) => (facts[query] += counted[fact]));
  const questions = counts.reduce((sum, one) => sum + one, 0);
  const steps = [];
  data.facts.forEach((query, fact) => {
    if (!counted[fact] || !ranks[fact] || ranks[fact] > lengths[query]) return;
    steps.push([lookedUp(data, query, rankings[query]).tokens[ranks[fact]], 1 / facts[query] / questions]);
  });
  steps.sort(([one], [other]) => one - other);
  let recall = 0;
  return steps.map(([tokens, share]) => [tokens, (recall += share)]);
}

// The questions with a fact that is found now and was not, and the other way around.
function changedQuestions(data, before, after) {
  const [fixed, broken] = [new Set(), new Set()];
  data.facts.forEach((query, fact) => {
    if (!before.counted[fact] || !after.counted[fact]) return;
    const [was, is] = [before, after].map(({ ranks, lengths }) => ranks[fact] > 0 && ranks[fact] <= lengths[query]);
    if (is && !was) fixed.add(query);
    if (was && !is) broken.add(query);
  });
  return { fixed: [...fixed], broken: [...broken] };
}

// The least k, tokens and candidates with which a measure reaches a goal: its mean, and also the end of its interval.
async function need(number, setting, goal) {
  const { confidence, focus } = data;
  const [metric, side] = [data.metrics[goal.measure], data.sides[focus]];
  const bounded = isBounded(metric);
  const { counts } = countedBy(data, setting);
  const was = measuredOf(data, setting.tag).of[focus].values[goal.measure].map((value, query) => (counts[query] ? value : NaN));
  const target = goal.share ? goal.least * meanOf(was) : goal.least;
  for (const { name, values: tries } of goal.dimensions) {
    const told = { name, target, mean: null, sure: null, best: null, first: tries[0] };
    for (const value of tries) {
      const found = measured(data, side, { ...setting, [name]: value }, [metric]);
      await pause();
      if (number !== latest) return;
      const [values] = found.values;
      const mean = meanOf(values);
      if (Number.isNaN(mean)) continue;
      if (told.best === null || mean > told.best.mean) told.best = { value, mean };
      if (!(mean >= target - 1e-9)) continue;
      const interval = meanInterval(values, { confidence, bounded });
      const change = difference(minus(values, was), { confidence, bounded });
      told.mean ??= { value, mean, interval, change };
      const isSame = change.wins + change.losses === 0;
      const isSure = goal.share ? isSame || change.low >= target - meanOf(was) - 1e-9 : interval !== null && interval[0] >= target - 1e-9;
      if (!isSure) continue;
      told.sure = { value, mean, interval, change };
      break;
    }
    postMessage({ number, need: told });
  }
}
