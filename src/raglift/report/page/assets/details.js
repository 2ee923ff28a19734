// One query: its metrics, its facts and where they stand, and the hits before and after.

function queryDetail(data, query, state) {
  const one = state.left === state.right;
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
    query.facts.length ? factList(data, query, state, one) : element("p", { class: "muted" }, "This query has no facts to look for."),
    element("div", { class: `columns${one ? " single" : ""}` },
      one ? null : hitColumn(data, query, state.left, state.right, "left"),
      hitColumn(data, query, state.right, state.left, "right"),
    ),
  ];
}

function metricTable(data, query, state, one) {
  const views = one ? [state.right] : [state.left, state.right];
  // The metric that decides first, as not all of them are in sight
  const order = [data.primary, ...data.metrics.keys()].filter((metric, place) => place === 0 || metric !== data.primary);
  const head = ["", ...order.map((metric) => data.metrics[metric])].map((metric) => element("th", { scope: "col" }, metric || element("span", { class: "visually-hidden" }, "View")));
  const rows = views.map((view) => element("tr", null,
    element("th", { scope: "row", dir: "auto" }, short(data.views[view].title, 40)),
    order.map((metric) => element("td", { class: "number" }, figure(valueOf(query, metric, view)))),
  ));
  if (!one) {
    rows.push(element("tr", { class: "lift" }, element("th", { scope: "row" }, "Change"), order.map((metric) => {
      const lift = liftOf(query, metric, state.left, state.right);
      return element("td", { class: `number ${toneOf(lift)}` }, signed(lift));
    })));
  }
  const table = element("table", null, element("thead", null, element("tr", null, head)), element("tbody", null, rows));
  return element("div", { class: "scroll values-table", role: "group", "aria-label": "Metrics of this query", tabindex: 0 }, table);
}

function factList(data, query, state, one) {
  const most = 30;
  const system = Math.max(0, data.systems.indexOf(data.views[state.right].system));
  const facts = query.facts.slice(0, most).map((alternatives, fact) => {
    const [before, after] = [query.views[state.left].facts[fact], query.views[state.right].facts[fact]];
    const fate = FATES[(query.fates[system] ?? [])[fact]];
    return element("li", { class: `fact f${colourOf(fact)}` },
      element("p", { class: "fact-head" },
        badge(fact),
        element("strong", null, `Fact ${fact + 1}`),
        element("span", { class: `standing ${standingTone(before, after, one)}` }, one ? rankWords(after) : standing(before, after)),
        fate ? element("span", { class: "muted" }, fate) : null,
      ),
      alternatives.slice(0, 8).map((passage, number) => alternative(passage, number)),
      alternatives.length > 8 ? element("p", { class: "muted" }, `… or one of ${plural(alternatives.length - 8, "more alternative")}`) : null,
    );
  });
  const beyond = query.facts.length - most;
  return element("section", { class: "facts", "aria-labelledby": "facts-heading" },
    element("h4", { id: "facts-heading" }, "What it needs"),
    element("ol", null, facts),
    beyond > 0 ? element("p", { class: "muted" }, `… and ${plural(beyond, "more fact")}`) : null,
  );
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
  const where = place(passage.document, passage.start, passage.end);
  const grade = passage.grade === 1 ? null : element("span", null, `grade ${passage.grade}`);
  const text = passage.chunk_id === null || passage.chunk_id === undefined
    ? longText(passage.text ?? "", [], { before: 0, after: 0 }, { class: "passage" })
    : [element("p", { class: "passage", dir: "auto" }, `the chunk ${short(passage.chunk_id, 80)}`)];
  return element("div", { class: "alternative" },
    number ? element("span", { class: "or" }, "or") : null,
    text,
    where.length || grade ? element("p", { class: "source" }, where, grade) : null,
  );
}
