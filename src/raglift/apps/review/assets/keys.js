// Everything by keyboard.

const KEYS = [
  ["0 – 3", "grade the chunk, and go to the next"],
  ["s", "same fact or another: choose which fact the chunk will be evidence for"],
  ["x", "take the grade back"],
  ["j  k", "next and previous chunk (arrow keys too)"],
  ["n  p", "next and previous query"],
  ["f", "selected words become a new fact"],
  ["a", "selected words become an alternative of the chosen fact"],
  ["[  ]", "choose the fact before, or after: relevant chunks are added to it"],
  ["d", "next disagreement with a model"],
  ["m  o", "accept the model's grade, or keep your own"],
  ["b", "judge blind, or see models' grades at once"],
  ["u", "undo the last change"],
  ["?", "these keys"],
];

const ACTIONS = {
  s: (review) => review.nextSupport(),
  x: (review) => review.clear(review.chunk),
  j: (review) => review.move(1),
  k: (review) => review.move(-1),
  ArrowDown: (review) => review.move(1),
  ArrowUp: (review) => review.move(-1),
  n: (review) => review.beside(1),
  p: (review) => review.beside(-1),
  f: (review) => review.addWords(false),
  a: (review) => review.addWords(true),
  "[": (review) => review.chooseFact(review.fact - 1),
  "]": (review) => review.chooseFact(review.fact + 1),
  d: (review) => review.nextDisagreement(),
  m: (review) => review.settle("accept"),
  o: (review) => review.settle("keep"),
  b: (review) => review.toggleBlind(),
  u: (review) => review.undo(),
  "?": (review) => review.help(),
};

function helpContent(highest, close) {
  const rows = KEYS.map(([keys, meaning]) => element("tr", null,
    element("th", { scope: "row" }, (keys === "0 – 3" ? `0 – ${highest}` : keys).split("  ").map((key) => [element("kbd", null, key), " "])),
    element("td", null, meaning)));
  return [
    element("h2", { id: "help-title" }, "Keys"),
    element("table", null, element("tbody", null, rows)),
    element("p", { class: "muted small" }, "Any passage of a fact proves it, so passages that say the same in other words belong to one fact. The answer needs every fact."),
    element("p", { class: "muted small" }, "Select words of a chunk with the mouse. Where the whole chunk is a passage already, they take its place."),
    button("Close", close, { autofocus: true }),
  ];
}

function listenToKeys(review) {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input:not([type='checkbox']), select, textarea, dialog")) return;
    const arrow = event.key.startsWith("Arrow");
    if (arrow && event.target.closest(".list-pane, .facts-pane, .topbar")) return;
    const grade = /^[0-9]$/.test(event.key) && Number(event.key) <= review.highest ? Number(event.key) : null;
    const action = grade === null ? ACTIONS[event.key] : () => review.grade(review.chunk, grade);
    if (!action || !review.detail || (event.repeat && !"jknp".includes(event.key) && !arrow)) return;
    event.preventDefault();
    review.act(() => action(review));
  });
}
