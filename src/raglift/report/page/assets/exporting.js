// The queries of the list as a file: for a spreadsheet, or for a program.

function exported(data, state, queries) {
  const views = [...new Set([state.left, state.right])];
  return queries.map((query) => ({
    id: query.id,
    question: query.text,
    tags: query.tags,
    outcomes: [...query.outcomes],
    rankings: views.map((view) => ({
      name: data.views[view].title,
      metrics: Object.fromEntries(data.metrics.map((name, metric) => [name, valueOf(query, metric, view)])),
      fact_ranks: query.views[view].facts,
      ...(runsOf(data, query, view).length ? { calls: callsOf(data, query, view), fact_calls: query.views[view].found_by, fact_outcomes: runsOf(data, query, view)[0].outcomes } : {}),
    })),
  }));
}

function asCsv(rows) {
  if (!rows.length) return "";
  const metrics = rows[0].rankings.flatMap(({ name, metrics: values }) => Object.keys(values).map((metric) => `${name} ${metric}`));
  const lines = [["query", "question", "tags", "outcomes", ...metrics].map(csvText)];
  for (const { id, question, tags, outcomes, rankings } of rows) {
    const values = rankings.flatMap(({ metrics: found }) => Object.values(found));
    lines.push([csvText(id), csvText(question), csvText(tags.join("; ")), csvText(outcomes.join("; ")), ...values.map((value) => value ?? "")]);
  }
  return lines.map((line) => `${line.join(",")}\r\n`).join("");
}

// A cell of text. What a spreadsheet would take for a formula begins with an apostrophe.
function csvText(text) {
  const harmless = /^[\s]*[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

function download(name, type, content) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// Whether a text was put on the clipboard; older ways first fail where the page is not allowed to.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = element("textarea", { class: "visually-hidden", "aria-hidden": "true" });
    box.value = text;
    document.body.append(box);
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    return done;
  }
}
