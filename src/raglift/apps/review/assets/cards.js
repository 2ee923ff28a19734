// The open query: its question, and its chunks as cards to grade.

const LONG_QUESTION = 160;

function questionHead(query, review) {
  const hint = query.facts.length ? "A question with facts has an answer: remove them first" : null;
  return element("header", { class: "query-head" },
    // one that is long scrolls in its place, by keyboard too
    element("h2", { dir: "auto", tabindex: query.whole.length > LONG_QUESTION ? "0" : null }, visible(query.whole)),
    element("p", { class: "about" },
      element("bdi", { class: "id" }, short(query.id, 200)),
      query.tags.map((tag) => element("bdi", { class: "tag" }, short(tag, 60))),
      element("span", { class: "number" }, `${whole(query.judged)} of ${plural(query.chunks, "chunk")} judged`),
      button(`Facts ${whole(factsShown(query, review).length)} ↓`, () => review.goTo("facts"), { class: "quiet to-facts" }),
      element("label", { class: "answerable", title: hint },
        element("input", { type: "checkbox", checked: !query.answerable, disabled: Boolean(hint),
          onchange: (event) => review.act(() => review.decide({ kind: "answerable", answerable: !event.target.checked }), review.detail.index) }),
        " Not answerable from these documents"),
    ),
  );
}

function card(chunk, number, review) {
  const graded = chunk.grade !== null;
  const current = number === review.chunk;
  return element("article", {
    class: `card${graded ? " graded" : ""}${chunk.disagrees && review.reveals(chunk) ? " disagrees" : ""}`,
    "data-chunk": number, tabindex: current ? "0" : "-1", "aria-current": current ? "true" : null,
    "aria-label": `Chunk ${number + 1} of ${review.detail.pool.length}${graded ? `, grade ${chunk.grade}` : ", not judged"}${supportName(chunk)}`,
    onfocusin: () => review.stand(number),
    onpointerdown: () => review.stand(number),
  },
    element("div", { class: "card-head" },
      element("span", { class: "rank", "aria-hidden": "true" }, String(number + 1)),
      element("span", { class: "source" }, placeOf(chunk)),
      element("div", { class: "judge" }, gradeButtons(chunk, number, review), factButtons(chunk, number, review)),
    ),
    element("p", { class: "chunk-text", dir: "auto" }, wordsShown(chunk, review)),
    modelLine(chunk, number, review),
  );
}

function placeOf({ document: name, start, end }) {
  const parts = [];
  if (name) parts.push(element("bdi", { class: "document", title: short(name, 300) }, short(name, 60)));
  if (start !== null) parts.push(element("span", { class: "offsets" }, `${parts.length ? " " : ""}${whole(start)}–${whole(end)}`));
  return parts.length ? parts : element("span", null, "place not known");
}

function gradeButtons(chunk, number, review) {
  const buttons = [];
  for (let grade = 0; grade <= review.highest; grade += 1) {
    buttons.push(element("button", { type: "button", class: "grade", "data-grade": grade, "aria-pressed": String(chunk.grade === grade),
      onclick: () => review.act(() => review.grade(number, grade), review.detail.index) }, element("span", { class: "digit" }, String(grade)), " ", element("span", { class: "meaning" }, gradeName(grade, review.highest))));
  }
  // A grade that this scale does not have, as other labels may
  if (chunk.grade !== null && chunk.grade > review.highest) buttons.push(element("span", { class: "grade beyond" }, String(chunk.grade)));
  return element("span", { class: "grades", role: "group", "aria-label": `Grade of chunk ${number + 1}` },
    element("button", { type: "button", class: "grade clear", "aria-label": "No grade", title: "No grade (x)", disabled: chunk.grade === null, onclick: () => review.act(() => review.clear(number), review.detail.index) }, "×"),
    buttons);
}

