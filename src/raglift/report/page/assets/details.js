// One query: its metrics, its facts and where they stand, and the hits before and after.

function queryDetail(data, query, state, chooseRun) {
  const one = state.left === state.right;
  const alone = one || (systemOf(data, state.left) === systemOf(data, state.right) && runsOf(data, query, state.right).length > 0);
  const column = (view, other, role) => (runsOf(data, query, view).length
    ? sessionColumn(data, query, view, role, state, chooseRun)
    : hitColumn(data, query, view, other, role));
  const heading = element("h3", { id: "query-heading", tabindex: -1, dir: "auto" }, short(query.text || query.id, 1200));
  return [
    element("div", { class: "query-head" },
      heading,
      element("p", { class: "about" },
        element("bdi", { class: "id" }, short(query.id, 120)),
        query.tags.slice(0, 40).map((tag) => element("span", { class: "tag", dir: "auto" }, short(tag, 60))),
        query.answerable ? null : element("span", { class: "tag" }, "not answerable"),
      ),
    ),
    metricTable(data, query, state, one),
    query.facts.length ? factList(data, query, state, one) : element("p", { class: "muted" }, query.answerable ? "It is not known what this question needs." : "Nothing in the corpus answers this question."),
    element("div", { class: `columns${alone ? " single" : ""}` },
      alone ? null : column(state.left, state.right, "left"),
      column(state.right, state.left, "right"),
    ),
  ];
}

// The metrics at the depth of the one that decides, which comes first; the others when asked for, and then on every query.
function metricTable(data, query, state, one) {
  const depth = (metric) => data.metrics[metric].split("@")[1];
  const every = [data.primary, ...[...data.metrics.keys()].filter((metric) => metric !== data.primary)];
  const first = every.filter((metric) => depth(metric) === depth(data.primary));
  const columns = metricColumns(data, query, state, one);
  const place = element("div", { class: "values-table" });
  const fill = () => {
    const label = state.everyMetric ? "Show fewer metrics" : `Show all ${data.metrics.length} metrics`;
    const toggle = button(label, () => {
      state.everyMetric = !state.everyMetric;
      fill();
      place.querySelector("button.more").focus();
    }, { class: "quiet more", "aria-expanded": String(state.everyMetric) });
    place.replaceChildren(
      element("div", { class: "scroll", role: "group", "aria-label": "Metrics of this question", tabindex: 0 },
        metricsAndViews(data, state.everyMetric ? every : first, columns, state.everyMetric || PHONE.matches)),
      first.length < every.length ? toggle : "", runsNote(data, query, state), labelNote(query));
  };
  fill();
  return place;
}

// Figures of a query that was run several times are means over its runs.
function runsNote(data, query, state) {
  const most = Math.max(...[state.left, state.right].map((view) => runsOf(data, query, view).length));
  return most > 1 ? element("p", { class: "source" }, `means over ${most} runs of this question`) : "";
}

// Figures that rest on what a model judged say so, here as in every table.
function labelNote(query) {
  const counts = new Map();
  for (const { annotator = null } of query.facts.flat()) counts.set(annotator, (counts.get(annotator) ?? 0) + 1);
  if (![...counts.keys()].some((judge) => judge !== null)) return "";
  const parts = [...counts].sort(([, one], [, other]) => other - one).map(([judge, count], n) =>
    `${n ? whole(count) : `${plural(count, "passage")} judged`} by ${judge === null ? "people" : short(judge, 80)}`);
  return element("p", { class: "source", dir: "auto" }, `labels: ${parts.join(", ")}`);
}

function metricColumns(data, query, state, one) {
  const views = one ? [state.right] : [state.left, state.right];
  const columns = views.map((view) => ({
    title: short(data.views[view].title, 40),
    cell: (metric) => element("td", { class: "number" }, figure(valueOf(query, metric, view))),
  }));
  if (one) return columns;
  const change = (metric) => liftOf(query, metric, state.left, state.right);
  const cell = (metric) => element("td", { class: `number lift ${toneOf(change(metric), data, metric)}` }, signed(change(metric)));
  return [...columns, { title: betweenSystems(data, state) ? "difference" : "change", cell }];
}

