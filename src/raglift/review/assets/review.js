// The review: what is open, what a person does, what the server says of it.

const POLL = 1500;
const POLL_HIDDEN = 6000;
const STACKED = window.matchMedia("(max-width: 64rem)");

class Review {
  constructor(overview) {
    Object.assign(this, { highest: overview.highest, queries: overview.queries, change: overview.change, saving: overview.saving, hasModels: overview.models });
    this.detail = null;
    this.chunk = 0;
    this.fact = 0;
    this.words = null;
    this.blind = true;
    this.gone = "";
    this.rounds = new Map(); // how often what was in line for a query was given up
    this.cards = [];
    this.listing = queryListing(this);
    document.getElementById("list").replaceChildren(...this.listing.element);
    this.selection = element("div", { class: "selection", hidden: true, role: "region", "aria-label": "Selected words" });
    document.body.append(this.selection);
    const blind = document.getElementById("blind");
    blind.hidden = !this.hasModels;
    blind.addEventListener("click", () => this.toggleBlind());
    document.getElementById("undo").addEventListener("click", () => this.undo());
    document.getElementById("help-button").addEventListener("click", () => this.help());
    document.addEventListener("selectionchange", () => this.select());
    addEventListener("hashchange", () => this.route());
    addEventListener("beforeunload", (event) => {
      if (waiting || this.saving.unsaved) event.preventDefault();
    });
    listenToKeys(this);
    this.watchHeights();
    this.tellProgress();
    this.tellSaving();
    if (STACKED.matches) document.getElementById("fold").open = false;
    if (!this.route()) this.open((this.queries.find((query) => !query.done) ?? this.queries[0]).index);
    this.poll();
  }

  // --- what is open

  address(query) {
    return `#q=${encodeURIComponent(query.id.toWellFormed())}`;
  }

  route() {
    const id = new URLSearchParams(location.hash.slice(1)).get("q");
    const query = id === null ? undefined : this.queries.find((one) => one.id === id);
    if (query && query.index !== this.detail?.index) this.open(query.index);
    return Boolean(query);
  }

  async open(index) {
    this.wanted = index;
    this.listing.mark(index);
    this.tell("");
    try {
      const { query } = await ask(`/api/query/${index}`);
      this.back();
      if (this.wanted !== index) return;
      history.replaceState(null, "", `/${this.address(query)}`);
      this.show(query);
    } catch (error) {
      this.trouble(error);
    }
  }

  show(query) {
    const same = this.detail?.index === query.index;
    const before = this.detail;
    this.detail = query;
    if (!same) {
      this.chunk = Math.max(0, query.pool.findIndex((chunk) => chunk.grade === null));
      this.fact = Math.max(0, query.facts.length - 1);
      getSelection().empty();
    }
    this.fact = Math.max(0, Math.min(this.fact, query.facts.length - 1));
    this.note(query);
    this.paintHead();
    this.paintCards(same ? before : null);
    this.paintFacts();
    if (!same) {
      for (const pane of document.querySelectorAll(".query-pane, .facts-pane")) pane.scrollTop = 0;
      if (STACKED.matches) {
        document.getElementById("fold").open = false;
        scrollTo(0, 0);
      }
      this.stand(this.chunk, this.chunk > 0);
      this.cards[this.chunk]?.focus({ preventScroll: true });
    }
  }

  note(query) {
    this.queries[query.index] = query;
    this.listing.update(query);
    this.tellProgress();
  }

  // What stays in place at the top covers what scrolls below it
  watchHeights() {
    const root = document.documentElement.style;
    this.heights = new ResizeObserver(() => {
      root.setProperty("--bar", STACKED.matches ? `${document.querySelector(".topbar").offsetHeight}px` : "0px");
      root.setProperty("--head", `${document.querySelector(".query-head")?.offsetHeight ?? 0}px`);
    });
    this.heights.observe(document.querySelector(".topbar"));
    this.heights.observe(document.body);
  }

  paintHead() {
    const pane = document.getElementById("query");
    const head = questionHead(this.detail, this);
    this.heights.observe(head);
    if (pane.querySelector(".query-head")) pane.querySelector(".query-head").replaceWith(head);
    else pane.replaceChildren(head, element("div", { class: "cards" }));
  }

