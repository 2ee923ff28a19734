// What a person decides, on its way to the server and back: methods of the review.

const ANOTHER = "another";

// The number that a fact has now, by the passages that it had; -1 once none of them is left
function numberNow(passages, facts) {
  const key = ({ document: name, start, text, chunk }) => JSON.stringify([name, start, text, chunk]);
  const known = new Set(passages?.map(key));
  return facts.findIndex((one) => one.some((passage) => known.has(key(passage))));
}

const DECISIONS = {
  grade(number, grade) {
    const shown = this.cards[number];
    if (!shown) return;
    // A grade that is on its way counts as seen
    const underWay = this.underWay.get(this.keyOf(number));
    const seen = underWay ? underWay.grade : this.detail.pool[number].grade;
    const before = this.detail;
    const fact = this.destinationLater(number);
    this.send(number, grade, (query) => ({ kind: "grade", chunk: number, grade, seen, fact: fact(query) })).then((done) => done && this.tellRemoved(before));
    if (number !== this.chunk) return;
    // The next that has no grade yet: some have one by what was said of the words that they share
    const next = before.pool.findIndex((chunk, other) => other > number && chunk.grade === null);
    this.stand(next < 0 ? Math.min(number + 1, this.cards.length - 1) : next, true);
  },

  clear(number) {
    if (this.cards[number]) this.send(number, null, { kind: "clear", chunk: number });
  },

  keyOf(number) {
    return `${this.detail.index} ${number}`;
  },

  // Shows a grade until the server has answered all that is in line about it
  send(number, grade, operation) {
    const key = this.keyOf(number);
    const underWay = this.underWay.get(key) ?? { count: 0 };
    underWay.count += 1;
    underWay.grade = grade;
    this.underWay.set(key, underWay);
    this.mark(this.cards[number], grade);
    return this.decide(operation, () => {
      underWay.count -= 1;
      if (!underWay.count) this.underWay.delete(key);
    });
  },

  mark(shown, grade) {
    for (const one of shown.querySelectorAll("[data-grade]")) one.setAttribute("aria-pressed", String(Number(one.dataset.grade) === grade));
    shown.classList.add("pending");
  },

  tellRemoved(before) {
    if (before.index !== this.detail.index) return;
    const gone = before.facts.flat().length - this.detail.facts.flat().length;
    if (gone > 0) this.tell(`${plural(gone, "passage")} of the facts gone with that grade: the chunk contains what was labelled. Press u to undo.`);
  },

  accept(number) {
    const fact = this.destinationLater(number);
    this.decide((query) => ({ kind: "accept", chunk: number, fact: fact(query) }));
  },

  // --- which fact a chunk is evidence for

  showsFact(fact) {
    return this.detail.facts[fact]?.some((_, alternative) => this.shows(fact, alternative)) ?? false;
  },

  // The facts that a chunk can be evidence for, and which it is or will be; none where there is nothing to choose
  destinations(number) {
    const { detail } = this;
    const chunk = detail.pool[number];
    const facts = detail.facts.map((_, fact) => fact).filter((fact) => this.showsFact(fact));
    const graded = chunk.grade > 0;
    if (!facts.length || !detail.answerable || chunk.grade === 0 || (graded && !chunk.movable)) return { options: [], chosen: null };
    const options = graded && chunk.alone ? facts : [...facts, ANOTHER];
    const chosen = graded ? chunk.facts[0] : this.choice?.chunk === number ? this.choice.fact : this.usual(detail, number);
    return options.length > 1 ? { options, chosen } : { options: [], chosen: null };
  },

  // Where a chunk goes unless something else was chosen: to the fact whose words it shares, else to the chosen one
  usual(detail, number) {
    const seen = (fact) => fact !== null && detail.facts[fact]?.some((_, alternative) => this.showsIn(detail, fact, alternative));
    const { like } = detail.pool[number];
    const wanted = detail.index === this.detail.index ? this.fact : detail.facts.length - 1;
    if (seen(like)) return like;
    if (seen(wanted)) return wanted;
    const first = detail.facts.findIndex((_, fact) => seen(fact));
    return first < 0 ? null : first;
  },

  // What was chosen for a chunk holds; where nothing was, the facts decide that are there when its turn comes
  destinationLater(number) {
    const choice = this.choice?.chunk === number ? this.choice.fact : null;
    const passages = this.detail.facts[choice];
    return (query) => {
      if (choice === ANOTHER) return ANOTHER;
      if (!query.pool) return null; // changed by others since, and not open: the server decides
      const chosen = passages ? numberNow(passages, query.facts) : -1;
      return chosen < 0 ? this.usual(query, number) : chosen;
    };
  },

  support(number, fact) {
    const before = this.underWay.get(this.keyOf(number));
    if ((before ? before.grade : this.detail.pool[number].grade) > 0) {
      const passages = this.detail.facts[fact];
      const now = (query) => (fact === ANOTHER || !query.facts ? fact : Math.max(0, numberNow(passages, query.facts)));
      this.decide((query) => ({ kind: "move-chunk", chunk: number, fact: now(query) })).then((done) => done && this.hear(number));
      return;
    }
    const old = this.choice?.chunk ?? number;
    this.choice = { chunk: number, fact };
    if (old !== number) this.paintSupport(old);
    this.paintSupport(number);
    this.hear(number);
  },

  // The next of the facts that the chunk can be evidence for
  nextSupport() {
    const { options, chosen } = this.destinations(this.chunk);
    if (this.underWay.has(this.keyOf(this.chunk))) {
      // of a grade that is on its way nobody knows yet where it led
      const { chunk: number, detail: { index } } = this;
      return void inLine(async () => undefined, true).then(() => this.detail.index === index && this.chunk === number && this.nextSupport());
    }
    if (!options.length) return this.tell(this.detail.facts.length ? "There is no other fact to choose for this chunk." : "There is no fact yet: the first relevant chunk makes one.");
    this.tell("");
    this.support(this.chunk, options[(options.indexOf(chosen) + 1) % options.length]);
  },

  // For whoever does not see the card
  hear(number) {
    const { chosen } = this.destinations(number);
    document.getElementById("heard").textContent = chosen === null ? "" : `Chunk ${number + 1}: ${chosen === ANOTHER ? "another fact" : `same as fact ${chosen + 1}`}`;
  },

  settle(kind) {
    const chunk = this.detail.pool[this.chunk];
    if (!chunk?.model || (kind === "keep" && !chunk.disagrees)) return this.tell("There is no disagreement about this chunk.");
    if (kind === "accept" && !this.reveals(chunk)) return this.tell("Grade the chunk yourself first, or leave blind judging (b).");
    if (kind === "accept") this.accept(this.chunk);
    else this.decide({ kind, chunk: this.chunk });
  },

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
  },

  // Resolves to whether it was done; calls back once that is known, and before it is shown. An operation may be a
  // function of the query as it is when its turn comes.
  decide(operation, answered = () => undefined) {
    const { index } = this.detail;
    const round = this.rounds.get(index) ?? 0;
    this.tell("");
    const done = inLine(async () => {
      if ((this.rounds.get(index) ?? 0) !== round) {
        answered();
        this.again(index);
        return false;
      }
      try {
        const known = this.queries[index];
        const made = typeof operation === "function" ? operation(known) : operation;
        const body = { start: started, tab: TAB, version: known.version, operation: made };
        const answer = await ask(`/api/query/${index}`, body).finally(answered);
        const facts = answer.query.facts.length;
        // a fact that was made is the chosen one from then on
        if (index === this.detail.index && facts > this.detail.facts.length) this.made = facts - 1;
        this.take(answer);
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
  },

  undo() {
    this.tell("");
    const done = inLine(async () => {
      try {
        const answer = await ask("/api/undo", { start: started, tab: TAB });
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
  },

  // What the server answers to a change: the query as it is now
  take({ query, saving }) {
    this.back();
    this.saving = saving;
    if (query.index === this.wanted) this.show(query);
    else this.note(query);
  },

  // Shows again what holds, where something was shown that does not
  again(index) {
    if (this.detail.index === index) this.detail.pool.forEach((_, number) => this.repaint(number, false));
  },

  trouble(error) {
    if (error instanceof Restarted) {
      this.restarted = true;
      this.gone = "The review was started again since this page was opened.";
      this.tellSaving();
      return;
    }
    if (error instanceof Gone || (error instanceof Refused && error.status === 403)) {
      this.gone = error instanceof Gone ? "The server does not answer." : "This page belongs to a review that has ended.";
      this.tellSaving();
      return;
    }
    if (error instanceof Refused && error.status === 409 && error.content.query) this.take(error.content);
    this.tell(`${error.message[0].toUpperCase()}${error.message.slice(1)}.`.replace(/\.\.$/, "."));
    if (!(error instanceof Refused)) throw error;
  },

  back() {
    if (this.gone) {
      this.gone = "";
      this.tellSaving();
    }
  },
};
