// The measures of a page by other settings: the definitions of raglift.metrics, computed from hits, matches and labels.

// What the settings of a page are, where nothing else is asked for.
function measuredSetting(data) {
  return { k: data.depth.k, tokens: data.depth.tokens, candidates: null, weight: null, grade: null, tag: null };
}

// Prepares the columns of a page: the rows of each question side by side, and which passages a chunk covers.
function prepared(data) {
  const { facts, passages, matches } = data;
  data.factsOf = Array.from({ length: data.queries }, () => []);
  facts.forEach((query, fact) => data.factsOf[query].push(fact));
  data.passagesOf = facts.map(() => []);
  passages.fact.forEach((fact, passage) => data.passagesOf[fact].push(passage));
  data.coveredBy = Array.from({ length: data.queries }, () => new Map());
  matches.chunk.forEach((chunk, row) => {
    const of = data.coveredBy[facts[passages.fact[matches.passage[row]]]];
    if (of.has(chunk)) of.get(chunk).push(row);
    else of.set(chunk, [row]);
  });
  for (const system of data.systems) {
    for (const stage of system.stages) {
      let at = 0;
      stage.rankings = stage.hits.map((count) => stage.chunks.slice(at, (at += count)));
    }
  }
  data.known = new WeakMap();
  const { counts } = countedBy(data, measuredSetting(data));
  const sent = data.sides.flatMap(({ system, stage }) =>
    data.systems[system].stages[stage].rankings.flatMap((ranking, query) => (counts[query] && ranking.length ? [lookedUp(data, query, ranking).tokens.at(-1)] : [])));
  data.shortest = sent.reduce((least, one) => Math.min(least, one), Infinity); // so many tokens came for each question
  data.longest = sent.reduce((most, one) => Math.max(most, one), 0);
  return data;
}

// The rankings of one stage by a setting.
function rankingsOf(data, { system, stage }, setting) {
  const { stages, isReranked, failed } = data.systems[system];
  const [first, last] = [stages[0].rankings, stages.at(-1).rankings];
  const [candidates, weight] = isReranked ? [setting.candidates, setting.weight] : [null, null];
  if (stages.length < 2 || (candidates === null && weight === null)) return stages[stage].rankings;
  if (stage < stages.length - 1) return candidates === null ? first : first.map((ranking) => ranking.slice(0, candidates));
  const lost = new Set(failed);
  return last.map((all, query) => {
    if (lost.has(query)) return all; // nothing came of it, so there is nothing to fuse
    const retrieved = first[query].slice(0, candidates ?? Infinity);
    const reranked = candidates === null ? all : amongFirst(all, retrieved);
    return weight === null ? reranked : fused(retrieved, reranked, weight);
  });
}

// A reranked order among fewer candidates; of a chunk that comes twice, as often as it is among them.
function amongFirst(reranked, candidates) {
  const left = new Map();
  for (const chunk of candidates) left.set(chunk, (left.get(chunk) ?? 0) + 1);
  return reranked.filter((chunk) => {
    const count = left.get(chunk) ?? 0;
    left.set(chunk, count - 1);
    return count > 0;
  });
}

// Reciprocal rank fusion of two rankings, of which the second has a weight.
const FUSION = 60;
function fused(first, second, weight) {
  if (weight <= 0) return [...first];
  if (weight >= 1) return [...second];
  const [chunks, one, two] = [[], [], []]; // a chunk that comes twice counts at its better rank
  first.forEach((chunk, place) => {
    if (placeOf[chunk]) return;
    placeOf[chunk] = chunks.push(chunk);
    one.push(place + 1);
    two.push(Infinity);
  });
  second.forEach((chunk, place) => {
    if (!placeOf[chunk]) {
      placeOf[chunk] = chunks.push(chunk);
      one.push(Infinity);
      two.push(place + 1);
    } else two[placeOf[chunk] - 1] = Math.min(two[placeOf[chunk] - 1], place + 1);
  });
  for (const chunk of chunks) placeOf[chunk] = 0;
  const scores = chunks.map((_, n) => (1 - weight) / (FUSION + one[n]) + weight / (FUSION + two[n]));
  const order = [...chunks.keys()].sort((a, b) => scores[b] - scores[a] || compared(one[a], one[b]) || compared(two[a], two[b]));
  return order.map((n) => chunks[n]);
}
const placeOf = []; // of each chunk of the rankings that are being fused, from 1

function compared(one, other) {
  return one === other ? 0 : one < other ? -1 : 1;
}