  paintCards(before) {
    const place = document.querySelector(".cards");
    if (!before) {
      this.cards = this.detail.pool.map((chunk, number) => card(chunk, number, this));
      place.replaceChildren(...this.cards, this.detail.pool.length ? "" : element("p", { class: "none" }, "No system returned anything for this query."));
    } else {
      this.detail.pool.forEach((chunk, number) => this.repaint(number, this.look(before, number) !== this.look(this.detail, number)));
    }
    this.looks = this.detail.pool.map((_, number) => this.look(this.detail, number));
  }

  // Everything that a card shows depends on this
  look(detail, number) {
    const chunk = detail.pool[number];
    const { text, ...rest } = chunk;
    return JSON.stringify([rest, chunk.marks.map(([fact, alternative]) => this.showsIn(detail, fact, alternative)), this.blind]);
  }

  repaint(number, wanted) {
    if (!wanted && !this.cards[number].classList.contains("pending")) return;
    const old = this.cards[number];
    const held = old.contains(document.activeElement);
    this.cards[number] = card(this.detail.pool[number], number, this);
    old.replaceWith(this.cards[number]);
    if (held) this.cards[number].focus({ preventScroll: true });
  }

  paintFacts() {
    const panel = document.getElementById("facts");
    const held = panel.contains(document.activeElement);
    panel.replaceChildren(...factsPanel(this.detail, this).filter(Boolean));
    if (held) panel.focus({ preventScroll: true });
  }

  // --- blind judging

  reveals(chunk) {
    return !this.blind || chunk.grade !== null;
  }

  shows(fact, alternative) {
    return this.showsIn(this.detail, fact, alternative);
  }

  // A passage that a model chose is shown once a chunk that it matches is graded
  showsIn(detail, fact, alternative) {
    if (!this.blind || !detail.facts[fact][alternative].model) return true;
    return detail.pool.some((chunk) => chunk.grade !== null && chunk.marks.some(([f, a]) => f === fact && a === alternative));
  }

  toggleBlind() {
    if (!this.hasModels) return;
    this.blind = !this.blind;
    document.getElementById("blind").setAttribute("aria-pressed", String(this.blind));
    this.paintCards(null);
    this.paintFacts();
  }

  // --- moving about

  stand(number, focus = false) {
    if (!this.cards[number]) return;
    const old = this.cards[this.chunk];
    if (old && this.chunk !== number) {
      old.removeAttribute("aria-current");
      old.tabIndex = -1;
    }
    this.chunk = number;
    const now = this.cards[number];
    now.setAttribute("aria-current", "true");
    now.tabIndex = 0;
    if (!focus) return;
    now.focus({ preventScroll: true });
    now.scrollIntoView({ block: "start" });
  }

  move(step) {
    const next = this.chunk + step;
    if (next >= 0 && next < this.cards.length) this.stand(next, true);
  }

  beside(step) {
    const next = this.listing.beside(this.detail.index, step);
    if (next) this.open(next.index);
    else this.tell(step > 0 ? "That was the last query of the list." : "That was the first query of the list.");
  }

  async nextDisagreement() {
    const later = this.detail.pool.findIndex((chunk, number) => chunk.disagrees && number > this.chunk);
    if (later >= 0) return this.stand(later, true);
    const ring = [...this.queries.slice(this.detail.index + 1), ...this.queries.slice(0, this.detail.index + 1)];
    const query = ring.find((one) => one.disagreements);
    if (!query) return this.tell("There is no disagreement left.");
    if (query.index !== this.detail.index) await this.open(query.index);
    this.stand(Math.max(0, this.detail.pool.findIndex((chunk) => chunk.disagrees)), true);
  }

  chooseFact(fact) {
    if (!this.detail.facts[fact]) return;
    this.fact = fact;
    for (const item of document.querySelectorAll(".fact")) {
      const chosen = Number(item.dataset.fact) === fact;
      item.classList.toggle("chosen", chosen);
      item.querySelector(".choose").setAttribute("aria-pressed", String(chosen));
      if (chosen) item.scrollIntoView({ block: "nearest" });
    }
    this.paintSelection();
  }