// In the words of the rubric by which models grade
const NAMES = {
  3: ["irrelevant", "related", "answers in part", "answers"],
  5: ["irrelevant", "related", "hints", "answers in part", "answers among other things", "answers"],
};
function gradeName(grade, highest) {
  return NAMES[highest][grade] ?? "";
}

function supportName(chunk) {
  if (!chunk.grade || !chunk.facts.length) return "";
  return `, evidence for ${chunk.facts.length > 1 ? "facts" : "fact"} ${chunk.facts.map((fact) => fact + 1).join(" and ")}`;
}

// Which fact the chunk will be evidence for; once it is graded, which it is.
function factButtons(chunk, number, review) {
  const { options, chosen } = review.destinations(number);
  if (!options.length) {
    const isEvidence = chunk.grade && chunk.facts.length && chunk.facts.every((fact) => review.showsFact(fact));
    return isEvidence && review.detail.facts.length > 1
      ? element("p", { class: "support muted" }, `Evidence for fact${chunk.facts.length > 1 ? "s" : ""} ${chunk.facts.map((fact) => fact + 1).join(", ")}. To choose another, take the grade back (x) first.`)
      : "";
  }
  const shown = options.map((fact) => element("button", {
    type: "button", class: `support-fact${fact === ANOTHER ? "" : ` f${colourOf(fact)}`}`, "data-fact": fact, "aria-pressed": String(fact === chosen),
    title: fact === ANOTHER ? "A fact that the answer needs as well" : factName(review.detail.facts[fact], review, fact),
    onclick: () => review.act(() => review.support(number, fact), review.detail.index),
  }, fact === ANOTHER ? "Another fact" : ["Same as fact ", element("span", { class: "badge" }, String(fact + 1))]));
  return element("div", { class: "support", role: "group", "aria-label": `Which fact chunk ${number + 1} is evidence for`, "aria-keyshortcuts": "s" },
    element("span", { class: "muted support-if" }, "If relevant:"),
    shown,
    chosen === ANOTHER || chosen === null ? "" : element("bdi", { class: "support-words muted", "aria-hidden": "true" }, factName(review.detail.facts[chosen], review, chosen)));
}

// A fact by the beginning of the first passage of it that may be seen
function factName(passages, review, fact) {
  const first = passages.find((_, alternative) => review.shows(fact, alternative));
  return short((first.text ?? `chunk ${first.chunk}`).trim().replace(/\s+/g, " "), 90);
}

// The whole text of a chunk, and nothing else: places in it are places in what is shown.
function wordsShown(chunk, review) {
  const spans = chunk.marks
    .filter(([fact, alternative, start, end]) => end > start && review.shows(fact, alternative))
    .map(([fact, , start, end]) => ({ fact, counts: true, start: unitOf(chunk.text, start), end: unitOf(chunk.text, end) }));
  return markedText(chunk.text, [[0, chunk.text.length]], spans);
}

function modelLine(chunk, number, review) {
  if (!chunk.model) return null;
  if (!review.reveals(chunk)) return element("p", { class: "model muted" }, "A model graded it too: shown once you did.");
  const differs = chunk.grade !== null && chunk.grade !== chunk.model.grade;
  const open = chunk.disagrees;
  return element("p", { class: "model" },
    element("span", { class: open ? "worse" : "" }, differs ? "≠ " : chunk.grade === null ? "" : "= ", "model ", element("strong", null, String(chunk.model.grade))),
    element("span", { class: "muted" }, element("bdi", null, short(chunk.model.by.join("; "), 200))),
    chunk.grade === null || open ? button("Accept", () => review.act(() => review.accept(number), review.detail.index), { title: "Accept the model's grade (m)" }) : "",
    open ? button("Keep mine", () => review.act(() => review.decide({ kind: "keep", chunk: number }), review.detail.index), { title: "Keep your grade (o)" }) : "",
    differs && !open ? element("span", { class: "muted" }, chunk.settled ? "decided" : "") : "",
  );
}
