// What a person decides: methods of the review. One thing is done after the other, each on the query as it is by then.

const ANOTHER = "another";

// The number that a fact has now, by the passages that it had; -1 once none of them is left
function numberNow(passages, facts) {
  const key = ({ document: name, start, text, chunk }) => JSON.stringify([name, start, text, chunk]);
  const known = new Set(passages?.map(key));
  return facts.findIndex((one) => one.some((passage) => known.has(key(passage))));
}

const DECISIONS = {
  // What was asked for waits for what was asked before; what follows a failure is forgotten. A click is about the query
  // that it was made on, a key about the one that is open when its turn comes.
  act(work, index = null) {
    const { round } = this;
    this.waiting += 1;
    this.paintSaving();
    this.line = this.line.then(async () => {
      if (round !== this.round || (index !== null && index !== this.detail.index)) return;
      try {
        await work();
      } catch (error) {
        if (!(error instanceof Refused && error.status === 422)) this.round += 1;
        this.fail(error);
        if (!this.detail) return;
        this.paintHead(); // what was chosen there was not done
        this.paintFacts();
      }
    }).finally(() => {
      this.waiting -= 1;
      this.paintSaving();
    });
    return this.line;
  },

  async decide(operation) {
    this.say("");
    const { index, version, facts } = this.detail;
    this.take(await ask(`/api/query/${index}`, { version, operation }));
    // a fact that was made is the chosen one from then on
    if (this.detail.facts.length > facts.length) this.chooseFact(this.detail.facts.length - 1);
  },

  async grade(number, grade) {
    if (!this.cards[number]) return;
    const before = this.detail;
    await this.decide({ kind: "grade", chunk: number, grade, fact: this.destinations(number).chosen });
    const gone = before.facts.flat().length - this.detail.facts.flat().length;
    if (gone > 0) this.say(`${plural(gone, "passage")} of the facts gone with that grade: the chunk contains what was labelled. Press u to undo.`);
    if (number !== this.chunk) return;
    // The next that had no grade: some have one by what was said of the words that they share
    const next = before.pool.findIndex((chunk, other) => other > number && chunk.grade === null);
    this.stand(next < 0 ? Math.min(number + 1, this.cards.length - 1) : next, true);
  },

  clear(number) {
    if (this.cards[number]) return this.decide({ kind: "clear", chunk: number });
  },

  async undo() {
    this.say("");
    const answer = await ask("/api/undo", {});
    if (answer.query.index !== this.detail.index) history.replaceState(null, "", `/${this.address(answer.query)}`);
    this.take(answer);
  },

  async save() {
    this.saving = (await ask("/api/save", {})).saving;
  },

  // --- which fact a chunk is evidence for

  showsFact(fact) {
    return this.detail.facts[fact]?.some((_, alternative) => this.shows(fact, alternative)) ?? false;
  },

  // The facts that a chunk can be evidence for, and which it is or will be; no options if there is nothing to choose
  destinations(number) {
    const { pool, facts: all, answerable } = this.detail;
    const chunk = pool[number];
    const facts = all.map((_, fact) => fact).filter((fact) => this.showsFact(fact));
    // where it goes unless something else was chosen: to the fact whose words it shares, else to the chosen one
    const usual = [chunk.like, this.fact, facts[0]].find((fact) => fact != null && this.showsFact(fact)) ?? null;
    const chosen = chunk.grade > 0 && chunk.facts.length ? chunk.facts[0] : this.choice?.chunk === number ? this.choice.fact : usual;
    const isFixed = !facts.length || !answerable || chunk.grade !== null;
    return { options: isFixed ? [] : [...facts, ANOTHER], chosen };
  },

  support(number, fact) {
    const old = this.choice?.chunk ?? number;
    this.choice = { chunk: number, fact };
    if (old !== number) this.paintSupport(old);
    this.paintSupport(number);
    // For whoever does not see the card
    const { chosen } = this.destinations(number);
    document.getElementById("heard").textContent = chosen === null ? "" : `Chunk ${number + 1}: ${chosen === ANOTHER ? "another fact" : `same as fact ${chosen + 1}`}`;
  },

  // The next of the facts that the chunk can be evidence for
  nextSupport() {
    const { options, chosen } = this.destinations(this.chunk);
    if (!options.length) return this.say(this.detail.facts.length ? "The chunk has a grade: take it back (x), and choose a fact then." : "There is no fact yet: the first relevant chunk makes one.");
    this.say("");
    return this.support(this.chunk, options[(options.indexOf(chosen) + 1) % options.length]);
  },

  accept(number) {
    return this.decide({ kind: "accept", chunk: number, fact: this.destinations(number).chosen });
  },

  settle(kind) {
    const chunk = this.detail.pool[this.chunk];
    if (!chunk?.model || (kind === "keep" && !chunk.disagrees)) return this.say("There is no disagreement about this chunk.");
    if (kind === "accept" && !this.reveals(chunk)) return this.say("Grade the chunk yourself first, or leave blind judging (b).");
    return kind === "accept" ? this.accept(this.chunk) : this.decide({ kind, chunk: this.chunk });
  },

  async addWords(toFact) {
    this.select(); // the event that tells of a selection may be still on its way
    if (!this.words) return this.say("Select words of a chunk with the mouse first.");
    if (toFact && !this.detail.facts.length) return this.say("There is no fact yet: f makes one.");
    const { chunk, start, end, text } = this.words;
    await this.decide({ kind: "words", chunk, start, end, text, fact: toFact ? this.fact : null });
    getSelection().empty();
  },

  // --- what is said

  say(text) {
    const place = document.getElementById("message");
    if (place.textContent !== text) place.textContent = text;
    place.hidden = !text;
  },

  fail(error) {
    if (error instanceof Gone || (error instanceof Refused && error.status === 403)) {
      this.gone = error instanceof Gone ? "The server does not answer." : "This page belongs to a review that has ended.";
      return;
    }
    if (error instanceof Refused && error.status === 409) this.take(error.content);
    this.say(`${error.message[0].toUpperCase()}${error.message.slice(1)}.`.replace(/\.\.$/, "."));
    if (!(error instanceof Refused)) throw error;
  },

  paintProgress() {
    const [judged, pairs, done] = this.queries.reduce(
      ([a, b, c], query) => [a + query.judged, b + query.chunks, c + query.done], [0, 0, 0]);
    const bar = document.getElementById("progress");
    bar.max = Math.max(1, pairs);
    bar.value = judged;
    document.getElementById("progress-text").replaceChildren(`${whole(judged)} of ${plural(pairs, "pair")}`,
      element("span", { class: "and-queries" }, `, ${whole(done)} of ${plural(this.queries.length, "query", "queries")}`));
  },

  paintSaving() {
    const place = document.getElementById("saving");
    const { at, unsaved, problem } = this.saving;
    const state = JSON.stringify([this.gone, this.waiting > 0, this.saving]);
    if (place.dataset.state === state) return;
    place.dataset.state = state;
    place.classList.toggle("bad", Boolean(this.gone || unsaved));
    if (this.gone) {
      const what = unsaved ? "Some changes are not saved: see its terminal." : at ? `What was saved at ${at} is in the file.` : "Nothing was changed.";
      place.replaceChildren(`${this.gone} ${what} Start raglift labels review again, and open its new address.`);
    } else if (unsaved) {
      place.replaceChildren(`Not saved (${plural(unsaved, "query", "queries")}): found ${visible(problem)}. `, button("Try again", () => this.act(() => this.save())));
    } else {
      place.replaceChildren(this.waiting ? "Saving…" : at ? `Saved ${at}` : "No change yet");
    }
  },

  help() {
    const dialog = document.getElementById("help");
    if (dialog.open) return dialog.close();
    dialog.replaceChildren(...helpContent(this.highest, () => dialog.close()));
    dialog.showModal();
  },
};