  select() {
    this.words = this.detail ? selectedWords(this.detail.pool) : null;
    if (this.words && this.words.chunk !== this.chunk) this.stand(this.words.chunk);
    this.paintSelection();
  }

  paintSelection() {
    this.selection.hidden = !this.words;
    if (this.words) this.selection.replaceChildren(...selectionBar(this.words, this));
  }

  // --- deciding

  grade(number, grade) {
    const shown = this.cards[number];
    if (!shown) return;
    // A grade that is on its way counts as seen
    const pressed = shown.querySelector("[aria-pressed='true']");
    const seen = pressed ? Number(pressed.dataset.grade) : this.detail.pool[number].grade;
    for (const one of shown.querySelectorAll("[data-grade]")) one.setAttribute("aria-pressed", String(Number(one.dataset.grade) === grade));
    shown.classList.add("pending");
    const before = this.detail;
    this.decide({ kind: "grade", chunk: number, grade, seen }).then((done) => done && this.tellRemoved(before));
    if (number !== this.chunk) return;
    // The next that has no grade yet: some have one by what was said of the words that they share
    const next = before.pool.findIndex((chunk, other) => other > number && chunk.grade === null);
    this.stand(next < 0 ? Math.min(number + 1, this.cards.length - 1) : next, true);
  }

  tellRemoved(before) {
    if (before.index !== this.detail.index) return;
    const gone = before.facts.flat().length - this.detail.facts.flat().length;
    if (gone > 0) this.tell(`${plural(gone, "passage")} of the facts gone with that grade: the chunk contains what was labelled. Press u to undo.`);
  }

  settle(kind) {
    const chunk = this.detail.pool[this.chunk];
    if (!chunk?.model || (kind === "keep" && !chunk.disagrees)) return this.tell("There is no disagreement about this chunk.");
    if (kind === "accept" && !this.reveals(chunk)) return this.tell("Grade the chunk yourself first, or leave blind judging (b).");
    this.decide({ kind, chunk: this.chunk });
  }

  addWords(toFact) {
    this.select(); // the event that tells of a selection may be still on its way
    if (!this.words) return this.tell("Select words of a chunk with the mouse first.");
    if (toFact && !this.detail.facts.length) return this.tell("There is no fact yet: f makes one.");
    const { chunk, start, end, text } = this.words;
    const last = this.detail.facts.length;
    this.decide({ kind: "words", chunk, start, end, text, fact: toFact ? this.fact : null }).then((done) => {
      if (!done) return;
      getSelection().empty();
      if (this.detail.facts.length > last) this.chooseFact(last);
    });
  }

  // Resolves to whether it was done
  decide(operation) {
    const { index } = this.detail;
    const round = this.rounds.get(index) ?? 0;
    this.tell("");
    const done = inLine(async () => {
      if ((this.rounds.get(index) ?? 0) !== round) return false;
      try {
        this.take(await ask(`/api/query/${index}`, { tab: TAB, version: this.queries[index].version, operation }));
        return true;
      } catch (error) {
        if (!(error instanceof Refused && error.status === 422)) this.rounds.set(index, round + 1);
        this.trouble(error);
        this.again(index);
        return false;
      }
    }).finally(() => this.tellSaving());
    this.tellSaving();
    return done;
  }

  undo() {
    this.tell("");
    const done = inLine(async () => {
      try {
        const answer = await ask("/api/undo", { tab: TAB });
        if (answer.query.index !== this.detail.index) this.wanted = answer.query.index;
        this.take(answer);
        history.replaceState(null, "", `/${this.address(answer.query)}`);
        this.listing.mark(answer.query.index);
      } catch (error) {
        this.trouble(error);
      }
    }).finally(() => this.tellSaving());
    this.tellSaving();
    return done;
  }

  // What the server answers to a change: the query as it is now
  take({ query, saving }) {
    this.back();
    this.saving = saving;
    if (query.index === this.wanted) this.show(query);
    else this.note(query);
  }

  // Shows again what holds, where something was shown that does not
  again(index) {
    if (this.detail.index === index) this.detail.pool.forEach((_, number) => this.repaint(number, false));
  }

