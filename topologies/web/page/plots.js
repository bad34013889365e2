// Plots of a run's series over time, with a line where the cursor stands and what each curve has there, or where the
// mouse points. Drawn by BokehJS.

import {COLOURS, R, S, natural} from "./model.js";

const {Plotting, ColumnDataSource, Range1d, DataRange1d, BasicTicker} = Bokeh;
const MOST_POINTS = 1500;
const MOST_CURVES = 8;
const RESIZED_MS = 100;  // after which a plot has taken its new width
const LAST_S = 1;  // a curve's last value stands for so long: samples are half a second apart, and a run ends between two

const dash = number => number ? "dashed" : "solid";

/** At most MOST_POINTS of a curve's. */
function thinned(points) {
  const step = Math.ceil(points.length / MOST_POINTS);
  return step <= 1 ? points : points.filter((_, i) => i % step === 0 || i === points.length - 1);
}

function column(stream, index, scale = 1) {
  return stream.rows.filter(row => row[index] !== null && row[index] !== undefined).map(row => [row[0], row[index] * scale]);
}

/** Differences per second of a counter, over half a second. */
function slope(points, scale = 1) {
  const found = [];
  let first = 0;
  for (let i = 1; i < points.length; i++) {
    while (first < i - 1 && points[first][0] < points[i][0] - 0.5 - 1e-3) first++;
    const span = points[i][0] - points[first][0];
    if (span > 0) found.push([points[i][0], Math.max(points[i][1] - points[first][1], 0) / span * scale]);
  }
  return found;
}

/** What a curve has at a time, as the last of its points says; nothing before the first one and after the last. */
function valueAt(points, t) {
  let low = 0, high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= t + 1e-9) low = middle + 1; else high = middle;
  }
  return low && t <= points[points.length - 1][0] + LAST_S ? points[low - 1][1] : null;
}

function short(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  return Number.isInteger(value) || size >= 100 ? String(Math.round(value)) : value.toFixed(size >= 10 ? 1 : 2);
}

const label = (run, several, text) => several ? `${"AB"[run.number]} ${text}` : text;
const sessionName = (run, session) => run.scene.sessions.length > 1 ? `${session.protocol} ${session.id}` : session.protocol;

/** A plot: title, unit, and what it draws of a run: [name, points, colour number]. `picked` is a link's number. */
const PLOTS = [
  ["Rate", "Mbps", run => [
    ...run.scene.sessions.flatMap((session, i) => [
      [`${sessionName(run, session)} sent`, column(run.stream(`session-${session.id}`), S.rate, 1e-6), 2 * i],
      [`${sessionName(run, session)} goodput`, column(run.stream(`session-${session.id}`), S.goodput, 1e-6), 2 * i + 1]]),
    ...run.scene.flows.map((flow, i) => [`${flow.kind} to ${flow.destination}`, slope(column(run.stream(`flow-${i}`), 1), 8e-6), 6 + i])]],
  ["Window", "packets", run => [
    ...run.scene.sessions.map((session, i) => [sessionName(run, session), column(run.stream(`session-${session.id}`), S.cwnd), 2 * i]),
    ...run.scene.flows.map((flow, i) => [`${flow.kind} to ${flow.destination}`, column(run.stream(`flow-${i}`), 2), 6 + i])]],
  ["Queue", "packets", (run, picked) => queues(run, picked)],
  ["Losses", "packets so far", run => losses(run)],
  ["Feedback", "packets/s", run => [
    ...run.scene.sessions.map((session, i) => [`at the sender${run.scene.sessions.length > 1 ? ` of ${session.id}` : ""}`,
      slope(column(run.stream(`session-${session.id}`), S.feedback)), 2 * i]),
    ...switches(run)]],
];

function queues(run, picked) {
  const {rows} = run.stream("ports"), {links} = run.scene;
  let chosen = [];
  if (picked !== null) chosen = [picked];
  else {
    const most = new Float64Array(links.length);
    for (const row of rows) row[2].forEach((waiting, i) => { if (waiting > most[i]) most[i] = waiting; });
    chosen = [...most.keys()].filter(i => most[i] > 0).sort((a, b) => most[b] - most[a]).slice(0, 3);
  }
  return chosen.map((i, k) => [`${links[i].from} → ${links[i].to}`, rows.map(row => [row[0], row[2][i]]), k]);
}

function losses(run) {
  const found = [];
  run.scene.sessions.forEach((session, i) => {
    const stream = run.stream(`receivers-${session.id}`), curves = new Map();
    const of = run.scene.sessions.length > 1 ? ` (${sessionName(run, session)})` : "";
    for (const [at, said] of stream.rows)
      for (const [host, row] of Object.entries(said)) {
        if (row[R.lost] === null || row[R.lost] === undefined) continue;
        if (!curves.has(host)) curves.set(host, []);
        curves.get(host).push([at, row[R.lost]]);
      }
    const worst = [...curves].filter(([, points]) => points[points.length - 1][1] > 0)
      .sort(([a, one], [b, other]) => other[other.length - 1][1] - one[one.length - 1][1] || natural(a, b)).slice(0, 3);
    worst.forEach(([host, points], k) => found.push([`lost at ${host}${of}`, points, 3 * i + k]));
    const repairs = column(run.stream(`session-${session.id}`), S.repairs);
    if (repairs.some(([, count]) => count > 0)) found.push([`repairs sent${of}`, repairs, 6 + i]);
  });
  return found;
}

