// Small line charts of a share that grows in steps, from 0 to 1: drawn without a library, one for each query.

const CHART = { width: 260, height: 96, left: 42, right: 10, top: 8, bottom: 20 };

// `points` are pairs of a place and the share from there on; `said` is the chart in words.
function stepChart(title, points, last, said, ticks) {
  const inner = [CHART.width - CHART.left - CHART.right, CHART.height - CHART.top - CHART.bottom];
  const x = (place) => CHART.left + (inner[0] * place) / Math.max(last, 1);
  const y = (share) => CHART.top + inner[1] * (1 - share);
  let path = `M${x(0)} ${y(0)}`;
  for (const [place, share] of points) path += `H${x(place).toFixed(1)}V${y(share).toFixed(1)}`;
  path += `H${x(last).toFixed(1)}`;
  const line = (share) => element("svg:line", { class: "rail", x1: CHART.left, x2: CHART.width - CHART.right, y1: y(share), y2: y(share) });
  const label = (share) => element("svg:text", { x: CHART.left - 6, y: y(share) + 4, "text-anchor": "end" }, `${share * 100}%`);
  const mark = (tick, n) => element("svg:text", { x: x(tick), y: CHART.height - 5, "text-anchor": n && tick === last ? "end" : "middle" }, whole(tick));
  return element("figure", { class: "step-chart" },
    element("figcaption", null, title),
    element("svg:svg", { viewBox: `0 0 ${CHART.width} ${CHART.height}`, role: "img", "aria-label": said },
      [0, 0.5, 1].map(line), [0, 0.5, 1].map(label), ticks.map(mark),
      element("svg:path", { class: "way", d: path }),
      points.map(([place, share]) => element("svg:circle", { cx: x(place), cy: y(share), r: 3 }))),
  );
}

function percentOf(share) {
  return `${Math.round(100 * share)}%`;
}
