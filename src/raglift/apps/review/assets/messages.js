// What the page reports: progress, what is saved, what other tabs did. Methods of the review.

const POLL = 1500;
const POLL_HIDDEN = 6000;

const MESSAGES = {
  tell(text) {
    const place = document.getElementById("message");
    if (place.textContent !== text) place.textContent = text;
    place.hidden = !text;
  },

  tellProgress() {
    const [judged, pairs, done] = this.queries.reduce(
      ([a, b, c], query) => [a + query.judged, b + query.chunks, c + query.done], [0, 0, 0]);
    const bar = document.getElementById("progress");
    bar.max = Math.max(1, pairs);
    bar.value = judged;
    document.getElementById("progress-text").replaceChildren(
      `${whole(judged)} of ${plural(pairs, "pair")}`,
      element("span", { class: "and-queries" }, `, ${whole(done)} of ${plural(this.queries.length, "query", "queries")}`));
  },

  tellSaving() {
    const place = document.getElementById("saving");
    const { at, unsaved, problem, changed_meanwhile: changed } = this.saving;
    const said = JSON.stringify([this.gone, waiting > 0, this.saving]);
    if (place.dataset.said === said) return;
    place.dataset.said = said;
    place.classList.toggle("bad", Boolean(this.gone || unsaved));
    if (this.restarted) {
      place.replaceChildren(`${this.gone} `, button("Load it again", () => location.reload()));
    } else if (this.gone) {
      const kept = unsaved ? "Some changes are not saved: see its terminal." : at ? `What was saved at ${at} is in the file.` : "Nothing was changed.";
      place.replaceChildren(`${this.gone} ${kept} Start raglift labels review again, and open its new address.`);
    } else if (unsaved) {
      place.replaceChildren(`Not saved (${plural(unsaved, "query", "queries")}): found ${visible(problem)}. `, changed
        ? button("Take in its changes, and save", () => this.store("/api/take-in"))
        : button("Try again", () => this.store("/api/save")));
    } else {
      place.replaceChildren(waiting ? "Saving…" : at ? `Saved ${at}` : "No change yet");
    }
  },

  store(path) {
    return inLine(async () => {
      try {
        const { saving, told } = await ask(path, {});
        this.saving = saving;
        if (told) this.tell(`${told[0].toUpperCase()}${told.slice(1)}.`);
        await this.lookAround();
      } catch (error) {
        this.trouble(error);
      }
    }).finally(() => this.tellSaving());
  },

  async lookAround() {
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
  },

  async poll() {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, document.hidden ? POLL_HIDDEN : POLL));
      // In line, so that what is on its way is not taken for someone else's
      await inLine(() => this.lookAround().catch((error) => this.trouble(error)), true);
    }
  },

  help() {
    const dialog = document.getElementById("help");
    if (dialog.open) return dialog.close();
    dialog.replaceChildren(...helpContent(this.highest, () => dialog.close()));
    dialog.showModal();
  },
};
