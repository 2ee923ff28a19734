// The table of a comparison with another system as the baseline: each is on the page, and one is shown.

function chooseBaseline(place) {
  const first = place.querySelector(":scope > .scroll");
  const others = [...place.querySelectorAll(":scope > [data-baseline]")];
  const tables = new Map([[place.dataset.baseline, first], ...others.map((one) => [one.dataset.baseline, one])]);
  const show = (name) => tables.forEach((table, of) => { table.hidden = of !== name; });
  const names = [...tables.keys()];
  place.prepend(choice("Compared with", "baseline", names.map((name) => [name, name]), show));
}

chooseBaseline(document.getElementById("baselines"));
