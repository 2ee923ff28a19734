// What a setting comes to: a sentence, figures, the table, losses, the curve, the questions that change, and what is needed.

const NEEDED = { k: "hits read (k)", tokens: "tokens of the prompt", candidates: "candidates of the reranker" };
const LOSSES = ["found", "below_k", "dropped", "not_retrieved", "missed", "not_attainable", "failed"];

// A measure of what is read of the prompt, character by character, and not of hits.
function isRead({ name }) {
  return name === "recall_area" || name === "prompt_recall";
}

function titleAt(metric, { k, tokens }) {
  if (isRead(metric)) return `${metric.title} ${whole(tokens ?? metric.tokens)} tokens`;
  if (metric.name === "context_tokens") return "Tokens sent";
  return k === null ? metric.title : `${metric.title}@${k}`;
}

function percentOfAll(share) {
  return `${Number((100 * share).toPrecision(6))}%`;
}

function inBrackets(interval, show = figure) {
  return interval && !Number.isNaN(interval[0]) ? `[${show(interval[0])}, ${show(interval[1])}]` : "";
}

function finite(value) {
  return value === null || value === undefined || Number.isNaN(value) ? null : value;
}

function pText(p) {
  return finite(p) === null ? "–" : p < 0.001 ? "<0.001" : p.toFixed(3);
}

function pEquation(p) {
  return p < 0.001 ? "p < 0.001" : `p = ${pText(p)}`;
}

function figureOf({ name }, value) {
  return finite(value) === null ? "–" : name === "context_tokens" ? whole(Math.round(value)) : figure(value);
}

function signedOf({ name }, value) {
  if (finite(value) === null) return "–";
  return name === "context_tokens" ? (value > 0 ? "+" : value < 0 ? "\u2212" : "") + whole(Math.round(Math.abs(value))) : signed(value);
}

