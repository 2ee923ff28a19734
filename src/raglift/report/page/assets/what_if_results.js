// What a setting comes to: a sentence, figures, the table, losses, the curve, the questions that change, and what is needed.

const NEEDED = { k: "hits that are read", tokens: "tokens of the prompt", candidates: "candidates of the reranker" };
const LOSSES = ["found", "below_k", "dropped", "not_retrieved", "missed", "not_attainable", "failed"];

// A measure of what is read of the prompt, character by character, and not of hits.
function isRead({ name }) {
  return name === "recall_area" || name === "prompt_recall";
}

function titleAt(metric, setting) {
  if (isRead(metric)) return `${metric.title} ${whole(setting.tokens ?? metric.tokens)} tokens`;
  if (metric.name === "context_tokens") return "Tokens sent";
  return setting.k === null ? metric.title : `${metric.title}@${setting.k}`;
}

function inBrackets(interval, show = figure) {
  return interval && !Number.isNaN(interval[0]) ? `[${show(interval[0])}, ${show(interval[1])}]` : "";
}

function finite(value) {
  return value === null || Number.isNaN(value) ? null : value;
}

function pText(p) {
  return p === null || p === undefined || Number.isNaN(p) ? "–" : p < 0.001 ? "<0.001" : p.toFixed(3);
}

function pEquation(p) {
  return p < 0.001 ? "p < 0.001" : `p = ${pText(p)}`;
}

