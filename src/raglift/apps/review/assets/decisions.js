// What a person decides, on its way to the server and back: methods of the review.

const DECISIONS = {
  grade(number, grade) {
    const shown = this.cards[number];
    if (!shown) return;
    // A grade that is on its way counts as seen
    const underWay = this.underWay.get(this.keyOf(number));
    const seen = underWay ? underWay.grade : this.detail.pool[number].grade;
    const before = this.detail;
    this.send(number, grade, { kind: "grade", chunk: number, grade, seen }).then((done) => done && this.tellRemoved(before));
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

  settle(kind) {
    const chunk = this.detail.pool[this.chunk];
    if (!chunk?.model || (kind === "keep" && !chunk.disagrees)) return this.tell("There is no disagreement about this chunk.");
    if (kind === "accept" && !this.reveals(chunk)) return this.tell("Grade the chunk yourself first, or leave blind judging (b).");
    this.decide({ kind, chunk: this.chunk });
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

  // Resolves to whether it was done; calls back once that is known, and before it is shown
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
        const body = { start: started, tab: TAB, version: this.queries[index].version, operation };
        this.take(await ask(`/api/query/${index}`, body).finally(answered));
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
