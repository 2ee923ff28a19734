// What the answer needs: facts, their alternatives, and the words that are about to become one.

function factsShown(query, review) {
  return query.facts.filter((passages, fact) => passages.some((_, alternative) => review.shows(fact, alternative)));
}

function factsPanel(query, review) {
  const hidden = query.facts.flat().length - query.facts.reduce((sum, passages, fact) =>
    sum + passages.filter((_, alternative) => review.shows(fact, alternative)).length, 0);
  const cards = query.facts.map((passages, fact) => factCard(passages, fact, review)).filter(Boolean);
  return [
    element("header", { class: "facts-head" },
      element("h2", null, "Facts"),
      button("↑ Chunks", () => review.goTo("query"), { class: "quiet to-chunks" })),
    element("p", { class: "muted small" }, query.facts.length
      ? "The answer needs all facts; any alternative proves one."
      : query.answerable ? "None yet. The first chunk that you grade 1 or more becomes one, or select words and press f." : "The documents do not answer this question."),
    cards.length ? element("ol", { class: "fact-list" }, cards) : "",
    hidden ? element("p", { class: "muted small" }, `${plural(hidden, "passage")} that a model chose: hidden while you judge blind.`) : "",
    query.irrelevant ? element("p", { class: "muted small" }, `${plural(query.irrelevant, "passage")} judged not to help.`) : "",
  ];
}

function factCard(passages, fact, review) {
  const shown = passages.map((passage, alternative) => [passage, alternative]).filter(([, alternative]) => review.shows(fact, alternative));
  if (!shown.length) return null;
  const chosen = fact === review.fact;
  return element("li", { class: `fact f${colourOf(fact)}${chosen ? " chosen" : ""}`, "data-fact": fact },
    element("div", { class: "fact-head" },
      element("button", { type: "button", class: "choose", "aria-pressed": String(chosen), title: "Relevant chunks and alternatives are added to this fact", onclick: () => review.chooseFact(fact) },
        element("span", { class: "badge", "aria-hidden": "true" }, String(fact + 1)), element("span", null, `Fact ${fact + 1}`)),
      button("Remove fact", () => review.act(() => review.decide({ kind: "remove", fact }), review.detail.index), { class: "quiet remove", "aria-label": `Remove fact ${fact + 1}` }),
    ),
    element("ol", { class: "alternatives" }, shown.map(([passage, alternative]) => alternativeRow(passage, fact, alternative, shown.length > 1, review))),
  );
}

function alternativeRow(passage, fact, alternative, several, review) {
  const name = several ? `alternative ${alternative + 1} of fact ${fact + 1}` : `fact ${fact + 1}`;
  const grades = [];
  for (let grade = 1; grade <= review.highest; grade += 1) grades.push([grade, `${grade} ${gradeName(grade, review.highest)}`]);
  if (passage.grade > review.highest) grades.push([passage.grade, `grade ${passage.grade}`]);
  const select = element("select", { "aria-label": `Grade of ${name}`, onchange: (event) =>
    review.act(() => review.decide({ kind: "set-grade", fact, alternative, grade: Number(event.target.value) }), review.detail.index) });
  setOptions(select, grades);
  select.value = String(passage.grade);
  return element("li", { class: "alternative" },
    alternative && several ? element("span", { class: "or" }, "or") : "",
    passage.text === null
      ? element("p", { class: "passage" }, "Chunk ", element("bdi", { class: "id" }, short(passage.chunk, 120)))
      : element("blockquote", { class: "passage", dir: "auto" }, short(passage.text, 320)),
    element("div", { class: "passage-foot" },
      select,
      element("span", { class: "source" }, passage.document || passage.start !== null ? placeOf(passage) : ""),
      passage.model ? element("span", { class: "tag", title: passage.model }, "model") : "",
      several ? button("Remove", () => review.act(() => review.decide({ kind: "remove", fact, alternative }), review.detail.index), { class: "quiet remove", "aria-label": `Remove ${name}` }) : "",
    ),
  );
}

// What is selected, before it becomes anything.
function selectionBar(words, review) {
  const chunk = review.detail.pool[words.chunk];
  const place = chunk.start === null ? `characters ${whole(words.start)}–${whole(words.end)} of the chunk`
    : `${short(chunk.document ?? "", 40)} ${whole(chunk.start + words.start)}–${whole(chunk.start + words.end)}`;
  const keepSelection = { onmousedown: (event) => event.preventDefault() }; // what is selected stays selected
  const factTotal = review.detail.facts.length;
  return [
    element("p", { class: "selected" }, "“", element("bdi", null, excerpt(words.text)), "”"),
    element("p", { class: "muted small" }, place),
    element("div", { class: "actions" },
      button([element("kbd", null, "f"), " New fact"], () => review.act(() => review.addWords(false)), keepSelection),
      factTotal ? button([element("kbd", null, "a"), ` Alternative of fact ${review.fact + 1}`], () => review.act(() => review.addWords(true)), keepSelection) : "",
    ),
  ];
}

function excerpt(text) {
  if (text.length <= 160) return visible(text);
  return `${short(text.slice(0, 80), 80)} … ${visible(text.slice(seam(text, text.length - 70)))}`;
}
