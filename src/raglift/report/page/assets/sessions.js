// A session: the searches of an agent in order, what each found, and what reached the final context.

const FIRST_OF_CALL = 3;
const MOST_CALLS = 50;

function sessionColumn(data, query, view, role, state, chooseRun) {
  const run = runOf(data, query, view, state);
  const title = element("h4", { dir: "auto" }, short(data.views[view].title, 80));
  const stage = stagesOf(data, view).indexOf(view);
  const timed = run.calls.filter(({ seconds }) => seconds !== undefined);
  const facts = [plural(run.calls.length, "search", "searches"), stage === run.views.length - 1 ? plural(run.all_tokens, "token") : "", timed.length ? secondsText(timed.reduce((sum, { seconds }) => sum + seconds, 0)) : ""];
  const calls = element("ol", { class: "calls" });
  fillCalls(calls, data, query, run, stage, role, MOST_CALLS);
  return element("div", { class: `column session ${role}` },
    element("div", { class: "column-head" }, title, element("p", { class: "muted count" }, facts.filter(Boolean).join(", "))),
    run.of > 1 ? runPicker(data, query, view, run, chooseRun) : null,
    run.error !== undefined ? element("p", { class: "error", dir: "auto" }, `This session failed: ${short(run.error, 600)}`) : null,
    query.facts.length && run.calls.length ? sessionCurves(query, run, stage) : null,
    run.calls.length ? calls : element("p", { class: "none" }, "No search was made."),
    finalContext(data, query, run, stage),
  );
}

function runPicker(data, query, view, run, chooseRun) {
  const buttons = runsOf(data, query, view).map(({ value, error }, n) =>
    element("button", { type: "button", class: "chip", "aria-pressed": String(n === run.number), onclick: () => chooseRun(n) },
      `Run ${n + 1}`, " ", element("span", { class: "number" }, error === undefined ? figure(value) : "failed")));
  return element("div", { class: "chips runs", role: "group", "aria-label": `Runs of this question, by ${data.metrics[data.primary]}` }, buttons);
}