function resultsOf(page, goal, ask) {
  const { metrics, sides, focus, measured } = page;
  const between = sides.every(({ system }) => system === sides[0].system); // stages of one system
  const lead = element("p", { class: "lead" });
  const verdicts = element("p", { class: "what-if-verdict" });
  const tiles = element("dl", { class: "tiles" });
  const table = element("div", { class: "scroll headline", role: "group", "aria-label": "What if, in figures", tabindex: 0 });
  const shares = element("section", { class: "shares", "aria-label": "Where the facts would end up" });
  const curve = element("div", { class: "what-if-curve" });
  const changed = element("p", { class: "what-if-questions" });
  const needs = needsOf(page, goal, ask);
  let now = null;

  function show(setting, measure, result) {
    now = { setting, measure, result };
    drawLead();
    verdicts.textContent = "";
    drawTiles();
    drawTable(null);
    drawShares();
    curve.replaceChildren(curveFigure(result.curves, setting));
    drawChanged();
  }

  function drawLead() {
    const { setting, measure, result } = now;
    const [row, was] = [result, measured].map(({ rows }) => rows[measure].sides[focus]);
    const { against } = result;
    const of = between ? "" : `${short(sides[focus].title, 60)}: `;
    if (result.unknown) {
      lead.textContent = `Not known from this page: of ${plural(result.unknown, "question")} the reranker returned too few of these candidates. raglift evaluate with --candidates ${setting.candidates} measures it.`;
      return;
    }
    if (finite(row.mean) === null) {
      const isLeft = result.facts[focus].all > 0;
      lead.textContent = isLeft ? `${of}${titleAt(metrics[measure], setting)} cannot be told from this page for hits in another order: choose another measure.` : "No question is left that counts.";
      return;
    }
    const name = titleAt(metrics[measure], setting);
    const others = row.n === was.n ? "" : ` on ${plural(row.n, "question")}`;
    const isSame = against.wins + against.losses === 0;
    const change = isSame ? "the same for each question" : [signed(against.mean), inBrackets([against.low, against.high], signed)].filter(Boolean).join(" ");
    lead.textContent = `${of}${name} would be ${figure(row.mean)}${others}. Measured: ${titleAt(metrics[measure], measured.setting)} ${figure(was.mean)}${others && ` on ${whole(was.n)}`} (${change}${others && ", on the same questions"}).`;
  }

  function drawTiles() {
    const { setting, measure, result } = now;
    const shown = metrics.map((metric, place) => ({ metric, place })).filter(({ metric, place }) => place === measure || ["recall", "hit_rate", "context_tokens"].includes(metric.name));
    const tile = (label, value, note) => element("div", { class: "tile" }, element("dt", null, label), element("dd", { class: "value" }, value), element("dd", { class: "note" }, note));
    const facts = result.facts[focus];
    tiles.replaceChildren(
      ...shown.map(({ metric, place }) => tile(titleAt(metric, setting), figureOf(metric, result.rows[place].sides[focus].mean), `measured: ${figureOf(metric, measured.rows[place].sides[focus].mean)}`)),
      tile("Facts found", `${whole(facts.found)} of ${whole(facts.all)}`, `measured: ${whole(measured.facts[focus].found)} of ${whole(measured.facts[focus].all)}`),
    );
  }

  function drawTable(tests) {
    const { setting, measure, result } = now;
    const head = (titles) => element("thead", null, element("tr", null, titles.map((title, n) => element("th", { scope: "col", class: n ? "number" : "words" }, title))));
    const cell = (value, interval, kind = "") => element("td", { class: `number ${kind}` }, element("span", { class: "figures" }, element("span", null, value), interval ? element("span", { class: "interval" }, interval) : null));
    const name = (text) => element("th", { scope: "row", class: "words" }, element("span", { dir: "auto" }, short(text, 120)));
    const of = (place, side) => {
      const { mean, interval } = result.rows[place].sides[side];
      return cell(figureOf(metrics[place], mean), metrics[place].name === "context_tokens" ? "" : inBrackets(interval));
    };
    const test = (place, side) => {
      const [one, tested] = [result.rows[place].differences[side - 1], tests?.[place][side - 1]];
      if (!one?.n) return [cell("–"), cell("–"), cell("")];
      const decided = place === measure && tested?.verdict ? tested.verdict : "";
      const kind = ["better", "worse"].includes(decided) ? decided : "";
      const show = (value) => signedOf(metrics[place], value);
      return [cell(show(one.mean), inBrackets([one.low, one.high], show), kind), cell(tests ? pText(tested.p) : "…"), cell(place === measure ? decided : "exploratory", "", place === measure ? kind : "muted")];
    };
    const rows = between
      ? metrics.map((metric, place) => [name(titleAt(metric, setting)), ...sides.map((_, side) => of(place, side)), ...(sides.length > 1 ? test(place, sides.length - 1) : [])])
      : sides.map(({ title }, side) => [name(title), of(measure, side), ...(side ? test(measure, side) : [cell(""), cell(""), cell("baseline", "", "muted")]), of(metrics.length - 1, side)]);
    const titles = between
      ? ["metric", ...sides.map(({ title }) => title), ...(sides.length > 1 ? ["lift", "p", ""] : [])]
      : ["system", titleAt(metrics[measure], setting), "difference", sides.length > 2 ? "p (Holm)" : "p", "", "tokens"];
    const isOpen = result.rows.some(({ sides: of }) => of.some(({ n }) => !n && result.facts[focus].all));
    const caption = `What if, with ${100 * page.confidence}% intervals${isOpen ? "; – cannot be told from this page for hits in another order, or for longer prompts than were measured" : ""}`;
    table.replaceChildren(element("table", null, element("caption", null, caption), head(titles), element("tbody", null, rows.map((row) => element("tr", null, row)))));
  }

  function drawShares() {
    const { losses } = now.result;
    const all = LOSSES.reduce((sum, outcome) => sum + (losses[outcome] ?? 0), 0);
    let x = 0;
    const bars = LOSSES.filter((outcome) => losses[outcome]).map((outcome) => {
      const width = (1000 * losses[outcome]) / all;
      x += width;
      return element("svg:rect", { class: `outcome ${outcome}`, x: x - width, y: 0, width, height: 10 });
    });
    shares.replaceChildren(
      element("h3", null, `Where the ${plural(all, "fact")} would end up`),
      element("svg:svg", { viewBox: "0 0 1000 10", preserveAspectRatio: "none", "aria-hidden": "true" }, bars),
      element("ul", null, LOSSES.filter((outcome) => losses[outcome]).map((outcome) => element("li", null, element("span", { class: `outcome ${outcome}`, "aria-hidden": "true" }), element("strong", { class: "number" }, whole(losses[outcome])), ` ${FATES[outcome]}`))),
    );
    shares.hidden = !all;
  }

  function drawChanged() {
    const { fixed, broken } = now.result;
    const link = (outcome, count, words) => (count ? element("a", { href: `#queries?outcome=${outcome}&if=${encodeURIComponent(whatIf.asked)}` }, `${plural(count, "question")} ${words}`) : `no question ${words}`);
    changed.replaceChildren("Against what was measured, ", link("newly_found", fixed.length, "would find a fact more"), " and ", link("newly_lost", broken.length, "would lose one"), ".");
  }

  function test(tests) {
    drawTable(tests);
    if (sides.length < 2 || now.result.unknown) return;
    const { measure, result } = now;
    const [one, base, other] = [tests[measure][Math.max(0, focus - 1)], sides[0].title, sides[focus || 1].title];
    if (!one.n) return;
    const means = `from ${figure(result.rows[measure].sides[0].mean)} to ${figure(result.rows[measure].sides[focus || 1].mean)}`;
    const did = { better: "would help", worse: "would hurt" }[one.verdict];
    verdicts.textContent = between
      ? did ? `The reranker ${did}: ${means}, ${pEquation(one.p)}.` : `The reranker would make no clear difference: ${means}, ${pEquation(one.p)}.`
      : did ? `${short(other, 80)} would be ${one.verdict} than ${short(base, 80)}: ${pEquation(one.p)}.` : `No clear difference between ${short(other, 80)} and ${short(base, 80)}: ${pEquation(one.p)}.`;
  }

  return { parts: [lead, verdicts, tiles, table, shares, curve, changed], needs: needs.element, show, clear: needs.clear, test, need: needs.show, dimensions: needs.dimensions };
}

