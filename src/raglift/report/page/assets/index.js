// Two runs that are ticked: the commands that compare them, to copy.

const QUOTED = /^[\w./@%+=:,-]+$/;

function quotedForShell(text) {
  return QUOTED.test(text) && !text.startsWith("-") ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

async function copiedText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

function tickedRuns(table) {
  const folder = document.getElementById("compare").dataset.folder;
  const panel = document.getElementById("compare");
  const head = table.tHead.rows[0];
  head.prepend(element("td", null));
  const boxes = [...table.tBodies[0].rows].map((row) => {
    const name = row.cells[0].textContent.trim();
    const box = element("input", { type: "checkbox", "aria-label": `Compare ${name}`, onchange: show });
    row.prepend(element("td", { class: "tick" }, box));
    return { box, name };
  });

  function command(text) {
    const copy = button("Copy", async () => {
      copy.textContent = (await copiedText(text)) ? "Copied" : "Not copied";
      setTimeout(() => (copy.textContent = "Copy"), 2500);
    }, { "aria-label": `Copy ${text}` });
    return element("p", { class: "command" }, element("code", { dir: "ltr" }, text), " ", copy);
  }

  function show() {
    const chosen = boxes.filter(({ box }) => box.checked).map(({ name }) => quotedForShell(folder ? `${folder}/${name}` : name));
    if (chosen.length < 2) {
      panel.replaceChildren(element("p", { class: "muted" }, chosen.length ? "Tick one more run to compare the two." : "Tick two runs to compare them."));
      return;
    }
    panel.replaceChildren(
      command(`raglift compare ${chosen.join(" ")}`),
      command(`raglift report ${chosen.join(" ")} --output compared.html`),
    );
  }
  show();
}

for (const table of document.querySelectorAll(".headline table")) tickedRuns(table);