function secondsText(seconds) {
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`;
}

// Recall after each search, and after the tokens that had been returned when each fact was found.
function sessionCurves(query, run, stage) {
  const { found_by: by = [] } = run.views[stage];
  const share = (count) => count / query.facts.length;
  const afterCall = run.calls.map((_, n) => [n + 1, share(by.filter((call) => call !== null && call <= n + 1).length)]);
  const few = run.calls.length <= 8 ? run.calls.map((_, n) => n + 1) : [1, run.calls.length];
  const charts = [stepChart("Recall after each search", afterCall, run.calls.length,
    `Recall after each search: ${afterCall.slice(0, 20).map(([call, value]) => `${percentOf(value)} after search ${call}`).join(", ")}`, few)];
  const last = run.views.length - 1;
  if (stage === last) {
    const found = run.tokens.filter((spent) => spent !== null).sort((one, other) => one - other);
    const rising = found.map((spent, n) => [spent, share(n + 1)]).filter(([spent], n) => spent !== found[n + 1]);
    const all = Math.max(run.all_tokens, found.at(-1) ?? 0);
    charts.push(stepChart("Recall by tokens read", rising, all,
      rising.length ? `Recall by tokens read: ${rising.slice(0, 20).map(([spent, value]) => `${percentOf(value)} after ${whole(spent)}`).join(", ")}, of ${whole(all)}` : `Nothing was found in ${plural(all, "token")}`,
      all > 0 ? [0, all] : [0]));
  }
  return element("div", { class: "step-charts" }, charts);
}

function fillCalls(list, data, query, run, stage, role, most) {
  const all = callHits(run.views[stage]);
  const before = stage > 0 ? callHits(run.views[0]) : null;
  list.replaceChildren(...run.calls.slice(0, most).map((call, n) => callItem(data, query, run, stage, n, all[n], before?.[n] ?? null, role)));
  if (run.calls.length > most) {
    list.append(element("li", { class: "none" }, button(`Show the other ${plural(run.calls.length - most, "search", "searches")}`, () => fillCalls(list, data, query, run, stage, role, run.calls.length))));
  }
}

// The hits of each call, with their ranks among the hits of that call.
function callHits({ hits, calls = [] }) {
  const found = calls.map(() => []);
  let [call, before] = [0, 0];
  for (const [rank, ...rest] of hits) {
    while (call < calls.length && rank > before + calls[call]) before += calls[call++];
    found[call]?.push([rank - before, ...rest]);
  }
  return found;
}

function callItem(data, query, run, stage, n, hits, before, role) {
  const call = run.calls[n];
  const { found_by: by = [], calls: counts = [] } = run.views[stage];
  const earlier = new Map(by.flatMap((found, fact) => (found !== null && found <= n ? [[fact, found]] : [])));
  const list = element("ol", { class: "hits" });
  const ranks = before && new Map(before.map(([rank, chunk]) => [chunk, rank]));
  const options = { earlier };
  const isFirst = ([rank, , , matches]) => rank <= FIRST_OF_CALL || matches.length;
  fillHits(list, data, query, hits, hits.filter(isFirst), ranks, "right", options);
  const dropped = before ? before.filter(([, chunk]) => !hits.some((hit) => hit[1] === chunk)) : [];
  return element("li", { class: "call" },
    element("div", { class: "call-head" },
      element("span", { class: "call-number", "aria-label": `Search ${n + 1}` }, String(n + 1)),
      element("q", { class: "searched", dir: "auto" }, short(call.query, 600))),
    element("p", { class: "about" }, callFacts(call, counts[n] ?? 0, stage === run.views.length - 1)),
    callArguments(call),
    call.error === undefined ? foundFacts(query, call, by, n) : element("p", { class: "error", dir: "auto" }, `This search failed: ${short(call.error, 600)}`),
    hits.length ? list : null,
    dropped.length ? droppedHits(data, query, dropped, role, earlier) : null,
  );
}

function callFacts(call, returned, isLast) {
  const parts = [
    call.tool ? element("bdi", { class: "id" }, short(call.tool, 80)) : null,
    element("span", null, plural(returned, "hit")),
    isLast ? element("span", null, plural(call.tokens, "token")) : null,
    call.seconds === undefined ? null : element("span", null, secondsText(call.seconds)),
    isLast && call.repeated ? element("span", { class: "repeated" }, `${percent(call.repeated)}% returned by an earlier search`) : null,
  ];
  return parts.filter(Boolean).flatMap((part, n) => (n ? [" · ", part] : [part]));
}

function callArguments({ arguments: given }) {
  if (!given?.length) return null;
  return element("dl", { class: "arguments" }, given.slice(0, 20).map(([name, value]) =>
    element("div", null, element("dt", { dir: "auto" }, short(name, 60)), element("dd", { dir: "auto" }, short(value, 200)))));
}

// What a call found first, and what had been found before.
function foundFacts(query, call, by, n) {
  if (!query.facts.length) return null;
  const isNew = by.flatMap((found, fact) => (found === n + 1 ? [fact] : []));
  const again = (call.again ?? []).filter((fact) => !isNew.includes(fact));
  const named = (facts, word, tone) => facts.length
    ? element("span", { class: tone }, facts.map((fact) => badge(fact)), ` ${word} fact ${facts.map((fact) => fact + 1).join(", ")}`)
    : null;
  const parts = [named(isNew, "newly found:", "news"), named(again, "found again:", "again")].filter(Boolean);
  return element("p", { class: "call-facts" }, parts.length ? parts : element("span", { class: "muted" }, "No fact found"));
}

function droppedHits(data, query, dropped, role, earlier) {
  const list = element("ol", { class: "hits" });
  const facts = [...new Set(dropped.flatMap(([, , , matches]) => matches.filter((match) => match[3]).map(([fact]) => fact)))];
  const holding = facts.length ? `, with fact ${facts.map((fact) => fact + 1).join(", ")}` : "";
  fillHits(list, data, query, dropped, dropped, null, role, { earlier, apart: true });
  return element("details", { class: "dropped-hits" },
    element("summary", null, `Dropped by the reranker: ${plural(dropped.length, "hit")}${holding}`), list);
}

// What reached the prompt of the answer: where each hit came from, and which facts that were found are missing.
function finalContext(data, query, run, stage) {
  const heading = element("h5", null, "Prompt of the answer");
  if (run.context === undefined) {
    return element("section", { class: "final-context" }, heading, element("p", { class: "muted" }, "It is not known what reached the prompt of the answer."));
  }
  const origin = new Map();
  callHits(run.views.at(-1)).forEach((hits, n) => {
    for (const [rank, chunk] of hits) if (!origin.has(chunk)) origin.set(chunk, `search ${n + 1}, rank ${rank}`);
  });
  const whence = ([, chunk]) => origin.get(chunk) ?? "of no search";
  const list = element("ol", { class: "hits" });
  fillHits(list, data, query, run.context, run.context, null, "right", { whence, apart: true });
  const out = run.outcomes.flatMap((fate, fact) => (fate === "left_out" ? [fact] : []));
  const { found_by: by = [], facts } = run.views[stage];
  return element("section", { class: "final-context" },
    element("div", { class: "column-head" }, heading, element("p", { class: "muted count" }, plural(run.context.length, "hit"))),
    out.length ? element("ul", { class: "left-out-facts", "aria-label": "Found and left out" }, out.map((fact) =>
      element("li", { class: "worse" }, badge(fact), ` Fact ${fact + 1} was found${by[fact] === null ? "" : ` by search ${by[fact]} at rank ${facts[fact]}`} and left out.`))) : null,
    run.context.length ? list : element("p", { class: "muted" }, "Nothing reached it."),
  );
}

// Where a fact stands in a session: the call that found it, and its rank there.
function standingInSession(run, stage, fact) {
  const { found_by: by = [], facts } = run.views[stage];
  return by[fact] === null || by[fact] === undefined ? "not found" : `search ${by[fact]}, rank ${facts[fact]}`;
}
