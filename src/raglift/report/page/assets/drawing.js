// The charts: drawn one after the other as the page comes to rest, and again when the colours change.

const charts = [...document.querySelectorAll("[data-chart]")];
let round = 0;

function openQuery(name) {
  document.dispatchEvent(new CustomEvent("open-query", { detail: name }));
}

async function drawAll(dark) {
  round += 1;
  const mine = round;
  for (const chart of charts) {
    if (mine !== round) return;
    const spec = JSON.parse(document.getElementById(chart.dataset.chart).textContent);
    await window.raglift_show_chart(chart, spec, { dark, open: document.getElementById("query-data") ? openQuery : null });
    chart.dataset.drawn = dark ? "dark" : "light";
  }
}

function darkNow() {
  const chosen = document.documentElement.dataset.scheme;
  return chosen ? chosen === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
}

document.addEventListener("scheme", (event) => drawAll(event.detail.dark));
addEventListener("beforeprint", () => darkNow() && drawAll(false));
addEventListener("afterprint", () => darkNow() && drawAll(true));
drawAll(darkNow());
