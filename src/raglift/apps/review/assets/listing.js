// The list of queries: search, filters, and how far each one is.

const FILTERS = [
  ["all", "All", () => true],
  ["todo", "To do", (query) => !query.done],
  ["disagree", "Disagreements", (query) => query.disagreements > 0],
  ["unlabelled", "Unlabelled", (query) => query.unlabelled],
];

function queryListing(review) {
  const rows = review.queries.map((query) => queryRow(query, review));
  const list = element("ol", { class: "rows" }, rows);
  const search = element("input", { type: "search", id: "search", autocomplete: "off", spellcheck: "false", placeholder: "Search",
    "aria-label": "Search queries", oninput: () => refresh() });
  const chips = FILTERS.map(([name, title]) =>
    element("button", { type: "button", class: "chip", "data-filter": name, "aria-pressed": String(name === "all"), onclick: () => choose(name) },
      title, " ", element("span", { class: "number" })));
  const none = element("p", { class: "none", hidden: true }, "No matching queries.");
  let filter = "all";
  let shown = [];

  function choose(name) {
    filter = name;
    for (const chip of chips) chip.setAttribute("aria-pressed", String(chip.dataset.filter === name));
    refresh();
  }

  function fits(query) {
    const wanted = search.value.trim().toLowerCase();
    return !wanted || `${query.id} ${query.text}`.toLowerCase().includes(wanted);
  }

  function count() {
    FILTERS.forEach(([, , belongs], number) => {
      chips[number].querySelector(".number").textContent = whole(review.queries.filter(belongs).length);
    });
  }

  function refresh() {
    const [, , belongs] = FILTERS.find(([name]) => name === filter);
    shown = review.queries.filter((query) => belongs(query) && fits(query));
    const visibleOnes = new Set(shown.map((query) => query.index));
    rows.forEach((row, index) => {
      row.hidden = !visibleOnes.has(index);
    });
    none.hidden = shown.length > 0;
    count();
  }

  refresh();
  return {
    element: [search, element("div", { class: "chips", role: "group", "aria-label": "Which queries" }, chips), element("div", { class: "list" }, list, none)],
    refresh,
    // Where the list's order goes on from a query, whether or not the filter shows that query itself
    beside: (index, step) => (step > 0
      ? shown.find((query) => query.index > index)
      : shown.findLast((query) => query.index < index)),
    update(query) {
      fillRow(rows[query.index], query);
      count();
    },
    mark(index) {
      list.querySelector("[aria-current]")?.removeAttribute("aria-current");
      const link = rows[index].firstChild;
      link.setAttribute("aria-current", "true");
      rows[index].scrollIntoView({ block: "nearest" });
    },
  };
}

function queryRow(query, review) {
  const row = element("li", null, element("a", { href: review.address(query), onclick: (event) => {
    event.preventDefault();
    review.act(() => review.open(query.index));
  } }, element("span", { class: "asked", dir: "auto" }), element("span", { class: "about" })));
  fillRow(row, query);
  return row;
}

function fillRow(row, query) {
  const [asked, about] = row.firstChild.children;
  asked.textContent = visible(query.text);
  const state = !query.answerable ? "no answer" : `${whole(query.judged)}/${whole(query.chunks)}`;
  row.classList.toggle("done", query.done);
  about.replaceChildren(
    element("span", { class: "state number" }, query.done ? "✓ " : "", state, element("span", { class: "visually-hidden" }, query.answerable ? " judged" : "")),
    element("bdi", { class: "id" }, short(query.id, 60)),
    query.disagreements ? element("span", { class: "worse" }, plural(query.disagreements, "disagreement")) : "",
    query.unlabelled ? element("span", null, "unlabelled") : "",
  );
}