// Few metrics go from left to right; many, or on a phone, from top to bottom, so that nothing is out of sight.
function metricsAndViews(data, metrics, columns, down) {
  const named = (metric) => term(data.metrics[metric]);
  const corner = element("th", { scope: "col" }, element("span", { class: "visually-hidden" }, down ? "Metric" : "Hits"));
  const titles = down ? columns.map(({ title }) => title) : metrics.map(named);
  const row = (title, cells) => element("tr", null, element("th", { scope: "row", dir: "auto" }, title), cells);
  const rows = down
    ? metrics.map((metric) => row(named(metric), columns.map(({ cell }) => cell(metric))))
    : columns.map(({ title, cell }) => row(title, metrics.map(cell)));
  const head = element("tr", null, corner, titles.map((title) => element("th", { scope: "col", dir: "auto" }, title)));
  return element("table", { class: down ? "down" : "across" }, element("thead", null, head), element("tbody", null, rows));
}

function factList(data, query, state, one) {
  const most = 30;
  const facts = query.facts.slice(0, most).map((alternatives, fact) => {
    const [before, after] = [query.views[state.left].facts[fact], query.views[state.right].facts[fact]];
    const fate = FATES[shownFate(data, query, fact, state)];
    const places = [state.left, state.right].map((view) => placeOfFact(data, query, fact, view, state));
    return element("li", { class: `fact f${colourOf(fact)}` },
      element("p", { class: "fact-head" },
        badge(fact),
        element("strong", null, `Fact ${fact + 1}`),
        element("span", { class: `standing ${standingTone(before, after, one)}` }, one ? places[1] : placesTold(places, before, after)),
        fate ? element("span", { class: "muted" }, fate) : null,
        whatIf.ranks && query.answerable ? element("span", { class: "supposed" }, `what if: ${rankWords(whatIf.ranks[whatIf.firstFact[query.number] + fact] || null)}`) : null,
      ),
      alternatives.slice(0, 8).map((passage, number) => alternative(passage, number)),
      alternatives.length > 8 ? element("p", { class: "muted" }, `… or one of ${plural(alternatives.length - 8, "more alternative")}`) : null,
    );
  });
  const beyond = query.facts.length - most;
  return element("section", { class: "facts", "aria-labelledby": "facts-heading" },
    element("h4", { id: "facts-heading" }, "Expected evidence"),
    element("ol", null, facts),
    beyond > 0 ? element("p", { class: "muted" }, `… and ${plural(beyond, "more fact")}`) : null,
  );
}

// What became of a fact, of an agent's query in the run that is shown.
function shownFate(data, query, fact, state) {
  const run = runOf(data, query, state.right, state);
  const isLast = stagesOf(data, state.right).at(-1) === state.right;
  return run && isLast ? run.outcomes[fact] : fateOf(data, query, fact, state.right);
}

function placeOfFact(data, query, fact, view, state) {
  const run = runOf(data, query, view, state);
  return run ? standingInSession(run, stagesOf(data, view).indexOf(view), fact) : rankWords(query.views[view].facts[fact]);
}

function placesTold([left, right], before, after) {
  const ofSession = [left, right].some((told) => told.startsWith("search"));
  return ofSession ? (left === right ? left : `${left} → ${right}`) : standing(before, after);
}

function rankWords(rank) {
  return rank === null ? "not found" : `rank ${rank}`;
}

function standing(before, after) {
  if (before === null && after === null) return "not found in either";
  if (before === null) return `not found → rank ${after}`;
  return `rank ${before} → ${after === null ? "lost" : after}`;
}

function standingTone(before, after, one) {
  if (one || before === after) return "";
  return (after ?? Infinity) < (before ?? Infinity) ? "better" : "worse";
}

function alternative(passage, number) {
  const where = place(passage.doc_id, passage.start, passage.end);
  const grade = (passage.grade ?? 1) === 1 ? null : element("span", null, `grade ${passage.grade}`);
  const judge = passage.annotator ? element("span", { dir: "auto" }, `by ${short(passage.annotator, 80)}`) : null;
  const text = passage.chunk_id === null || passage.chunk_id === undefined
    ? longText(passage.text ?? "", [], 0, { class: "passage" }, "", readable)
    : [element("p", { class: "passage", dir: "auto" }, `the chunk ${short(passage.chunk_id, 80)}`)];
  return element("div", { class: "alternative" },
    number ? element("span", { class: "or" }, "or") : null,
    text,
    where.length || grade || judge ? element("p", { class: "source" }, where, grade, judge) : null,
  );
}
