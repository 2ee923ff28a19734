// The list of queries: a batch at a time as it is scrolled, so that thousands open at once.

const BATCH = 80;

function queryList(open) {
  const list = element("ol", { class: "rows", "aria-label": "Queries" });
  const [above, below] = [element("div", { "aria-hidden": "true" }), element("div", { "aria-hidden": "true" })];
  const scroller = element("div", { class: "list" }, above, list, below);
  let queries = [];
  let rowOf = null;
  let first = 0; // the place of the first query that has a row

  const watch = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) if (isIntersecting) (target === above ? earlier : later)();
  }, { root: scroller, rootMargin: "400px" });
  watch.observe(above);
  watch.observe(below);

  function rows(from, to) {
    return queries.slice(from, to).map((query) => rowOf(query));
  }

  function later() {
    const next = first + list.childElementCount;
    list.append(...rows(next, next + BATCH));
    below.hidden = first + list.childElementCount >= queries.length;
  }

  function earlier() {
    const height = scroller.scrollHeight;
    const from = Math.max(0, first - BATCH);
    list.prepend(...rows(from, first));
    first = from;
    above.hidden = first === 0;
    scroller.scrollTop += scroller.scrollHeight - height;
  }

  function startAt(place) {
    first = place;
    list.replaceChildren();
    above.hidden = first === 0;
    later();
  }

  function fill(chosen, makeRow) {
    [queries, rowOf] = [chosen, makeRow];
    startAt(0);
    scroller.scrollTop = 0;
  }

  // What the list says where it is empty.
  function none(control) {
    list.append(element("li", { class: "none" }, "No matching questions. ", control));
  }

  function rowAt(place) {
    if (place < 0) return null;
    if (place < first || place > first + list.childElementCount) startAt(Math.max(0, place - BATCH / 4));
    else if (place === first + list.childElementCount) later();
    return list.children[place - first].querySelector("a");
  }

  function mark(query) {
    const link = rowAt(queries.indexOf(query));
    for (const old of list.querySelectorAll("a[aria-current], a[tabindex='0']")) {
      old.removeAttribute("aria-current");
      old.tabIndex = -1;
    }
    if (link) link.setAttribute("aria-current", "true");
    const reachable = link ?? list.querySelector("a");
    if (reachable) reachable.tabIndex = 0;
    if (link) {
      keepInSight(scroller, link);
      requestAnimationFrame(() => keepInSight(scroller, link)); // rows have their true heights only once in sight
    }
    return link;
  }

  function beside(query, step) {
    const place = queries.indexOf(query);
    if (place < 0) return queries[0] ?? null;
    return queries[Math.min(queries.length - 1, Math.max(0, place + step))];
  }

  scroller.addEventListener("keydown", (event) => {
    const ends = { Home: queries[0], End: queries.at(-1) };
    if (!(event.key in ends) || event.target.tagName !== "A") return;
    event.preventDefault();
    open(ends[event.key]);
  });
  return { scroller, fill, none, mark, beside };
}

function keepInSight(scroller, link) {
  const [inner, outer] = [link.getBoundingClientRect(), scroller.getBoundingClientRect()];
  if (inner.top < outer.top) scroller.scrollTop -= outer.top - inner.top + 8;
  else if (inner.bottom > outer.bottom) scroller.scrollTop += inner.bottom - outer.bottom + 8;
}

// One query in the list: what it asks, and its metric before and after.
function queryRow(query, data, state, address) {
  const [before, after] = [valueOf(query, state.metric, state.left), valueOf(query, state.metric, state.right)];
  const lift = liftOf(query, state.metric, state.left, state.right);
  const values = state.left === state.right
    ? [element("span", { class: "number" }, figure(after))]
    : [
        element("span", { class: "number" }, `${figure(before)} → ${figure(after)}`),
        dumbbell(before, after, data.tops[state.metric], toneOf(lift, data, state.metric)),
        element("span", { class: `number change ${toneOf(lift, data, state.metric)}` }, signed(lift)),
      ];
  const calls = callsOf(data, query, state.right);
  const tags = query.tags.slice(0, 3).map((tag) => element("span", { class: "tag", dir: "auto" }, short(tag, 24)));
  return element("li", null, element("a", { href: address(query), tabindex: -1 },
    element("span", { class: "asked", dir: "auto" }, short(query.text || query.id, 240)),
    element("span", { class: "values" }, values),
    element("span", { class: "about" }, element("bdi", { class: "id" }, short(query.id, 32)), calls === null ? null : element("span", null, plural(calls, "search", "searches")), tags),
  ));
}

// Of a metric of which more is neither better nor worse, as tokens, no change is either.
function toneOf(change, data, metric) {
  if (data.neutral.includes(metric) || change === null || Math.abs(change) < 0.0005) return "muted";
  return change > 0 ? "better" : "worse";
}

// Two dots on a line from 0 to the highest value: hollow before, full after.
function dumbbell(before, after, top, tone) {
  if (before === null || after === null) return element("span");
  const place = (value) => 5 + (62 * Math.max(0, value)) / top;
  return element("svg:svg", { class: `dumbbell ${tone}`, viewBox: "0 0 72 12", "aria-hidden": "true" },
    element("svg:line", { class: "rail", x1: 3, x2: 69, y1: 6, y2: 6 }),
    element("svg:line", { class: "way", x1: place(before), x2: place(after), y1: 6, y2: 6 }),
    element("svg:circle", { class: "before", cx: place(before), cy: 6, r: 3 }),
    element("svg:circle", { class: "after", cx: place(after), cy: 6, r: 3.5 }),
  );
}