function figureOf({ name }, value) {
  return finite(value) === null ? "–" : name === "context_tokens" ? whole(Math.round(value)) : figure(value);
}

function signedOf({ name }, value) {
  if (finite(value) === null) return "–";
  return name === "context_tokens" ? (value > 0 ? "+" : value < 0 ? "\u2212" : "") + whole(Math.round(Math.abs(value))) : signed(value);
}

// Recall over the tokens that are read: as measured, and by the setting.
const CURVE = { width: 640, height: 200, left: 44, right: 12, top: 10, bottom: 36 };
function curveFigure([before, after], setting) {
  const last = Math.max(1, ...[...before, ...after].map(([tokens]) => tokens)) * 1.02;
  const [wide, high] = [CURVE.width - CURVE.left - CURVE.right, CURVE.height - CURVE.top - CURVE.bottom];
  const x = (tokens) => (CURVE.left + (wide * Math.min(tokens, last)) / last).toFixed(1);
  const y = (recall) => (CURVE.top + high * (1 - recall)).toFixed(1);
  const line = (points, kind) => element("svg:path", { class: kind, d: `M${x(0)} ${y(0)}${points.map(([tokens, recall]) => `H${x(tokens)}V${y(recall)}`).join("")}H${x(last)}` });
  const rails = [0, 0.5, 1].flatMap((share) => [
    element("svg:line", { class: "rail", x1: CURVE.left, x2: CURVE.width - CURVE.right, y1: y(share), y2: y(share) }),
    element("svg:text", { x: CURVE.left - 6, y: Number(y(share)) + 4, "text-anchor": "end" }, `${share * 100}%`),
  ]);
  const step = 10 ** Math.floor(Math.log10(last));
  const ticks = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => (n * step) / (last / step < 3 ? 2 : 1)).filter((tokens) => tokens <= last);
  const marks = ticks.map((tokens) => element("svg:text", { x: x(tokens), y: CURVE.height - 18, "text-anchor": "middle" }, whole(tokens)));
  const budget = setting.tokens !== null && setting.tokens < last ? element("svg:line", { class: "budget", x1: x(setting.tokens), x2: x(setting.tokens), y1: CURVE.top, y2: CURVE.height - CURVE.bottom }) : null;
  const end = (points) => figure(points.at(-1)?.[1] ?? 0);
  return element("figure", { class: "step-chart wide" },
    element("figcaption", null, "Recall by tokens that are read: ", element("span", { class: "key-after" }, "what if"), ", ", element("span", { class: "key-before" }, "measured")),
    element("svg:svg", { viewBox: `0 0 ${CURVE.width} ${CURVE.height}`, role: "img", "aria-label": `Recall by tokens that are read: up to ${end(after)} by this setting, ${end(before)} as measured` },
      rails, marks, element("svg:text", { x: CURVE.width - CURVE.right, y: CURVE.height - 3, "text-anchor": "end" }, "tokens"), line(before, "way before"), line(after, "way"), budget));
}

