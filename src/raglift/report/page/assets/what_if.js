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
  const fails = (why) => panel.append(element("p", { role: "alert" }, `What if does not work in this browser: ${why}. It does in one of 2023 or later.`));
  worker.onerror = ({ message }) => fails(message ?? "it allows no worker");
  worker.onmessage = ({ data }) => {
    URL.revokeObjectURL(address);
    if (data.opened) whatIfOf(panel, worker, data.opened);
    else fails(data.trouble);
  };
  worker.postMessage({ packed: document.getElementById("what-if-data").textContent });
}

function whatIfOf(panel, worker, known) {
  const usual = usualOf(known);
  let chosen = { ...usual };
  let number = 0;
  let named = ""; // what the address names
  let changedLast = null;
  const results = element("div", { class: "what-if-results", hidden: true });
  const status = element("p", { class: "what-if-setting" });
  const trouble = element("p", { class: "error", role: "alert", hidden: true });
  const reset = button("Back to what was measured", () => {
    choose({ ...usual, goal: chosen.goal }, "reset");
    document.getElementById("if-k")?.focus();
  }, { hidden: true });
  const summary = panel.querySelector("summary .muted");
  const title = summary.textContent;
  const drawn = resultsOf(known);
  const needs = needsOf(known, (goal) => choose({ ...chosen, goal: { ...chosen.goal, ...goal } }, "goal"));
  const controls = settingControls(known, (changed, name) => choose({ ...chosen, ...changed }, name));
  results.append(...drawn.parts);
  panel.append(
    element("div", { class: "controls settings", role: "group", "aria-label": "What if" }, controls.elements, element("p", { class: "why-off wide" }, controls.limits)),
    trouble, element("div", { class: "what-if-head" }, status, reset), results, needs.element);

  // What is computed: no fewer candidates than hits that are read
  function setting() {
    const { candidates, k } = chosen;
    return { ...chosen, candidates: candidates === null ? null : Math.max(candidates, k ?? candidates) };
  }

  // `name` is the control that was used; null where the address says it
  function choose(wanted, name) {
    chosen = wanted;
    controls.place(setting());
    needs.place(chosen.goal);
    const words = inWords(usual, setting());
    const isUsual = SETTINGS.every((one) => chosen[one] === usual[one]);
    const isMeasured = !words.length;
    reset.hidden = results.hidden = isUsual;
    document.documentElement.toggleAttribute("data-what-if", !isUsual);
    const of = chosen.tag === null ? "" : `${isMeasured ? "As measured, of" : " Only"} questions tagged ${short(chosen.tag, 60)}.`;
    status.textContent = isMeasured ? of : `What if ${words.join("; ")}. Not what was measured.${of}`;
    status.classList.toggle("as-measured", isMeasured);
    summary.textContent = isUsual ? title : status.textContent;
    Object.assign(whatIf, { asked: written(chosen, usual), words: status.textContent });
    for (const view of ["summary", "queries"]) document.querySelector(`a[data-view='${view}']`)?.setAttribute("href", addressIn(view));
    if (name) {
      trouble.hidden = true;
      named = whatIf.asked;
      setAddress(addressIn("summary"), { back: name !== changedLast, view: "summary" });
    }
    changedLast = name;
    if (isUsual) tell({ fixed: [], broken: [], ranks: null });
    number += 1;
    const dimensions = needs.dimensions(setting(), chosen.goal);
    needs.wait(dimensions);
    worker.postMessage({ number, setting: setting(), measure: chosen.measure, goal: { ...chosen.goal, dimensions } });
  }

  function tell({ fixed, broken, ranks }) {
    Object.assign(whatIf, { fixed: new Set(fixed), broken: new Set(broken), ranks, firstFact: known.firstFact });
    document.dispatchEvent(new CustomEvent("what-if"));
  }

  worker.onmessage = ({ data }) => {
    if (data.number !== number) return;
    const isShown = !results.hidden;
    if (data.trouble) status.textContent = `The figures cannot be computed: ${data.trouble}`;
    if (data.result && isShown) {
      drawn.show(setting(), chosen.measure, data.result);
      tell(data.result);
    }
    if (data.tests && isShown) drawn.test(data.tests);
    if (data.need) needs.show(data.need, chosen.goal);
  };

  // The part of an address that says it: #summary?if=k:5,tokens:1500
  function addressIn(view) {
    return `#${view}${whatIf.asked ? `?if=${encodeURIComponent(whatIf.asked)}` : ""}`;
  }

  function follow() {
    const { name, asked } = addressed(location.hash);
    const wanted = asked.get("if") ?? "";
    if (number && (!["", "summary", "queries"].includes(name) || wanted === named)) return;
    named = wanted;
    panel.open ||= Boolean(wanted);
    const { found, unknown } = read(wanted, known);
    trouble.hidden = !unknown.length;
    trouble.textContent = `Not understood in the address: ${short(unknown.join(", "), 200)}`;
    choose(found, null);
  }

  addEventListener("hashchange", follow);
  follow();
}

