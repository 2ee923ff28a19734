// What if: controls beside the summary, and what the measures would be by them. What was measured stays as it is, is shown
// again when asked for, and is what is printed.

const SETTINGS = ["k", "tokens", "candidates", "weight", "grade", "tag"];
const FINEST = 50; // tokens from one prompt size to the next

// The panel starts when it is opened, or when an address names a setting.
function prepareWhatIf() {
  const panel = document.getElementById("what-if");
  if (!panel) return;
  const asks = () => Boolean(addressed(location.hash).asked.get("if"));
  let started = false;
  const start = () => {
    if (started) return;
    started = true;
    startWhatIf(panel);
  };
  panel.hidden = false;
  panel.addEventListener("toggle", () => panel.open && start());
  addEventListener("hashchange", () => asks() && start());
  if (asks()) start();
}

function startWhatIf(panel) {
  const source = document.getElementById("what-if-worker").textContent;
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const worker = new Worker(address);
  const fails = (why) => panel.append(element("p", { role: "alert" }, `What if cannot be told in this browser: ${why}. A browser of 2023 or later can.`));
  worker.onerror = ({ message }) => fails(message ?? "it allows no worker");
  worker.onmessage = ({ data }) => {
    URL.revokeObjectURL(address);
    if (data.opened) whatIfOf(panel, worker, data.opened);
    else fails(data.trouble);
  };
  worker.postMessage({ packed: document.getElementById("what-if-data").textContent });
}

function whatIfOf(panel, worker, known) {
  const usual = { k: known.depth.k, tokens: known.depth.tokens, candidates: null, weight: null, grade: null, tag: null };
  const goal = { least: 0.95, share: true };
  let measure = 0;
  let setting = { ...usual };
  let number = 0;
  let named = ""; // the setting that the address names
  const results = element("div", { class: "what-if-results", hidden: true });
  const status = element("p", { class: "what-if-setting", role: "status" });
  const reset = button("Back to what was measured", () => choose({ ...usual }, { said: true }), { hidden: true });
  const drawn = resultsOf(known, goal, () => ask());
  results.append(...drawn.parts);
  const measures = known.metrics.filter(({ name }) => name !== "context_tokens").map((metric, place) => [place, titleAt(metric, usual)]);
  const chooseMeasure = choice("Measure", "if-measure", measures, (value) => {
    measure = Number(value);
    choose(setting, { said: true });
  });
  const controls = settingControls(known, usual, (changed, said) => choose({ ...setting, ...changed }, { said }));
  panel.append(element("div", { class: "controls settings", role: "group", "aria-label": "What if" }, chooseMeasure, controls.elements, element("p", { class: "why-off wide" }, controls.limits)), element("div", { class: "what-if-head" }, status, reset), results, drawn.needs);

  function isMeasured() {
    return SETTINGS.every((name) => setting[name] === usual[name]);
  }

  function choose(wanted, { said = false } = {}) {
    setting = within(wanted);
    controls.place(setting);
    const measured = isMeasured();
    reset.hidden = results.hidden = measured;
    document.documentElement.toggleAttribute("data-what-if", !measured);
    status.textContent = measured ? "" : `What if: ${inWords(known, usual, setting)}. Not what was measured.`;
    whatIf.asked = written(setting, usual, measure && known.metrics[measure].name);
    for (const view of ["summary", "queries"]) linkTo(view);
    if (said) sayInAddress();
    if (measured) tell([], []);
    ask();
  }

  // A setting that the page can answer: no fewer candidates than hits that are read
  function within(wanted) {
    const k = wanted.k === null ? null : Math.min(wanted.k, known.limit.k);
    const candidates = wanted.candidates === null || wanted.candidates >= known.limit.candidates ? null : Math.max(wanted.candidates, k ?? 1);
    return { ...wanted, k, candidates };
  }

  function ask() {
    number += 1;
    worker.postMessage({ number, setting, measure, goal: { ...goal, dimensions: drawn.dimensions(setting, measure) } });
  }

  function tell(fixed, broken) {
    Object.assign(whatIf, { fixed: new Set(fixed), broken: new Set(broken) });
    document.dispatchEvent(new CustomEvent("what-if"));
  }

  worker.onmessage = ({ data }) => {
    if (data.number !== number) return;
    if (data.trouble) status.textContent = `It cannot be told: ${data.trouble}`;
    if (data.result) drawn.clear();
    if (data.result && !isMeasured()) {
      drawn.show(setting, measure, data.result);
      tell(data.result.fixed, data.result.broken);
    }
    if (data.tests && !isMeasured()) drawn.test(data.tests);
    if (data.need) drawn.need(data.need);
  };

  // The part of an address that says it: #summary?if=k:5,tokens:1500
  function sayInAddress() {
    named = whatIf.asked;
    setAddress(addressIn("summary"), { back: true, view: "summary" });
  }

  function addressIn(view) {
    return `#${view}${whatIf.asked ? `?if=${encodeURIComponent(whatIf.asked)}` : ""}`;
  }

  function linkTo(view) {
    document.querySelector(`a[data-view='${view}']`)?.setAttribute("href", addressIn(view));
  }

  function follow() {
    const { name, asked } = addressed(location.hash);
    const wanted = asked.get("if") ?? "";
    if (!["", "summary", "queries"].includes(name) || wanted === named) return;
    named = wanted;
    panel.open ||= Boolean(wanted);
    const wantedMeasure = wanted.match(/^measure:(\w+)/)?.[1];
    measure = Math.max(0, known.metrics.findIndex((metric) => metric.name === wantedMeasure));
    chooseMeasure.querySelector("select").value = measure;
    choose(read(wanted, usual, known));
  }

  addEventListener("hashchange", follow);
  controls.place(setting);
  follow();
  ask();
}