// What would be needed for a goal: the least k, prompt and candidates.
function needsOf(page, goal, ask) {
  const { metrics, limit, takesFewer, reranks } = page;
  const rows = element("tbody");
  const least = element("input", { type: "number", id: "if-goal", min: 0, max: 100, step: 1, value: 95, oninput: () => set({}) });
  const kind = choice("Goal", "if-goal-kind", [["share", "% of what was measured"], ["mean", "a mean of"]], (value) => {
    Object.assign(least, value === "share" ? { value: 95, max: 100, step: 1 } : { value: 0.8, max: 1, step: 0.01 });
    set({ share: value === "share" });
  });
  const set = (changed) => {
    Object.assign(goal, changed);
    const value = Number(least.value);
    if (!(value >= 0) || least.value === "") return;
    goal.least = goal.share ? value / 100 : value;
    ask();
  };
  const upTo = (first, last, step = 1) => Array.from({ length: Math.max(0, Math.floor((last - first) / step) + 1) }, (_, n) => first + n * step);
  const box = element("section", { class: "section what-if-need", "aria-labelledby": "if-need-heading" },
    element("h3", { id: "if-need-heading" }, "What would be needed"),
    element("p", null, "For the measure above: the least of each by itself, with everything else as it is chosen."),
    element("div", { class: "controls" }, kind, element("div", { class: "choice" }, element("label", { for: "if-goal" }, "At least"), least)),
    element("div", { class: "scroll", role: "group", "aria-label": "What would be needed", tabindex: 0 },
      element("table", null, element("thead", null, element("tr", null, ["the least number of", "on average", "with its interval"].map((title, n) => element("th", { scope: "col", class: n ? "number" : "words" }, title)))), rows)));
  return {
    element: box,
    clear: () => rows.replaceChildren(),
    dimensions: (setting, measure) => {
      const ofOrder = !isRead(metrics[measure]); // what is read is looked at up to a number of tokens, in the order measured
      return [
        ...(ofOrder ? [{ name: "k", values: upTo(1, Math.min(limit.k, setting.candidates ?? limit.k)) }] : []),
        { name: "tokens", values: [...upTo(FINEST, limit.tokens - FINEST, FINEST), ofOrder ? null : limit.tokens] },
        ...(reranks && takesFewer && ofOrder ? [{ name: "candidates", values: [...upTo(setting.k ?? 1, limit.candidates - 1), null] }] : []),
      ];
    },
    show: ({ name, mean, sure }) => {
      const cell = (one) => {
        if (one === null) return element("td", { class: "number muted" }, "not reached");
        const { value, change, interval } = one;
        const figures = goal.share ? `${figure(one.mean)}, ${signed(change.mean)} ${inBrackets([change.low, change.high], signed)}` : `${figure(one.mean)} ${inBrackets(interval)}`;
        return element("td", { class: "number" }, element("span", { class: "figures" }, element("strong", null, whole(value ?? limit[name])), element("span", { class: "interval" }, figures)));
      };
      rows.append(element("tr", null, element("th", { scope: "row", class: "words" }, NEEDED[name]), cell(mean), cell(sure)));
    },
  };
}