function usualOf({ depth, metrics }) {
  const recall = metrics.findIndex(({ name }) => name === "recall");
  return { k: depth.k, tokens: depth.tokens, candidates: null, weight: null, grade: null, tag: null, measure: 0, goal: { measure: Math.max(0, recall), least: 0.95, share: true } };
}

// A setting in an address, as k:5,tokens:1500,tag:easy.
function written(chosen, usual) {
  const parts = SETTINGS.filter((name) => chosen[name] !== usual[name]).map((name) => [name, chosen[name] ?? "all"]);
  const { goal } = chosen;
  if (chosen.measure !== usual.measure) parts.push(["measure", chosen.measure]);
  if (goal.measure !== usual.goal.measure) parts.push(["of", goal.measure]);
  if (!goal.share) parts.push(["reach", goal.least]);
  else if (goal.least !== usual.goal.least) parts.push(["keep", Math.round(goal.least * 1e4) / 100]);
  return parts.map(([name, value]) => `${name}:${encodeURIComponent(String(value).toWellFormed())}`).join(",");
}

// What an address asks for, and what of it the page does not have.
function read(text, known) {
  const { tags, grades, limit, fuses, reranks, whyNotFewer, metrics } = known;
  const found = usualOf(known);
  const unknown = [];
  const isIn = (number, low, high) => number >= low && number <= high;
  const isWhole = (number, most) => Number.isInteger(number) && isIn(number, 1, most);
  for (const part of text.split(",").filter(Boolean)) {
    const [name, value = ""] = part.split(":");
    const number = value === "" ? NaN : Number(value);
    const tag = name === "tag" ? tags.find((one) => encodeURIComponent(one.toWellFormed()) === value || one === value) : undefined;
    if (name === "k" && isWhole(number, limit.k)) found.k = number;
    else if (name === "tokens" && (isWhole(number, limit.tokens) || value === "all")) found.tokens = value === "all" ? null : number;
    else if (name === "candidates" && isWhole(number, limit.candidates) && reranks && !whyNotFewer) found.candidates = number === limit.candidates ? null : number;
    else if (name === "weight" && isIn(number, 0, 1) && fuses) found.weight = number === 1 ? null : number;
    else if (name === "grade" && grades.includes(number)) found.grade = number === grades[0] ? null : number;
    else if (tag !== undefined) found.tag = tag;
    else if (name === "measure" && isIn(number, 0, metrics.length - 1)) found.measure = Math.floor(number);
    else if (name === "of" && isIn(number, 0, metrics.length - 1)) found.goal.measure = Math.floor(number);
    else if (name === "keep" && isIn(number, 1, 100)) Object.assign(found.goal, { least: number / 100, share: true });
    else if (name === "reach" && number >= 0) Object.assign(found.goal, { least: number, share: false });
    else unknown.push(part);
  }
  return { found, unknown };
}