// A setting in an address, as k:5,tokens:1500,tag:easy; the tag comes last and is taken as it is.
function written(setting, usual, measure) {
  const changed = SETTINGS.filter((name) => setting[name] !== usual[name]).map((name) => `${name}:${String(setting[name] ?? "all").toWellFormed()}`);
  return [...(measure ? [`measure:${measure}`] : []), ...changed].join(",");
}

function read(text, usual, { tags, grades, limit, fuses, takesFewer }) {
  const found = { ...usual };
  const tag = text.match(/(?:^|,)tag:(.*)$/s);
  if (tag) found.tag = tags.find((one) => one.toWellFormed() === tag[1]) ?? null;
  for (const part of (tag ? text.slice(0, tag.index) : text).split(",")) {
    const [name, value] = part.split(":");
    const number = Number(value);
    const isWhole = Number.isInteger(number) && number >= 1;
    if (name === "k" && isWhole) found.k = Math.min(number, limit.k);
    if (name === "tokens" && (isWhole || value === "all")) found.tokens = isWhole ? number : null;
    if (name === "candidates" && isWhole && takesFewer) found.candidates = number;
    if (name === "weight" && number >= 0 && number < 1 && fuses) found.weight = number;
    if (name === "grade" && grades.includes(number)) found.grade = number;
  }
  return found;
}

function inWords(known, usual, setting) {
  const words = [];
  if (setting.k !== usual.k) words.push(setting.k === null ? "all hits are read" : `the first ${plural(setting.k, "hit")} ${setting.k === 1 ? "is" : "are"} read`);
  if (setting.tokens !== usual.tokens) words.push(setting.tokens === null ? "a prompt of any size" : `a prompt of at most ${whole(setting.tokens)} tokens`);
  if (setting.candidates !== null) words.push(`the reranker gets ${plural(setting.candidates, "candidate")}`);
  if (setting.weight !== null) words.push(`its ranks are fused with those before, at a weight of ${setting.weight.toFixed(2)}`);
  if (setting.grade !== null) words.push(`only grades from ${setting.grade} count`);
  if (setting.tag !== null) words.push(`only questions tagged ${short(setting.tag, 60)}`);
  return words.join("; ");
}

// The controls: sliders and choices, each with what it stands at.
function settingControls(known, usual, choose) {
  const { limit, tags, grades, fuses, takesFewer, reranks } = known;
  const made = [];
  const slider = (name, label, { min, max, step = 1, of, to, said, off = null }) => {
    if (min >= max && !off) return;
    const shown = element("output", { for: `if-${name}` });
    const input = element("input", {
      type: "range", id: `if-${name}`, min, max, step, disabled: Boolean(off), "aria-describedby": off ? `if-${name}-why` : null,
      oninput: () => choose({ [name]: to(Number(input.value)) }, false), onchange: () => choose({ [name]: to(Number(input.value)) }, true),
    });
    const place = (setting) => {
      const value = of(setting[name]);
      if (Number(input.value) !== value) input.value = value;
      shown.textContent = said(setting[name]);
      input.setAttribute("aria-valuetext", said(setting[name]));
    };
    made.push({ element: element("div", { class: `choice${off ? " off" : ""}` }, element("label", { for: `if-${name}` }, label, " ", shown), input, off ? element("p", { id: `if-${name}-why`, class: "why-off" }, off) : null), place });
  };
  const list = (name, label, options, to) => {
    const one = choice(label, `if-${name}`, options, (value) => choose({ [name]: value === "" ? null : to(value) }, true));
    made.push({ element: one, place: (setting) => (one.querySelector("select").value = setting[name] ?? "") });
  };
  slider("k", "Hits that are read (k)", { min: 1, max: limit.k, of: (k) => k ?? limit.k, to: Number, said: (k) => (k === null ? "all" : whole(k)) });
  slider("tokens", "Prompt, in tokens", {
    min: FINEST, max: limit.tokens, step: FINEST, of: (tokens) => tokens ?? limit.tokens,
    to: (value) => (value >= limit.tokens ? null : value), said: (tokens) => (tokens === null ? "no limit" : `≤ ${whole(tokens)}`),
  });
  if (reranks) {
    const command = "raglift evaluate with --candidates measures it";
    slider("candidates", "Candidates of the reranker", {
      min: 1, max: limit.candidates, of: (count) => count ?? limit.candidates, to: (value) => (value >= limit.candidates ? null : value),
      said: (count) => whole(count ?? limit.candidates),
      off: takesFewer ? null : `Not known from the page: this reranker may score a hit by the others it gets. ${command}.`,
    });
  }
  if (fuses) {
    slider("weight", "Weight of the reranker's ranks", {
      min: 0, max: 1, step: 0.05, of: (weight) => weight ?? 1, to: (value) => (value >= 1 ? null : value),
      said: (weight) => (weight === null ? "1" : weight.toFixed(2)),
    });
  }
  if (grades.length > 1) list("grade", "Least grade that counts", [["", `${grades[0]} (all)`], ...grades.slice(1).map((grade) => [grade, grade])], Number);
  if (tags.length) list("tag", "Tag", [["", "All"], ...tags.slice(0, 200).map((tag) => [tag, short(tag, 60)])], String);
  const limits = `The page has ${plural(limit.k, "hit")} a question. More of them, or more candidates, need a run: raglift evaluate with --candidates.`;
  return { elements: made.map((one) => one.element), limits, place: (setting) => made.forEach((one) => one.place(setting)) };
}

prepareWhatIf();
