// Which chunk to judge next, and what the grades so far say. Methods of the review.

const NEXT = {
  paintNext() {
    const place = document.getElementById("next");
    place.hidden = !this.next;
    if (!this.next) return;
    const { figure, verdict, graded, pair } = this.next;
    const said = JSON.stringify(this.next);
    if (place.dataset.said === said) return;
    place.dataset.said = said;
    place.classList.toggle("decided", this.next.decided);
    place.replaceChildren(
      element("p", { role: "status" }, element("strong", { class: "number" }, visible(figure)), ` after ${plural(graded, "grade")}. `, visible(verdict)),
      pair ? button([element("kbd", null, "g"), " Judge next"], () => this.goNext(), { title: "The hit whose grade tells most" }) : "");
    this.measure();
  },

  isNext(number) {
    return Boolean(this.next?.pair) && this.next.pair[0] === this.detail.index && this.next.pair[1] === number;
  },

  async goNext() {
    if (!this.next) return;
    const { pair } = this.next;
    if (!pair) return this.tell("Every hit that matters has a grade.");
    const [query, chunk] = pair;
    if (this.detail?.index !== query) await this.open(query);
    if (this.detail?.index === query) this.stand(chunk, true);
  },

  // What the server says now; goes on to what is to be judged next where that has changed
  takeNext(next, follows = false) {
    const before = JSON.stringify(this.next?.pair);
    this.next = next;
    this.paintNext();
    if (JSON.stringify(next?.pair) === before) return;
    if (this.detail) this.paintCards(this.detail);
    if (follows && next?.pair) this.goNext();
  },
};