// What is looked up once of a ranking: the hits that cover anything, as [rank, rows], and the tokens up to each rank.
function lookedUp(data, query, ranking) {
  let found = data.known.get(ranking);
  if (!found) {
    const [hits, tokens] = [[], new Float64Array(ranking.length + 1)];
    const [{ chunks }, covered] = [data, data.coveredBy[query]];
    for (let place = 0, sum = 0; place < ranking.length; place++) {
      const rows = covered.get(ranking[place]);
      if (rows) hits.push([place + 1, rows]);
      tokens[place + 1] = sum += chunks[ranking[place]];
    }
    data.known.set(ranking, (found = { hits, tokens }));
  }
  return found;
}

// How many of a ranking's first hits fit into a prompt: at most k, and at most so many tokens.
function lengthOf(tokensUpTo, k, tokens) {
  let length = Math.min(tokensUpTo.length - 1, k ?? Infinity);
  if (tokens !== null) while (tokensUpTo[length] > tokens) length -= 1;
  return length;
}

// What the hits of a ranking match: [rank, passage] of each pair that makes a hit relevant, and of each that satisfies a
// fact, both in the order of rank. Passages below the least grade are none.
function matchesOf(data, hits, least) {
  const { passages, matches } = data;
  const [relevant, enough] = [[], []];
  const covered = new Map();
  for (const [rank, rows] of hits) {
    for (const row of rows) {
      const passage = matches.passage[row];
      if (passages.grade[passage] < least) continue;
      if (matches.relevant[row]) relevant.push([rank, passage]);
      if (data.coverage && isCoveredWith(data, covered, row)) enough.push([rank, passage]);
    }
  }
  return { relevant, enough: data.coverage ? enough : relevant };
}

// Whether with one more part enough of a passage is covered for the first time.
function isCoveredWith(data, covered, row) {
  const { passages, matches } = data;
  const passage = matches.passage[row];
  let parts = covered.get(passage);
  if (!parts) covered.set(passage, (parts = { spans: [], done: false }));
  if (parts.done) return false;
  parts.spans.push([matches.start[row], matches.end[row], matches.end[row] + matches.blank[row]]);
  parts.done = coveredLength(parts.spans) >= passages.needed[passage];
  return parts.done;
}

// How many characters spans cover together, each once; a blank between two that abut it counts.
function coveredLength(spans) {
  const sorted = [...spans].sort((one, other) => one[0] - other[0] || one[1] - other[1]);
  let [covered, reached, bridged] = [0, null, null];
  for (const [start, end, beyond] of sorted) {
    if (reached === null || start > bridged) [covered, reached, bridged] = [covered + end - start, end, beyond];
    else if (end > reached) [covered, reached, bridged] = [covered + end - reached, end, beyond];
  }
  return covered;
}

// When each fact is satisfied, with what grade: facts by number, each with its [rank, grade], the grades rising.
function satisfied(data, enough) {
  const { passages } = data;
  const found = new Map();
  for (let at = 0; at < enough.length; ) {
    const rank = enough[at][0];
    const best = new Map(); // of one rank the best grade of each fact
    for (; at < enough.length && enough[at][0] === rank; at++) {
      const [fact, grade] = [passages.fact[enough[at][1]], passages.grade[enough[at][1]]];
      if (grade > (best.get(fact) ?? 0)) best.set(fact, grade);
    }
    for (const [fact, grade] of best) {
      if (!found.has(fact)) found.set(fact, [[rank, grade]]);
      else if (grade > found.get(fact).at(-1)[1]) found.get(fact).push([rank, grade]);
    }
  }
  return found;
}

// All that the measures look at, of one question: its whole ranking, and the part of it that is read.
function matchedOf(data, query, { hits, tokens }, length, least) {
  const { relevant, enough } = matchesOf(data, hits, least);
  const all = [...satisfied(data, enough)].map(([fact, steps]) => ({ fact, steps, rank: steps[0][0], grade: steps[0][1] }));
  const first = all.filter(({ rank }) => rank <= length);
  for (const one of first) one.steps = one.steps.filter(([rank]) => rank <= length);
  first.sort((one, other) => one.rank - other.rank || other.grade - one.grade || one.fact - other.fact);
  const ideals = [];
  for (const fact of data.factsOf[query]) {
    const ideal = Math.max(0, ...data.passagesOf[fact].map((passage) => data.passages.grade[passage]));
    if (ideal >= least) ideals.push(ideal);
  }
  return { all, first, ideals, facts: ideals.length, tokens: tokens[length], relevant: relevant.filter(([rank]) => rank <= length) };
}

