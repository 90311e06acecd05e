// Curves over time, drawn by uPlot in the colours of the page.
import { html, useEffect, useRef, duration, short } from "/static/common.js";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function axis(values, size) {
  return {
    stroke: colour("--muted"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { show: false },
    font: "12px system-ui, sans-serif", values, size,
  };
}

function options(element, curves) {
  const series = curves.map(({ stroke, scale, width, fill, step }) => ({
    stroke: colour(stroke), width: width ?? 2, scale, points: { show: false },
    fill: fill ? `${colour(stroke)}22` : undefined,
    paths: step ? uPlot.paths.stepped({ align: -1 }) : undefined,
  }));
  const scales = [...new Set(curves.map((curve) => curve.scale))];
  return {
    width: element.clientWidth, height: 200, legend: { show: false }, padding: [10, 20, 0, 0],
    cursor: { show: false },
    scales: { x: { time: false }, ...Object.fromEntries(scales.map((name) => [name, { range: (_, low, high) => [0, Math.max(high, 1) * 1.08] }])) },
    axes: [
      axis((_, ticks) => ticks.map((tick) => duration(tick).replace(" min", "m").replace(" s", "s")), 28),
      ...scales.map((scale, place) => ({
        ...axis((_, ticks) => ticks.map(short), 46), scale, side: place ? 1 : 3,
        grid: { show: !place, stroke: colour("--grid") },
        stroke: scales.length > 1 ? colour(curves[place].stroke) : colour("--muted"),
      })),
    ],
    series: [{}, ...series],
  };
}

export function Chart({ label, data, curves }) {
  const element = useRef(null), plot = useRef(null), latest = useRef(data);
  latest.current = data;
  useEffect(() => {
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(element.current, curves), latest.current, element.current);
    };
    draw();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const observer = new ResizeObserver(() => plot.current.setSize({ width: element.current.clientWidth, height: 200 }));
    observer.observe(element.current);
    dark.addEventListener("change", draw);
    return () => { observer.disconnect(); dark.removeEventListener("change", draw); plot.current.destroy(); };
  }, []);
  useEffect(() => { plot.current?.setData(data); }, [data]);
  return html`<div class="chart" role="img" aria-label=${label} ref=${element}></div>`;
}

// The growth a second of a counter, over intervals of a hundredth of the whole time.
export function growth(seconds, values) {
  const least = Math.max(3, (seconds.at(-1) - seconds[0]) / 100);
  const times = [seconds[0]], rates = [0];
  let from = 0;
  for (let at = 1; at < seconds.length; at += 1) {
    const length = seconds[at] - seconds[from];
    if (length < least) continue;
    times.push(seconds[at]);
    rates.push(Math.max(0, (values[at] - values[from]) / length));
    from = at;
  }
  rates[0] = rates[1] ?? 0;
  return [times, rates];
}
