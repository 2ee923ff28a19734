// Decisions: remembered in this browser until the page is another, and saved as a file with one JSON object on each line.

const decisions = document.getElementById("decisions");
const undecided = [...decisions.querySelectorAll("fieldset")];
const save = document.getElementById("save-decisions");
const KEY = `raglift decisions ${decisions.dataset.page}`;

// A page in a frame, or one whose reader allows no storage, remembers nothing.
function remembered() {
  try {
    return Object.entries(JSON.parse(localStorage.getItem(KEY)) ?? {});
  } catch {
    return [];
  }
}

function remember(chosen) {
  try {
    localStorage.setItem(KEY, JSON.stringify(chosen));
  } catch {
    return;
  }
}

function choicesOf(fieldset) {
  return [...fieldset.querySelectorAll("input")];
}

function tellDecided() {
  const decided = undecided.filter((fieldset) => fieldset.querySelector("input:checked")?.value).length;
  document.getElementById("decided").textContent = `${decided} of ${undecided.length} decided`;
  save.disabled = !decided;
}

function lineOf(fieldset) {
  const answer = fieldset.querySelector("input:checked")?.value;
  return answer ? `${JSON.stringify({ ...JSON.parse(fieldset.dataset.label), choose: JSON.parse(answer) })}\n` : "";
}

for (const [number, place] of remembered()) {
  const input = undecided[number] && choicesOf(undecided[number])[place];
  if (input) input.checked = true;
}
decisions.addEventListener("change", () => {
  const places = undecided.map((fieldset, number) => [number, choicesOf(fieldset).findIndex((input) => input.checked)]);
  remember(Object.fromEntries(places.filter(([, place]) => place >= 0)));
  tellDecided();
});
save.addEventListener("click", () => {
  const href = URL.createObjectURL(new Blob(undecided.map(lineOf), { type: "application/jsonl" }));
  element("a", { href, download: "decisions.jsonl" }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
});
save.hidden = false;
tellDecided();