function resultsOf({ metrics, sides, focus, confidence }) {
  const between = sides.every(({ system }) => system === sides[0].system); // stages of one system
  const lead = element("p", { class: "lead" });
  const verdicts = element("p", { class: "what-if-verdict", role: "status" });
  const tiles = element("dl", { class: "tiles" });
  const table = element("div", { class: "scroll headline", role: "group", "aria-label": "What if, in figures", tabindex: 0 });
  const shares = element("section", { class: "shares", "aria-label": "Where the facts would end up" });
  const curve = element("div", { class: "what-if-curve" });
  const changed = element("p", { class: "what-if-questions" });
  let now = null;

  function show(setting, measure, result) {
    now = { setting, measure, result };
    lead.textContent = leadOf(now);
    verdicts.textContent = "";
    drawTiles();
    drawTable(null);
    drawShares();
    curve.replaceChildren(curveFigure(result.curves, setting));
    drawChanged();
  }

  function leadOf({ setting, measure, result }) {
    const [row, was] = [result, result.measured].map(({ rows }) => rows[measure].sides[focus]);
    const [name, before] = [titleAt(metrics[measure], setting), titleAt(metrics[measure], result.measured.setting)];
    const of = between ? "" : `${short(sides[focus].title, 60)}: `;
    if (!result.facts[focus].all) return "No question is left that counts.";
    if (finite(row.mean) === null) return `${of}${name} cannot be told from this page: the prompt is longer than was measured, or hits are in another order. Choose another measure.`;
    const { against } = result;
    const interval = inBrackets([against.low, against.high], signed);
    const isSame = against.wins + against.losses === 0;
    const change = isSame ? "the same for each question" : `${signed(against.mean)}${interval && ` ${interval}`}`;
    return `${of}${name} would be ${figure(row.mean)}; measured, ${before === name ? "it" : before} is ${figure(was.mean)} on these ${plural(was.n, "question")} (${change}).`;
  }

  function drawTiles() {
    const { setting, measure, result } = now;
    const shown = [...new Set([measure, ...metrics.keys()])].filter((place) => place === measure || ["recall", "context_tokens"].includes(metrics[place].name));
    const tile = (label, value, was) => element("div", { class: "tile" }, element("dt", null, label), element("dd", { class: "value" }, value), element("dd", { class: "note" }, `measured: ${was}`));
    const mean = (place, { rows }) => figureOf(metrics[place], rows[place].sides[focus].mean);
    const facts = ({ facts: of }) => `${whole(of[focus].found)} of ${whole(of[focus].all)}`;
    tiles.replaceChildren(
      ...shown.map((place) => tile(titleAt(metrics[place], setting), mean(place, result), mean(place, result.measured))),
      tile("Facts found", facts(result), facts(result.measured)),
    );
  }

  function drawTable(tests) {
    const { setting, measure, result } = now;
    const cell = (value, interval, kind = "") => element("td", { class: `number ${kind}` }, element("span", { class: "figures" }, element("span", null, value), interval ? element("span", { class: "interval" }, interval) : null));
    const name = (text) => element("th", { scope: "row", class: "words" }, element("span", { dir: "auto" }, short(text, 120)));
    const isCost = (place) => metrics[place].name === "context_tokens";
    const of = (place, side) => {
      const { mean, interval } = result.rows[place].sides[side];
      return cell(figureOf(metrics[place], mean), isCost(place) ? "" : inBrackets(interval));
    };
    const test = (place, side) => {
      const [one, tested] = [result.rows[place].differences[side - 1], tests?.[place][side - 1]];
      if (!one?.n) return [cell("–"), cell(""), cell("")];
      const show = (value) => signedOf(metrics[place], value);
      if (isCost(place)) return [cell(show(one.mean)), cell(""), cell("")];
      const kind = !tested?.exploratory && ["better", "worse"].includes(tested?.verdict) ? tested.verdict : "";
      const decided = tested?.exploratory ? cell("exploratory", "", "muted") : cell(tested?.verdict ?? "", "", kind);
      return [cell(show(one.mean), inBrackets([one.low, one.high], show), kind), cell(tests ? pText(tested.p) : "…"), decided];
    };
    const told = [...metrics.keys()].filter((place) => result.rows[place].sides.some(({ n }) => n));
    const rows = between
      ? told.map((place) => [name(titleAt(metrics[place], setting)), ...sides.map((_, side) => of(place, side)), ...(sides.length > 1 ? test(place, sides.length - 1) : [])])
      : sides.map(({ title }, side) => [name(title), of(measure, side), ...(side ? test(measure, side) : [cell(""), cell(""), cell("baseline", "", "muted")]), of(metrics.length - 1, side)]);
    const titles = between
      ? ["metric", ...sides.map(({ title }) => title), ...(sides.length > 1 ? ["lift", "p", ""] : [])]
      : ["system", titleAt(metrics[measure], setting), "difference", sides.length > 2 ? "p (Holm)" : "p", "", "tokens"];
    const head = element("thead", null, element("tr", null, titles.map((title, n) => element("th", { scope: "col", class: n ? "number" : "words" }, title))));
    table.replaceChildren(element("table", null, element("caption", null, `What if, with ${percentOfAll(confidence)} intervals`), head, element("tbody", null, rows.map((row) => element("tr", null, row)))));
  }

  function drawShares() {
    const { losses } = now.result;
    const outcomes = LOSSES.filter((outcome) => losses[outcome]);
    const all = outcomes.reduce((sum, outcome) => sum + losses[outcome], 0);
    let x = 0;
    const bars = outcomes.map((outcome) => {
      const width = (1000 * losses[outcome]) / all;
      x += width;
      return element("svg:rect", { class: `outcome ${outcome}`, x: x - width, y: 0, width, height: 10 });
    });
    const line = (outcome) => element("li", null, element("span", { class: `outcome ${outcome}`, "aria-hidden": "true" }), element("strong", { class: "number" }, whole(losses[outcome])), ` ${FATES[outcome]}`);
    shares.replaceChildren(
      element("h3", null, `Where the ${plural(all, "fact")} would end up`),
      element("svg:svg", { viewBox: "0 0 1000 10", preserveAspectRatio: "none", "aria-hidden": "true" }, bars),
      element("ul", null, outcomes.map(line)),
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
    const { measure, result } = now;
    const other = focus || 1;
    const one = tests[measure][other - 1];
    if (!one?.n) return;
    const [from, to] = [0, other].map((side) => figure(result.rows[measure].sides[side].mean));
    const [base, system] = [0, other].map((side) => short(sides[side].title, 80));
    const tail = `${between ? `${titleAt(metrics[measure], now.setting)} from ${from} to ${to}, ` : ""}${pEquation(one.p)}${one.exploratory ? ", exploratory" : ""}`;
    const did = { better: "would help", worse: "would hurt" }[one.verdict];
    if (between) verdicts.textContent = `The reranker ${did ?? "would make no clear difference"}: ${tail}.`;
    else if (!one.exploratory && one.verdict === "not comparable by size") verdicts.textContent = `${system} and ${base} are ${one.verdict}: more hits could turn the verdict.`;
    else verdicts.textContent = did ? `${system} would be ${one.verdict} than ${base}: ${tail}.` : `No clear difference between ${system} and ${base}: ${tail}.`;
  }

  return { parts: [lead, verdicts, tiles, table, shares, curve, changed], show, test };
}

// Recall over the tokens that are read: as measured, and by the setting.
const CURVE = { width: 640, height: 200, left: 44, right: 12, top: 10, bottom: 36 };
function curveFigure([before, after], setting) {
  const last = Math.max(1, ...[before, after].map((points) => points.at(-1)?.[0] ?? 0)) * 1.02;
  const [wide, high] = [CURVE.width - CURVE.left - CURVE.right, CURVE.height - CURVE.top - CURVE.bottom];
  const x = (tokens) => (CURVE.left + (wide * Math.min(tokens, last)) / last).toFixed(1);
  const y = (recall) => (CURVE.top + high * (1 - recall)).toFixed(1);
  const line = (points, kind, end = last) => element("svg:path", { class: kind, d: `M${x(0)} ${y(0)}${points.map(([tokens, recall]) => `H${x(tokens)}V${y(recall)}`).join("")}H${x(end)}` });
  const rails = [0, 0.5, 1].flatMap((share) => [
    element("svg:line", { class: "rail", x1: CURVE.left, x2: CURVE.width - CURVE.right, y1: y(share), y2: y(share) }),
    element("svg:text", { x: CURVE.left - 6, y: Number(y(share)) + 4, "text-anchor": "end" }, `${share * 100}%`),
  ]);
  const step = 10 ** Math.floor(Math.log10(last)) / (last / 10 ** Math.floor(Math.log10(last)) < 3 ? 2 : 1);
  const ticks = Array.from({ length: Math.floor(last / step) + 1 }, (_, n) => n * step);
  const marks = ticks.map((tokens) => element("svg:text", { x: x(tokens), y: CURVE.height - 18, "text-anchor": "middle" }, whole(tokens)));
  const isCut = setting.tokens !== null && setting.tokens < last;
  const budget = isCut ? [element("svg:line", { class: "budget", x1: x(setting.tokens), x2: x(setting.tokens), y1: CURVE.top, y2: CURVE.height - CURVE.bottom }),
    element("svg:text", { x: Number(x(setting.tokens)) + 4, y: CURVE.top + 10 }, `≤ ${whole(setting.tokens)}`)] : [];
  const end = (points) => figure(points.at(-1)?.[1] ?? 0);
  return element("figure", { class: "step-chart wide" },
    element("figcaption", null, "Recall by tokens that are read: ", element("span", { class: "key-after" }, "what if"), " and, dashed, as measured"),
    element("svg:svg", { viewBox: `0 0 ${CURVE.width} ${CURVE.height}`, role: "img", "aria-label": `Recall by tokens that are read: up to ${end(after)} by this setting, ${end(before)} as measured` },
      rails, marks, element("svg:text", { x: CURVE.width - CURVE.right, y: CURVE.height - 3, "text-anchor": "end" }, "tokens"),
      line(after, "way", isCut ? setting.tokens : last), line(before, "way before"), budget));
}

// What would be needed for a goal: the least k, prompt and candidates.
function needsOf({ metrics, limit, whyNotFewer, reranks, depth, confidence }, choose) {
  const rows = element("tbody");
  const said = element("p", { class: "needed-goal", role: "status" });
  const measures = metrics.map((metric, place) => [place, titleAt(metric, depth)]).filter((_, place) => metrics[place].name !== "context_tokens");
  const measure = choice("Measure", "if-goal-measure", measures, (value) => choose({ measure: Number(value) }));
  const kind = choice("Goal", "if-goal-kind", [["share", "% of measured"], ["mean", "a mean of"]], (value) => choose(value === "share" ? { share: true, least: 0.95 } : { share: false, least: 0.8 }));
  const least = element("input", { type: "number", id: "if-goal", min: 0, step: "any", oninput: () => {
    const [value, isShare] = [least.value === "" ? NaN : Number(least.value), kind.querySelector("select").value === "share"];
    const isGoal = isShare ? value >= 1 && value <= 100 : value >= 0;
    if (isGoal) return choose({ least: isShare ? value / 100 : value });
    rows.replaceChildren();
    said.textContent = isShare ? "Expected a number from 1 to 100." : "Expected a number of 0 or more.";
  } });
  const upTo = (first, last, step = 1) => Array.from({ length: Math.max(0, Math.floor((last - first) / step) + 1) }, (_, n) => first + n * step);
  const box = element("section", { class: "section what-if-need", "aria-labelledby": "if-need-heading" },
    element("h3", { id: "if-need-heading" }, "What would be needed"),
    element("p", null, `The least of each by itself, with the other settings as above: so that the mean reaches the goal, and so that the lower end of its ${percentOfAll(confidence)} interval does.`),
    element("div", { class: "controls" }, measure, kind, element("div", { class: "choice" }, element("label", { for: "if-goal" }, "At least"), least)),
    said,
    element("div", { class: "scroll", role: "group", "aria-label": "What would be needed", tabindex: 0 },
      element("table", null, element("thead", null, element("tr", null, ["the least number of", "by its mean", "by its interval"].map((title, n) => element("th", { scope: "col", class: n ? "number" : "words" }, title)))), rows)));
  const row = (name, cells) => element("tr", { "data-need": name }, element("th", { scope: "row", class: "words" }, NEEDED[name]), cells);
  const muted = (text) => element("td", { class: "number muted" }, text);
  return {
    element: box,
    place: (goal) => {
      measure.querySelector("select").value = goal.measure;
      kind.querySelector("select").value = goal.share ? "share" : "mean";
      const value = goal.share ? Math.round(goal.least * 1e4) / 100 : goal.least;
      if (Number(least.value) !== value || least.value === "") least.value = value;
    },
    wait: (dimensions) => rows.replaceChildren(...dimensions.map(({ name }) => row(name, [muted("…"), muted("…")]))),
    // At another k, a measure of the order is another measure: only what is found is asked for the least k
    dimensions: (setting, goal) => {
      const metric = metrics[goal.measure];
      const tokens = upTo(FINEST, limit.tokens - FINEST, FINEST);
      return [
        ...(["recall", "hit_rate"].includes(metric.name) ? [{ name: "k", values: upTo(1, Math.min(limit.k, setting.candidates ?? limit.k)) }] : []),
        { name: "tokens", values: isRead(metric) ? [...tokens, limit.tokens] : [...tokens, null] },
        ...(reranks && !whyNotFewer && !isRead(metric) ? [{ name: "candidates", values: [...upTo(setting.k ?? 1, limit.candidates - 1), null] }] : []),
      ];
    },
    show: ({ name, target, mean, sure, best, first }, goal) => {
      const numberOf = (value) => whole(value ?? limit[name]);
      const cell = (one) => {
        if (best === null) return muted("cannot be told");
        if (one === null) return muted(`not reached: ${figure(best.mean)} with ${numberOf(best.value)}`);
        const { value, change, interval } = one;
        const isFloor = name === "candidates" && value === first && value > 1;
        const figures = goal.share ? `${figure(one.mean)}, ${signed(change.mean)} ${inBrackets([change.low, change.high], signed)}` : `${figure(one.mean)} ${inBrackets(interval)}`;
        return element("td", { class: "number" }, element("span", { class: "figures" }, element("strong", null, `${numberOf(value)}${isFloor ? " or fewer" : ""}`), element("span", { class: "interval" }, figures)));
      };
      said.textContent = `Goal: ${titleAt(metrics[goal.measure], depth)} of at least ${target.toFixed(4)}${goal.share ? `, ${Math.round(goal.least * 1e4) / 100}% of what was measured on these questions` : ""}.`;
      rows.querySelector(`[data-need="${name}"]`)?.replaceWith(row(name, [cell(mean), cell(sure)]));
    },
  };
}
