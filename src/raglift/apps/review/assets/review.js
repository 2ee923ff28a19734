// The review: what is open, and how it is shown.

const STACKED = window.matchMedia("(max-width: 64rem)");

class Review {
  constructor(overview) {
    Object.assign(this, { highest: overview.highest, queries: overview.queries, saving: overview.saving, hasModels: overview.models });
    this.detail = null;
    this.chunk = 0;
    this.fact = 0;
    this.choice = null; // the fact that was chosen for a chunk without a grade
    this.words = null;
    this.blind = true;
    this.gone = "";
    this.line = Promise.resolve(); // what is to be done, one after the other
    this.waiting = 0;
    this.round = 0;
    this.cards = [];
    this.looks = [];
    this.listing = queryListing(this);
    document.getElementById("list").replaceChildren(...this.listing.element);
    this.selection = element("div", { class: "selection", hidden: true, role: "region", "aria-label": "Selected words" });
    document.body.append(this.selection);
    const blind = document.getElementById("blind");
    blind.hidden = !this.hasModels;
    blind.addEventListener("click", () => this.act(() => this.toggleBlind()));
    document.getElementById("undo").addEventListener("click", () => this.act(() => this.undo()));
    document.getElementById("help-button").addEventListener("click", () => this.help());
    document.addEventListener("selectionchange", () => this.select());
    addEventListener("hashchange", () => this.act(() => this.route()));
    addEventListener("beforeunload", (event) => {
      if (this.waiting || this.saving.unsaved) event.preventDefault();
    });
    listenToKeys(this);
    this.heights = new ResizeObserver(() => this.measure());
    for (const place of [document.querySelector(".topbar"), document.getElementById("message"), document.body]) this.heights.observe(place);
    this.paintProgress();
    if (STACKED.matches) document.getElementById("fold").open = false;
    this.act(async () => (await this.route()) || this.open((this.queries.find((query) => !query.done) ?? this.queries[0]).index));
  }

  // --- what is open

  address(query) {
    return `#q=${encodeURIComponent(query.id.toWellFormed())}`;
  }

  async route() {
    const id = new URLSearchParams(location.hash.slice(1)).get("q");
    const query = id === null ? undefined : this.queries.find((one) => one.id === id);
    if (query && query.index !== this.detail?.index) await this.open(query.index);
    return Boolean(query);
  }

  async open(index) {
    this.listing.mark(index);
    this.say("");
    const answer = await ask(`/api/query/${index}`);
    history.replaceState(null, "", `/${this.address(answer.query)}`);
    this.take(answer);
  }

  // What the server answers: a query as it is now, and what is saved
  take({ query, saving }) {
    this.gone = "";
    this.saving = saving;
    const before = this.detail?.index === query.index ? this.detail : null;
    this.detail = query;
    if (before) {
      // Facts have other numbers once one before them is gone: the chosen one stays chosen
      const same = numberNow(before.facts[this.fact], query.facts);
      this.fact = Math.max(0, same < 0 ? Math.min(this.fact, query.facts.length - 1) : same);
      const { choice } = this;
      if (choice && (query.pool[choice.chunk].grade !== null || query.facts.length !== before.facts.length)) this.choice = null;
    } else {
      this.chunk = Math.max(0, query.pool.findIndex((chunk) => chunk.grade === null));
      this.fact = Math.max(0, query.facts.length - 1);
      this.choice = null;
      getSelection().empty();
    }
    this.queries[query.index] = query;
    this.listing.update(query);
    this.listing.mark(query.index);
    this.paintProgress();
    this.paintHead();
    this.paintCards(Boolean(before));
    this.paintFacts();
    if (before) return;
    for (const pane of document.querySelectorAll(".query-pane, .facts-pane")) pane.scrollTop = 0;
    if (STACKED.matches) {
      document.getElementById("fold").open = false;
      scrollTo(0, 0);
    }
    this.measure();
    this.stand(this.chunk, this.chunk > 0);
    this.cards[this.chunk]?.focus({ preventScroll: true });
  }

  // What stays in place at the top covers what scrolls below it
  measure() {
    const root = document.documentElement.style;
    const [bar, message] = [".topbar", "#message"].map((place) => (STACKED.matches ? document.querySelector(place).offsetHeight : 0));
    root.setProperty("--topbar", `${bar}px`);
    root.setProperty("--bar", `${bar + message}px`);
    const head = document.querySelector(".query-head");
    const stays = head && getComputedStyle(head).position === "sticky";
    root.setProperty("--head", `${stays ? head.offsetHeight : 0}px`);
  }

