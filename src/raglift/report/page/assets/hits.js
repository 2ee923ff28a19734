// The hits of one query in one view: where each came from, what it matched, and why.

const FIRST = 10;
const REASONS = 6;

function hitColumn(data, query, view, other, role) {
  const { hits, returned, error } = query.views[view];
  const title = element("h4", { dir: "auto" }, short(data.views[view].title, 80));
  const count = element("p", { class: "muted count" }, `${plural(returned, "hit")}${hits.length < returned ? `, ${whole(hits.length)} of them in this page` : ""}`);
  const list = element("ol", { class: "hits" });
  const column = element("div", { class: `column ${role}` }, element("div", { class: "column-head" }, title, count), list);
  if (error) column.insertBefore(element("p", { class: "error", dir: "auto" }, `This question failed: ${short(error, 600)}`), list);
  if (!hits.length) list.append(element("li", { class: "none" }, "No hits."));
  const ranks = other === view ? null : ranksOf(query.views[other]);
  if (ranks && betweenSystems(data, { left: view, right: other })) ranks.elsewhere = short(data.views[other].title, 60);
  fillHits(list, data, query, hits, hits.filter((hit) => hit[0] <= FIRST || hit[3].length), ranks, role);
  return column;
}

// Of hits that stand apart, as those that were dropped, what lies between two of them is not counted.
function fillHits(list, data, query, all, chosen, ranks, role, { earlier = null, whence = null, apart = false } = {}) {
  let last = 0;
  const rows = [];
  for (const hit of chosen) {
    if (hit[0] > last + 1 && !apart) rows.push(gap(hit[0] - last - 1));
    rows.push(hitRow(data, query, hit, ranks, role, { earlier, from: whence?.(hit) }));
    last = hit[0];
  }
  list.replaceChildren(...rows);
  if (chosen.length < all.length) {
    const label = `Show the other ${plural(all.length - chosen.length, "hit")}`;
    const open = () => fillHits(list, data, query, all, all, ranks, role, { earlier, whence, apart });
    list.append(element("li", { class: "none" }, button(label, open)));
  }
}

function gap(count) {
  return element("li", { class: "gap" }, `${plural(count, "hit")} that ${count === 1 ? "matches" : "match"} nothing`);
}

// The rank of each chunk in a view. A hit that is shown anywhere is in the page wherever it was returned, so what is
// missing here did not come back.
function ranksOf({ hits }) {
  const ranks = new Map();
  for (const [rank, chunk] of hits) if (!ranks.has(chunk)) ranks.set(chunk, rank);
  return ranks;
}

function hitRow(data, query, [rank, number, score, matches], ranks, role, { earlier = null, from = null } = {}) {
  const [document, start, end, text, missing] = data.chunks[number];
  const counts = matches.some((match) => match[3]);
  const spans = matches
    .filter((match) => match[7] > match[6])
    .map(([fact, , , matched, , , from, to]) => ({ fact, counts: Boolean(matched), start: unitOf(text, from), end: unitOf(text, to) }));
  const edge = element("span", { class: "score number" }, score === null ? "" : element("span", { class: "visually-hidden" }, "Score "), scoreText(score));
  const head = element("div", { class: "hit-head" },
    element("span", { class: "rank" }, element("span", { class: "visually-hidden" }, "Rank "), String(rank)),
    movement(rank, number, ranks, role),
    from ? element("span", { class: "from" }, from) : null,
    element("span", { class: "source", title: placeName(document, start, end) }, place(document, start, end)),
    edge,
  );
  const body = longText(text, spans, missing, { class: "hit-text" }, matches.length ? "" : "more", readable);
  if (!matches.length && body[1]) edge.append(" ", body.pop());
  return element("li", { class: `hit${counts ? " counts" : ""}${matches.length ? " touches" : ""}`, "data-chunk": number },
    head, element("div", { class: "hit-body" }, body), reasons(query, matches, earlier));
}

function placeName(document, start, end) {
  return [short(document, 200), start === null || start === undefined ? "" : `characters ${whole(start)} to ${whole(end)}`].filter(Boolean).join(", ");
}

function place(document, start, end) {
  const parts = [];
  if (document) parts.push(element("bdi", { class: "document" }, short(document, 48)));
  if (start !== null && start !== undefined) parts.push(element("span", { class: "offsets" }, `${parts.length ? " " : ""}${whole(start)}–${whole(end)}`));
  return parts;
}

// How a hit moved, seen from either side, in signs and in words.
function movement(rank, chunk, ranks, role) {
  if (!ranks) return null;
  const other = ranks.get(chunk);
  const [sign, tone, said] = other === undefined ? unseen(role, ranks.elsewhere) : moved(rank, other, role, ranks.elsewhere);
  return element("span", { class: `move ${tone}`, title: said }, sign, element("span", { class: "visually-hidden" }, ` (${said})`));
}

function moved(rank, other, role, elsewhere) {
  const there = `rank ${other} in ${elsewhere}`;
  const where = elsewhere
    ? { after: there, same: there, up: there, down: there }
    : { after: `rank ${other} after`, same: "as before", up: `up from rank ${other}`, down: `down from rank ${other}` };
  if (role === "left") return [`→ ${other}`, other < rank ? "better" : other > rank ? "worse" : "muted", where.after];
  if (other === rank) return ["=", "muted", where.same];
  return other > rank ? [`▲ ${other} → ${rank}`, "better", where.up] : [`▼ ${other} → ${rank}`, "worse", where.down];
}

function unseen(role, elsewhere) {
  if (elsewhere) return ["only here", role === "left" ? "worse" : "better", `not returned by ${elsewhere}`];
  return role === "left" ? ["→ gone", "worse", "not among the hits after"] : ["new", "better", "not among the hits before"];
}

function badge(fact) {
  return element("span", { class: `badge f${colourOf(fact)}`, "aria-hidden": "true" }, String(fact + 1));
}

function reasons(query, matches, earlier = null) {
  if (!matches.length) return null;
  const lines = matches.slice(0, REASONS).map((match) => element("li", null, badge(match[0]), element("span", null, reason(query, match, earlier))));
  if (matches.length > REASONS) lines.push(element("li", { class: "muted" }, `and ${whole(matches.length - REASONS)} more`));
  return element("ul", { class: "why", "aria-label": "Why it matched" }, lines);
}

// Why a hit matched, or why what it covers is not enough; `earlier` has the calls that found facts before this one.
function reason(query, [fact, passage, direction, counts, satisfies, covered], earlier) {
  const which = query.facts[fact].length > 1 ? `alternative ${passage + 1} of fact ${fact + 1}` : `fact ${fact + 1}`;
  const share = covered === null ? "a part" : `${percent(covered)}%`;
  const named = query.facts[fact].length > 1 ? which : `the passage of ${which}`;
  const call = earlier?.get(fact);
  const end = call === undefined ? (satisfies ? ": found here" : "") : `: ${satisfies ? "better than" : "already found by"} search ${call}`;
  if (!counts) return `covers ${share} of ${which}, ${satisfies ? `which completes it together with ${earlier ? "earlier hits" : "the hits above"}` : "not a match by itself"}`;
  if (direction === 0) return `contains ${named}${end}`;
  if (direction === 1) return `lies inside ${named}${covered === null ? "" : `, ${share} of it`}${end}`;
  if (direction === 2) return `is the chunk that ${which} names${end}`;
  return `overlaps ${named}, ${share} of it${end}`;
}

function percent(share) {
  const rounded = Math.round(share * 100);
  return rounded === 0 && share > 0 ? "<1" : rounded === 100 && share < 1 ? ">99" : String(rounded);
}
