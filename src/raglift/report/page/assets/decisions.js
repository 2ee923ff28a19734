// Decisions: kept in the address, so that a reload restores them, and saved as a file with one JSON object on each line.

const decisions = document.getElementById("decisions");
const undecided = [...decisions.querySelectorAll("fieldset")];
const save = document.getElementById("save-decisions");

// The places of what is chosen; a page that was made again, with other decisions, takes nothing from an old address.
function chosenPlaces() {
  const { asked } = addressed(location.hash);
  return asked.get("page") === decisions.dataset.page ? (asked.get("chosen") ?? "").split(".") : [];
}

// Changes the address of the page, and those of its views, without loading anything; in a frame it may have to stay.
function setChosen(places) {
  const asked = `?page=${decisions.dataset.page}&chosen=${places.join(".")}`;
  for (const link of document.querySelectorAll("a[data-view]")) link.setAttribute("href", `#${link.dataset.view}${asked}`);
  try {
    history.replaceState(null, "", `#${shownView()}${asked}`);
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

// What was decided before the page was made comes first, so that one file has every decision.
function linesOf() {
  return [...JSON.parse(decisions.dataset.decided).map((one) => `${JSON.stringify(one)}\n`), ...undecided.map(lineOf)];
}

const places = chosenPlaces();
for (const [number, place] of places.entries()) {
  const input = place !== "" && undecided[number] && choicesOf(undecided[number])[place];
  if (input) input.checked = true;
}
if (places.length) setChosen(places);
decisions.addEventListener("change", () => {
  const chosen = undecided.map((fieldset) => choicesOf(fieldset).findIndex((input) => input.checked));
  setChosen(chosen.map((place) => (place < 0 ? "" : place)));
  tellDecided();
});
save.addEventListener("click", () => {
  const href = URL.createObjectURL(new Blob(linesOf(), { type: "application/jsonl" }));
  element("a", { href, download: "decisions.jsonl" }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
});
save.hidden = false;
tellDecided();