  paintHead() {
    const pane = document.getElementById("query");
    const head = questionHead(this.detail, this);
    this.heights.observe(head);
    if (pane.querySelector(".query-head")) return pane.querySelector(".query-head").replaceWith(head);
    // For whoever has read to the end, and has no keyboard
    const turns = element("nav", { class: "turns", "aria-label": "Other queries" },
      button("‹ Previous query", () => this.act(() => this.beside(-1))), button("Next query ›", () => this.act(() => this.beside(1))));
    pane.replaceChildren(head, element("div", { class: "cards" }), turns);
  }

  paintCards(inPlace) {
    if (inPlace) return this.inPlace(() => this.cards.forEach((_, number) => this.looks[number] !== this.look(number) && this.repaint(number)));
    const { pool } = this.detail;
    this.looks = pool.map((_, number) => this.look(number));
    this.cards = pool.map((chunk, number) => card(chunk, number, this));
    document.querySelector(".cards").replaceChildren(...this.cards, pool.length ? "" : element("p", { class: "none" }, "No system returned anything for this query."));
  }

  // The chunk that is read does not move when those above it get more to show
  inPlace(paint) {
    const top = () => this.cards[this.chunk]?.getBoundingClientRect().top ?? 0;
    const before = top();
    paint();
    const pane = STACKED.matches ? document.documentElement : document.getElementById("query");
    pane.scrollBy({ top: top() - before, behavior: "instant" });
  }

  // Everything that a card shows depends on this
  look(number) {
    const chunk = this.detail.pool[number];
    const { text, ...rest } = chunk;
    return JSON.stringify([rest, chunk.marks.map(([fact, alternative]) => this.shows(fact, alternative)), this.blind, factButtons(chunk, number, this).outerHTML]);
  }

  repaint(number) {
    const old = this.cards[number];
    const held = old.contains(document.activeElement);
    this.looks[number] = this.look(number);
    this.cards[number] = card(this.detail.pool[number], number, this);
    old.replaceWith(this.cards[number]);
    if (held) this.cards[number].focus({ preventScroll: true });
  }

  // The rest of the card stays, with what is selected in it
  paintSupport(number) {
    const old = this.cards[number].querySelector(".support");
    const held = old?.contains(document.activeElement) ? document.activeElement.dataset.fact : undefined;
    const made = factButtons(this.detail.pool[number], number, this);
    old?.remove();
    this.cards[number].querySelector(".judge").append(made);
    this.looks[number] = this.look(number);
    if (held !== undefined) made.querySelector?.(`[data-fact="${held}"]`)?.focus({ preventScroll: true });
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

  // A passage that a model chose is shown once a chunk that it matches is graded
  shows(fact, alternative) {
    if (!this.blind || !this.detail.facts[fact][alternative].model) return true;
    return this.detail.pool.some((chunk) => chunk.grade !== null && chunk.marks.some(([f, a]) => f === fact && a === alternative));
  }

  toggleBlind() {
    if (!this.hasModels) return;
    this.blind = !this.blind;
    document.getElementById("blind").setAttribute("aria-pressed", String(this.blind));
    this.paintHead();
    this.paintCards(false);
    this.stand(this.chunk);
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

  goTo(pane) {
    const place = document.getElementById(pane);
    place.focus({ preventScroll: true });
    if (pane === "query") this.stand(this.chunk, true);
    else place.scrollIntoView({ block: "start" });
  }

  move(step) {
    this.stand(this.chunk + step, true);
  }

  beside(step) {
    const next = this.listing.beside(this.detail.index, step);
    if (next) return this.open(next.index);
    this.say(step > 0 ? "That was the last query of the list." : "That was the first query of the list.");
  }

  async nextDisagreement() {
    const later = this.detail.pool.findIndex((chunk, number) => chunk.disagrees && number > this.chunk);
    if (later >= 0) return this.stand(later, true);
    const ring = [...this.queries.slice(this.detail.index + 1), ...this.queries.slice(0, this.detail.index + 1)];
    const query = ring.find((one) => one.disagreements);
    if (!query) return this.say("There is no disagreement left.");
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
    this.inPlace(() => this.cards.forEach((_, number) => this.looks[number] !== this.look(number) && this.paintSupport(number)));
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
}

Object.assign(Review.prototype, DECISIONS);

ask("/api/overview").then((overview) => new Review(overview)).catch((error) => {
  const place = document.getElementById("message");
  place.textContent = `The review cannot be shown: ${error.message}.`;
  place.hidden = false;
  if (!(error instanceof Gone || error instanceof Refused)) throw error;
});