  trouble(error) {
    if (error instanceof Gone || (error instanceof Refused && error.status === 403)) {
      this.gone = error instanceof Gone ? "The server does not answer." : "This page belongs to a review that has ended.";
      this.tellSaving();
      return;
    }
    if (error instanceof Refused && error.status === 409 && error.content.query) this.take(error.content);
    this.tell(`${error.message[0].toUpperCase()}${error.message.slice(1)}.`.replace(/\.\.$/, "."));
    if (!(error instanceof Refused)) throw error;
  }

  back() {
    if (this.gone) {
      this.gone = "";
      this.tellSaving();
    }
  }

  // --- telling

  tell(text) {
    const place = document.getElementById("message");
    if (place.textContent !== text) place.textContent = text;
    place.hidden = !text;
  }

  tellProgress() {
    const [judged, pairs, done] = this.queries.reduce(([a, b, c], query) => [a + query.judged, b + query.chunks, c + query.done], [0, 0, 0]);
    const bar = document.getElementById("progress");
    bar.max = Math.max(1, pairs);
    bar.value = judged;
    document.getElementById("progress-text").replaceChildren(
      `${whole(judged)} of ${plural(pairs, "pair")}`,
      element("span", { class: "and-queries" }, `, ${whole(done)} of ${plural(this.queries.length, "query", "queries")}`));
  }

  tellSaving() {
    const place = document.getElementById("saving");
    const { at, unsaved, problem, changed_meanwhile: changed } = this.saving;
    const said = JSON.stringify([this.gone, waiting > 0, this.saving]);
    if (place.dataset.said === said) return;
    place.dataset.said = said;
    place.classList.toggle("bad", Boolean(this.gone || unsaved));
    if (this.gone) {
      const kept = unsaved ? "Some changes are not saved: see its terminal." : at ? `What was saved at ${at} is in the file.` : "Nothing was changed.";
      place.replaceChildren(`${this.gone} ${kept} Start raglift review again, and open its new address.`);
    } else if (unsaved) {
      place.replaceChildren(`Not saved: ${plural(unsaved, "query", "queries")}: ${visible(problem)} `, changed
        ? button("Take in its changes, and save", () => this.store("/api/take-in"))
        : button("Try again", () => this.store("/api/save")));
    } else {
      place.replaceChildren(waiting ? "Saving…" : at ? `Saved ${at}` : "No change yet");
    }
  }

  store(path) {
    return inLine(async () => {
      try {
        const { saving, told } = await ask(path, {});
        this.saving = saving;
        if (told) this.tell(`${told[0].toUpperCase()}${told.slice(1)}.`);
        await this.look_around();
      } catch (error) {
        this.trouble(error);
      }
    }).finally(() => this.tellSaving());
  }

  // --- what other tabs do

  async look_around() {
    const { change, saving, queries } = await ask(`/api/changes?since=${this.change}`);
    this.back();
    this.change = change;
    this.saving = saving;
    for (const query of queries) {
      if (query.version < this.queries[query.index].version) continue;
      const newer = query.version > this.queries[query.index].version;
      if (query.index === this.detail?.index) {
        if (newer || query.disagreements !== this.detail.disagreements) this.show((await ask(`/api/query/${query.index}`)).query);
        if (newer) this.tell("This query was changed elsewhere: this is how it is now.");
      } else {
        this.note(query);
      }
    }
    if (queries.length) this.listing.refresh();
    this.tellSaving();
  }

  async poll() {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, document.hidden ? POLL_HIDDEN : POLL));
      // In line, so that what is on its way is not taken for someone else's
      await inLine(() => this.look_around().catch((error) => this.trouble(error)), true);
    }
  }

  help() {
    const dialog = document.getElementById("help");
    if (dialog.open) return dialog.close();
    dialog.replaceChildren(...helpContent(this.highest, () => dialog.close()));
    dialog.showModal();
  }
}

ask("/api/overview").then((overview) => new Review(overview)).catch((error) => {
  const place = document.getElementById("message");
  place.textContent = `The review cannot be shown: ${error.message}.`;
  place.hidden = false;
  if (!(error instanceof Gone || error instanceof Refused)) throw error;
});