/** Feedback that reached each switch that merges. */
function switches(run) {
  const curves = new Map();
  for (const [at, name, counts] of run.stream("switches").rows) {
    if (!curves.has(name)) curves.set(name, []);
    curves.get(name).push([at, Object.values(counts).reduce((sum, n) => sum + n, 0)]);
  }
  return [...curves].filter(([, points]) => points[points.length - 1][1] > 0).map(([name, points], i) => [`arrived at ${name}`, slope(points), 3 + i]);
}

export class Plots {
  constructor(runs, element, onTime) {
    this.runs = runs;
    this.picked = null;
    this.pointed = null;  // the time where the mouse is
    this.t = 0;
    this.plots = PLOTS.map(([title, unit, curves]) => {
      const box = element.appendChild(Object.assign(document.createElement("div"), {className: "plot"}));
      const legend = box.appendChild(document.createElement("p"));
      const head = legend.appendChild(Object.assign(document.createElement("b"), {textContent: `${title}, ${unit}`}));
      const canvas = box.appendChild(Object.assign(document.createElement("div"), {className: "canvas"}));
      const range = new Range1d({start: 0, end: 1});
      const figure = Plotting.figure({sizing_mode: "stretch_both", toolbar_location: null, min_border: 3, min_border_bottom: 22, tools: "",
        x_range: range, y_range: new DataRange1d({start: 0, only_visible: true}), outline_line_color: null,
        background_fill_color: "#fff", border_fill_color: "#fff"});
      figure.xgrid.visible = false;
      for (const axis of [figure.xaxis, figure.yaxis]) Object.assign(axis, {major_label_text_font_size: "10px",
        axis_line_color: "#c4ccd4", major_tick_line_color: "#c4ccd4", minor_tick_line_color: null});
      figure.ygrid.grid_line_color = "#edf0f3";
      figure.min_border_left = 44;
      figure.yaxis.ticker = new BasicTicker({desired_num_ticks: 3});
      const [cursor, pointer] = ["cursor", "cursor pointer"].map(className =>
        canvas.appendChild(Object.assign(document.createElement("div"), {className})));
      const sources = Array.from({length: MOST_CURVES * runs.length}, (_, i) => {
        const source = new ColumnDataSource({data: {x: [], y: []}});
        const line = figure.line({x: {field: "x"}, y: {field: "y"}, source, line_width: 1.6, line_dash: dash(i >= MOST_CURVES ? 1 : 0)});
        return {source, line};
      });
      figure.on_event("tap", event => onTime(event.x));
      figure.on_event("mousemove", event => this.point(Math.min(Math.max(event.x, 0), range.end)));
      figure.on_event("mouseleave", () => this.point(null));
      const plot = {title, unit, curves, box, legend, head, range, cursor, pointer, sources, values: [], frame: null};
      new ResizeObserver(() => setTimeout(() => this.update(this.t), RESIZED_MS)).observe(canvas);
      Plotting.show(figure, canvas).then(view => { plot.frame = view.frame; });
      return plot;
    });
  }

  /** Draw the curves anew: to be called when rows have come, not with every picture. */
  refresh(end) {
    const several = this.runs.length > 1;
    for (const plot of this.plots) {
      plot.range.end = Math.max(end, 0.1);
      plot.legend.replaceChildren(plot.head);
      plot.values = [];
      let drawn = 0;
      this.runs.forEach((run, r) => {
        const curves = plot.curves(run, this.picked).filter(([, points]) => points.length > 1).slice(0, MOST_CURVES);
        for (let k = 0; k < MOST_CURVES; k++) {
          const {source, line} = plot.sources[r * MOST_CURVES + k], curve = curves[k];
          drawn += curve ? 1 : 0;
          const points = curve ? thinned(curve[1]) : [];
          if (!points.length && !source.data.x.length) continue;
          source.data = {x: points.map(p => p[0]), y: points.map(p => p[1])};
          if (!curve) continue;
          const colour = COLOURS[curve[2] % COLOURS.length];
          line.glyph.line_color = colour;
          const mark = document.createElement("span");
          mark.textContent = `${r ? "┄" : "—"} ${label(run, several, curve[0])}`;
          mark.style.color = colour;
          const value = mark.appendChild(document.createElement("output"));
          plot.legend.append(mark);
          plot.values.push({value, points: curve[1]});
        }
      });
      plot.box.hidden = !drawn && plot.title !== "Rate";
    }
  }

  point(at) {
    this.pointed = at;
    this.update(this.t);
  }

  /** Move the cursor, which is none of the plot's own, or all curves would be drawn anew. */
  update(t) {
    this.t = t;
    const at = this.pointed ?? t;
    for (const {title, unit, head, frame, range, cursor, pointer, values, box} of this.plots) {
      if (box.hidden || !frame) continue;
      const place = time => `translateX(${frame.bbox.left + frame.bbox.width * time / range.end}px)`;
      cursor.style.transform = place(t);
      pointer.style.transform = place(at);
      pointer.hidden = this.pointed === null;
      const words = [`${title}, ${unit}${this.pointed === null ? "" : ` at ${at.toFixed(2)} s`}`, ...values.map(({points}) => short(valueAt(points, at)))];
      [head, ...values.map(({value}) => value)].forEach((element, i) => {
        if (element.textContent !== words[i]) element.textContent = words[i];
      });
    }
  }
}
