// The list of queries: a batch at a time as it is scrolled, so that thousands open at once.

const BATCH = 80;

function queryList(open) {
  const list = element("ol", { class: "rows", "aria-label": "Queries" });
  const sentinel = element("div", { class: "sentinel", "aria-hidden": "true" });
  const scroller = element("div", { class: "list" }, list, sentinel);
  let queries = [];
  let rowOf = null;
  new IntersectionObserver(([seen]) => seen.isIntersecting && more(), { root: scroller, rootMargin: "400px" }).observe(sentinel);

  function more() {
    const from = list.childElementCount;
    list.append(...queries.slice(from, from + BATCH).map((query) => rowOf(query)));
    sentinel.hidden = list.childElementCount >= queries.length;
  }

  function fill(chosen, makeRow) {
    [queries, rowOf] = [chosen, makeRow];
    scroller.scrollTop = 0;
    list.replaceChildren();
    if (queries.length) more();
    else list.append(element("li", { class: "none" }, "No query fits. Search for less, or choose another outcome or tag."));
  }

  function mark(query) {
    for (const link of list.querySelectorAll("a[aria-current], a[tabindex='0']")) {
      link.removeAttribute("aria-current");
      link.tabIndex = -1;
    }
    const place = queries.indexOf(query);
    while (place >= list.childElementCount) more();
    const link = (place < 0 ? null : list.children[place])?.querySelector("a") ?? null;
    if (link) link.setAttribute("aria-current", "true");
    const reachable = link ?? list.querySelector("a");
    if (reachable) reachable.tabIndex = 0;
    if (link) keepInSight(scroller, link);
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
  return { scroller, fill, mark, beside };
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
        dumbbell(before, after, data.tops[state.metric]),
        element("span", { class: `number change ${toneOf(lift)}` }, signed(lift)),
      ];
  const tags = query.tags.slice(0, 3).map((tag) => element("span", { class: "tag", dir: "auto" }, short(tag, 24)));
  return element("li", null, element("a", { href: address(query), tabindex: -1 },
    element("span", { class: "asked", dir: "auto" }, short(query.text || query.id, 240)),
    element("span", { class: "values" }, values),
    element("span", { class: "about" }, element("bdi", { class: "id" }, short(query.id, 32)), tags),
  ));
}

function toneOf(change) {
  if (change === null || Math.abs(change) < 0.0005) return "muted";
  return change > 0 ? "better" : "worse";
}

// Two dots on a line from 0 to the highest value: hollow before, full after.
function dumbbell(before, after, top) {
  if (before === null || after === null) return element("span");
  const place = (value) => 5 + (62 * Math.max(0, value)) / top;
  return element("svg:svg", { class: `dumbbell ${toneOf(after - before)}`, viewBox: "0 0 72 12", "aria-hidden": "true" },
    element("svg:line", { class: "rail", x1: 3, x2: 69, y1: 6, y2: 6 }),
    element("svg:line", { class: "way", x1: place(before), x2: place(after), y1: 6, y2: 6 }),
    element("svg:circle", { class: "before", cx: place(before), cy: 6, r: 3 }),
    element("svg:circle", { class: "after", cx: place(after), cy: 6, r: 3.5 }),
  );
}
