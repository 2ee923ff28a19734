// Labels that are probably wrong: each with the passage that speaks against it, and what a person decides. Methods of
// the review.

const VERDICTS = [
  { key: "1", label: true, other: false, words: "The label is right", title: "The label is evidence, the other passage is not" },
  { key: "2", label: true, other: true, words: "Both answer", title: "The other passage becomes an alternative of the fact" },
  { key: "3", label: false, other: true, words: "The label is wrong, the other answers", title: "The other passage takes the label's place" },
  { key: "4", label: false, other: false, words: "Neither answers", title: "Both are judged not to help, and the fact loses the label" },
];

function suspectCard(one, number, review) {
  const current = number === review.suspect;
  const chosen = one.verdict && VERDICTS.find(({ label, other }) => label === one.verdict.label && other === one.verdict.other);
  return element("article", {
    class: `card suspect${one.verdict ? " graded" : ""}`, "data-suspect": number, tabindex: current ? "0" : "-1", "aria-current": current ? "true" : null,
    "aria-label": `Suspected label ${number + 1} of ${review.detail.cases.length}${chosen ? `, decided: ${chosen.words}` : ", not decided"}`,
    onfocusin: () => review.standSuspect(number),
    onpointerdown: () => review.standSuspect(number),
  },
    element("p", { class: "suspect-why" }, element("strong", null, one.fact === null ? "A label" : `Fact ${one.fact + 1}`), `: ${one.why}. `,
      element("span", { class: "muted number" }, `Evidence ${one.evidence.toFixed(2)}`,
        one.ranks.length ? [". Rank of the label: ", one.ranks.flatMap(([system, rank], place) => [place ? ", " : "", element("bdi", null, short(system, 60)), ` ${whole(rank)}`])].flat() : "")),
    element("div", { class: "sides" },
      suspectSide("The label", one.label),
      suspectSide(one.kind === "copy" ? "The copy" : "The other passage", [one.other])),
    element("div", { class: "verdicts", role: "group", "aria-label": `Decision about suspected label ${number + 1}` },
      VERDICTS.map(({ key, label, other, words, title }) => element("button", { type: "button", class: "verdict", title,
        "aria-pressed": String(chosen?.key === key), "data-verdict": key, onclick: () => review.decideSuspect(number, { label, other }) },
        element("kbd", null, key), ` ${words}`))),
  );
}

function suspectSide(name, passages) {
  return element("section", { class: "side", "aria-label": name },
    element("h3", null, name),
    passages.flatMap((passage, place) => [
      place ? element("span", { class: "or" }, "or") : "",
      element("p", { class: "source" }, placeOf(passage)),
      element("blockquote", { class: "passage", dir: "auto" }, visible(passage.text)),
    ]));
}

const SUSPECTS = {
  paintSuspects(again) {
    const place = document.querySelector(".suspects");
    const held = place.contains(document.activeElement);
    this.suspectCards = this.detail.cases.map((one, number) => suspectCard(one, number, this));
    place.replaceChildren(...this.suspectCards);
    if (held && again) this.suspectCards[this.suspect]?.focus({ preventScroll: true });
  },

  standSuspect(number, focus = false) {
    const now = this.suspectCards[number];
    if (!now) return;
    for (const one of this.suspectCards) {
      one.tabIndex = one === now ? 0 : -1;
      if (one === now) one.setAttribute("aria-current", "true");
      else one.removeAttribute("aria-current");
    }
    this.suspect = number;
    if (!focus) return;
    now.focus({ preventScroll: true });
    now.scrollIntoView({ block: "start" });
  },

  decideSuspect(number, { label, other }) {
    const { detail } = this;
    this.decide({ kind: "suspect", suspect: number, label, other }).then((done) => {
      if (!done || this.detail.index !== detail.index) return;
      const next = this.detail.cases.findIndex((one, place) => place > number && !one.verdict);
      if (next >= 0) this.standSuspect(next, true);
    });
  },
};
