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
          onchange: (event) => review.decide({ kind: "answerable", answerable: !event.target.checked }) }),
        " the documents do not answer it"),
    ),
  );
}

function card(chunk, number, review) {
  const graded = chunk.grade !== null;
  const current = number === review.chunk;
  return element("article", {
    class: `card${graded ? " graded" : ""}${chunk.disagrees && review.reveals(chunk) ? " disagrees" : ""}`,
    "data-chunk": number, tabindex: current ? "0" : "-1", "aria-current": current ? "true" : null,
    "aria-label": `Chunk ${number + 1} of ${review.detail.pool.length}${graded ? `, grade ${chunk.grade}` : ", not judged"}`,
    onfocusin: () => review.stand(number),
    onpointerdown: () => review.stand(number),
  },
    element("div", { class: "card-head" },
      element("span", { class: "rank", "aria-hidden": "true" }, String(number + 1)),
      element("span", { class: "source" }, placeOf(chunk)),
      gradeButtons(chunk, number, review),
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
      title: gradeName(grade, review.highest), "aria-label": `Grade ${grade}: ${gradeName(grade, review.highest)}`, onclick: () => review.grade(number, grade) }, String(grade)));
  }
  // A grade that this scale does not have, as other labels may
  if (chunk.grade !== null && chunk.grade > review.highest) buttons.push(element("span", { class: "grade beyond" }, String(chunk.grade)));
  return element("span", { class: "grades", role: "group", "aria-label": `Grade of chunk ${number + 1}` },
    element("button", { type: "button", class: "grade clear", "aria-label": "No grade", title: "No grade (x)", disabled: chunk.grade === null, onclick: () => review.clear(number) }, "×"),
    buttons);
}

const NAMES = {
  3: ["does not help", "touches the subject", "helps to answer", "answers"],
  5: ["does not help", "touches the subject", "helps a little", "helps", "answers in part", "answers"],
};
function gradeName(grade, highest) {
  return NAMES[highest][grade];
}

// The whole text of a chunk, and nothing else: places in it are places in what is shown.
function wordsShown(chunk, review) {
  const spans = chunk.marks
    .filter(([fact, alternative, start, end]) => end > start && review.shows(fact, alternative))
    .map(([fact, , start, end]) => ({ fact, counts: true, start: unitOf(chunk.text, start), end: unitOf(chunk.text, end) }));
  return flowing(markedText(chunk.text, [[0, chunk.text.length]], spans), softBreaks(chunk.text));
}

function modelLine(chunk, number, review) {
  if (!chunk.model) return null;
  if (!review.reveals(chunk)) return element("p", { class: "model muted" }, "A model graded it too: shown once you did.");
  const differs = chunk.grade !== null && chunk.grade !== chunk.model.grade;
  const open = chunk.disagrees;
  return element("p", { class: "model" },
    element("span", { class: open ? "worse" : "" }, differs ? "≠ " : chunk.grade === null ? "" : "= ", "model ", element("strong", null, String(chunk.model.grade))),
    element("span", { class: "muted" }, element("bdi", null, short(chunk.model.by.join("; "), 200))),
    chunk.grade === null || open ? button("Accept", () => review.decide({ kind: "accept", chunk: number }), { title: "Accept the model's grade (m)" }) : "",
    open ? button("Keep mine", () => review.decide({ kind: "keep", chunk: number }), { title: "Keep your grade (o)" }) : "",
    differs && !open ? element("span", { class: "muted" }, chunk.settled ? "decided" : "") : "",
  );
}