const MEASURES = {
  hit_rate: ({ first }) => (first.length ? 1 : 0),
  recall: ({ first, facts }) => (facts ? first.length / facts : 0),
  precision: ({ relevant }, { k }) => new Set(relevant.map(([rank]) => rank)).size / k,
  f1: (matched, setting) => {
    const [p, r] = [MEASURES.precision(matched, setting), MEASURES.recall(matched, setting)];
    return p + r > 0 ? (2 * p * r) / (p + r) : 0;
  },
  rr: ({ first }) => (first.length ? 1 / first[0].rank : 0),
  ap: ({ first, facts }) => {
    let [sum, ranks, last] = [0, 0, 0];
    for (const { rank } of first) {
      if (rank !== last) [ranks, last] = [ranks + 1, rank];
      sum += ranks / rank;
    }
    return facts ? sum / facts : 0;
  },
  ndcg: ({ first, ideals }, { k }, { gain }) => {
    const worth = (grade) => (gain === "exponential" ? 2 ** grade - 1 : grade);
    const discounted = (value, position) => (position <= (k ?? Infinity) ? value / Math.log2(position + 1) : 0);
    const ideal = [...ideals].sort((one, other) => other - one).reduce((sum, grade, place) => sum + discounted(worth(grade), place + 1), 0);
    let [dcg, position] = [0, 0];
    for (const { steps } of first) {
      position = Math.max(steps[0][0], position + 1);
      let before = 0;
      for (const [rank, grade] of steps) {
        dcg += discounted(worth(grade) - before, Math.max(rank, position));
        before = worth(grade);
      }
    }
    return ideal > 0 ? dcg / ideal : 0;
  },
  context_tokens: ({ tokens }) => tokens,
};

// Of measures of what is read: from when each fact is satisfied, in characters, among the passages that count.
const READ = {
  recall_area: (position, limit) => Math.max(0, 1 - position / limit),
  prompt_recall: (position, limit) => (position <= limit ? 1 : 0),
};

function readOf(data, query, metric, { tokens }, stage, scale, least) {
  const limit = (tokens ?? metric.tokens) * scale;
  let [sum, facts] = [0, 0];
  for (const fact of data.factsOf[query]) {
    const counting = data.passagesOf[fact].filter((passage) => data.passages.grade[passage] >= least);
    if (!counting.length) continue;
    facts++;
    sum += READ[metric.name](Math.min(...counting.map((passage) => stage.positions[passage] ?? Infinity)), limit);
  }
  return facts ? sum / facts : 0;
}

// Which questions and which of their facts count: those with labels of at least the least grade, and the tag.
function countedBy(data, setting) {
  const least = setting.grade ?? 1;
  const [counts, counted] = [new Uint8Array(data.queries), new Uint8Array(data.facts.length)];
  data.passages.fact.forEach((fact, passage) => {
    const query = data.facts[fact];
    if (data.passages.grade[passage] < least || (setting.tag !== null && !data.tagsOf[query].includes(setting.tag))) return;
    counts[query] = counted[fact] = 1;
  });
  return { counts, counted };
}

// The values of measures at one stage by a setting, and the rank at which each fact is satisfied (0 for never). A measure
// of what is read has none (NaN) for hits in another order, and for longer prompts than were measured.
function measured(data, side, setting, metrics) {
  const least = setting.grade ?? 1;
  const { counts, counted } = countedBy(data, setting);
  const rankings = rankingsOf(data, side, setting);
  const { stages, scale } = data.systems[side.system];
  const stage = stages[side.stage];
  const isAsMeasured = rankings === stage.rankings;
  const values = metrics.map(() => new Float64Array(data.queries).fill(NaN));
  const ranks = new Int32Array(data.facts.length);
  const lengths = new Int32Array(data.queries);
  for (let query = 0; query < data.queries; query++) {
    const ranking = lookedUp(data, query, rankings[query]);
    const length = lengthOf(ranking.tokens, setting.k, setting.tokens);
    lengths[query] = length;
    if (!counts[query]) continue;
    const matched = matchedOf(data, query, ranking, length, least);
    for (const { fact, rank } of matched.all) ranks[fact] = rank;
    metrics.forEach((metric, place) => {
      values[place][query] = READ[metric.name]
        ? isAsMeasured && (setting.tokens === null || setting.tokens <= Math.max(data.shortest, metric.tokens)) ? readOf(data, query, metric, setting, stage, scale, least) : NaN
        : MEASURES[metric.name](matched, setting, metric);
    });
  }
  return { values, ranks, lengths, counts, counted, rankings };
}