// What is supposed, in words; nothing where all is as it was measured.
function inWords(usual, setting) {
  const words = [];
  if (setting.k !== usual.k) words.push(setting.k === null ? "all hits were read" : `the first ${plural(setting.k, "hit")} ${setting.k === 1 ? "was" : "were"} read`);
  if (setting.tokens !== usual.tokens) words.push(setting.tokens === null ? "the prompt were of any size" : `the passages of a prompt had at most ${whole(setting.tokens)} tokens`);
  if (setting.candidates !== null) words.push(`the reranker got ${plural(setting.candidates, "candidate")}`);
  if (setting.weight !== null) words.push(`the order before and after reranking were fused, the reranker's with a weight of ${setting.weight.toFixed(2)}`);
  if (setting.grade !== null) words.push(`only passages of grade ${setting.grade} or more were evidence`);
  return words;
}

// The controls: sliders and choices, each with what it stands at.
function settingControls(known, choose) {
  const { limit, tags, grades, fuses, whyNotFewer, reranks, metrics, sides, isEstimated } = known;
  const made = [];
  const slider = (name, label, { min, max, step = 1, of, to, said, off = null }) => {
    if (min >= max && !off) return;
    const shown = element("output", { for: `if-${name}` });
    const change = () => choose({ [name]: to(Number(input.value)) }, name);
    const input = element("input", { type: "range", id: `if-${name}`, min, max, step, disabled: Boolean(off), "aria-describedby": off ? `if-${name}-why` : null, oninput: change });
    const place = (setting) => {
      const value = of(setting[name]);
      if (Number(input.value) !== value) input.value = value;
      shown.textContent = said(setting[name]);
      input.setAttribute("aria-valuetext", said(setting[name]));
    };
    made.push({ element: element("div", { class: `choice${off ? " off" : ""}` }, element("label", { for: `if-${name}` }, label, " ", shown), input, off ? element("p", { id: `if-${name}-why`, class: "why-off" }, off) : null), place });
  };
  const list = (name, label, options, to) => {
    const one = choice(label, `if-${name}`, options, (value) => choose({ [name]: to(value) }, name));
    made.push({ element: one, place: (setting) => (one.querySelector("select").value = setting[name] ?? "") });
  };
  const orAll = (to) => (value) => (value === "" ? null : to(value));
  if (sides.length > 1 && sides[0].system !== sides[1].system) list("measure", "Measure", metrics.map((metric, place) => [place, titleAt(metric, known.depth)]).filter((_, place) => metrics[place].name !== "context_tokens"), Number);
  slider("k", "Hits read (k)", { min: 1, max: limit.k, of: (k) => k ?? limit.k, to: Number, said: (k) => (k === null ? "all" : whole(k)) });
  slider("tokens", "Prompt, tokens", {
    min: FINEST, max: limit.tokens, step: FINEST, of: (tokens) => tokens ?? limit.tokens,
    to: (value) => (value >= limit.tokens ? null : value), said: (tokens) => (tokens === null ? "any" : `≤ ${whole(tokens)}`),
  });
  if (reranks) {
    slider("candidates", "Candidates", {
      min: 1, max: limit.candidates, of: (count) => count ?? limit.candidates, to: (value) => (value >= limit.candidates ? null : value),
      said: (count) => whole(count ?? limit.candidates),
      off: whyNotFewer && `Not known from the page: ${whyNotFewer}. raglift evaluate with --candidates measures it.`,
    });
  }
  if (fuses) {
    slider("weight", "Reranker's weight", {
      min: 0, max: 1, step: 0.05, of: (weight) => weight ?? 1, to: (value) => (value >= 1 ? null : value),
      said: (weight) => (weight === null ? "1" : weight.toFixed(2)),
    });
  }
  if (grades.length > 1) list("grade", "Least grade", [["", `${grades[0]} (all)`], ...grades.slice(1).map((grade) => [grade, grade])], orAll(Number));
  if (tags.length) list("tag", "Tag", [["", "All"], ...tags.slice(0, 200).map((tag) => [tag, short(tag, 60)])], orAll(String));
  const limits = `The page has up to ${plural(limit.k, "hit")} a question${reranks ? ", and no fewer candidates than hits are read" : ""}. More of them need a run: raglift evaluate with --candidates.${isEstimated ? " Tokens are estimated, as a quarter of the characters." : ""}`;
  return { elements: made.map((one) => one.element), limits, place: (setting) => made.forEach((one) => one.place(setting)) };
}

prepareWhatIf();
