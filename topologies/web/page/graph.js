// A run's network as a picture: nodes, links by use, queues, trees, faults, drawn by BokehJS; packets under way (dots.js).

import {Dots} from "./dots.js";
import {COLOURS, R, S, WINDOW_S, rate, reason} from "./model.js";

const {Plotting, ColumnDataSource, Range1d} = Bokeh;
const RAMP = [[0, [203, 211, 218]], [0.02, [150, 200, 155]], [0.5, [111, 191, 115]], [0.8, [242, 193, 78]], [1, [215, 38, 61]]];
const MOST_NAMES = 60;  // hosts' names, above which only switches have theirs
const FEEDBACK = "#e08a1e", CROSS = "#8a4fbf", BAD = "#d7263d";

/** The colour of a link in use, 0..1. */
function colour(use) {
  for (let i = 1; i < RAMP.length; i++) {
    if (use > RAMP[i][0]) continue;
    const [from, one] = RAMP[i - 1], [to, other] = RAMP[i], part = (use - from) / (to - from);
    const [r, g, b] = one.map((value, k) => Math.round(value + (other[k] - value) * part));
    return `#${((1 << 24) | (r << 16) | (g << 8) | b).toString(16).slice(1)}`;
  }
  return BAD;
}
const COLOUR_OF = Array.from({length: 101}, (_, i) => colour(i / 100));

/** Whether two columns say the same. */
const same = (one, other) => one.length === other.length && one.every((value, i) => value === other[i]);

const source = columns => new ColumnDataSource({data: Object.fromEntries(columns.map(name => [name, []]))});
const field = name => ({field: name});

export class Graph {
  constructor(run, element, onPick) {
    this.run = run;
    this.onPick = onPick;
    this.show = {};
    this.journey = [];  // [from, to] of a packet's way
    this.element = element;
    this.note = element.appendChild(Object.assign(document.createElement("div"), {className: "note"}));
    this.fault = element.appendChild(Object.assign(document.createElement("div"), {className: "fault"}));
    this.canvas = element.appendChild(Object.assign(document.createElement("div"), {className: "canvas"}));
    const {scene} = run;
    this.ringed = scene.ringed;
    this.large = scene.nodes.length > MOST_NAMES;
    this.scale = this.large ? Math.max(0.25, 0.55 * Math.min(1, 300 / scene.nodes.length)) : 1;  // of nodes
    this.named = scene.nodes.filter(node => node.kind !== "host").length <= MOST_NAMES;
    this.senders = new Map(scene.sessions.map((session, i) => [session.sender, COLOURS[i % COLOURS.length]]));
    this.sessionOf = new Map(scene.sessions.map((session, i) => [session.group, i]));
    const names = scene.nodes.map(node => node.name.length);
    this.nameRoom = this.ringed ? 30 : 140 + 7 * Math.max(...names);  // pixels right of the last column
    this.nameHalf = this.ringed ? 0 : 8 + 3.5 * Math.max(...names);  // and left of the first one, whose names are above its nodes
    this.figure = Plotting.figure({
      sizing_mode: "stretch_both", toolbar_location: null, min_border: 0, outline_line_color: null,
      x_range: new Range1d({start: -0.07, end: 1.2}), y_range: new Range1d({start: -0.07, end: 1.09}),
      x_axis_type: null, y_axis_type: null, tools: "pan,wheel_zoom,reset", active_scroll: "wheel_zoom",
      background_fill_color: "#ffffff", border_fill_color: "#ffffff", output_backend: "canvas",
    });
    this.figure.xgrid.visible = this.figure.ygrid.visible = false;
    this.sources = {
      trees: source(["x0", "y0", "x1", "y1", "colour", "width"]), links: source(["x0", "y0", "x1", "y1", "colour", "width"]),
      queues: source(["x0", "y0", "x1", "y1", "colour"]), logical: source(["x0", "y0", "x1", "y1", "cx", "cy", "colour"]),
      flows: source(["xs", "ys"]), journey: source(["x0", "y0", "x1", "y1"]),
      nodes: source(["x", "y", "marker", "size", "fill", "line", "width"]),
      wedges: source(["x", "y", "end", "colour"]), rings: source(["x", "y", "size"]),
      names: source(["x", "y", "text", "colour", "align", "dx", "dy", "baseline"]), crosses: source(["x", "y"]),
    };
    this.draw();
    this.place();
  }

  draw() {
    const f = this.figure, s = this.sources;
    const ends = {x0: field("x0"), y0: field("y0"), x1: field("x1"), y1: field("y1")};
    f.segment({...ends, source: s.trees, line_color: field("colour"), line_width: field("width"), line_alpha: 0.2, line_cap: "round"});
    f.segment({...ends, source: s.journey, line_color: "#ffb300", line_width: 10, line_alpha: 0.75, line_cap: "round"});
    f.multi_line({xs: field("xs"), ys: field("ys"), source: s.flows, line_color: CROSS, line_width: 2, line_dash: {value: [2, 5]}, line_alpha: 0.9});
    f.segment({...ends, source: s.links, line_color: field("colour"), line_width: field("width")});
    f.segment({...ends, source: s.queues, line_color: field("colour"), line_width: this.large ? 3 : 8});
    f.quadratic({x0: field("x0"), y0: field("y0"), x1: field("x1"), y1: field("y1"), cx: field("cx"), cy: field("cy"),
      source: s.logical, line_color: field("colour"), line_width: 1.2, line_dash: {value: [5, 4]}, line_alpha: 0.8});
    f.scatter({x: field("x"), y: field("y"), source: s.rings, size: field("size"), fill_color: null, line_color: BAD, line_width: 2.5, marker: "circle"});
    f.scatter({x: field("x"), y: field("y"), source: s.nodes, size: field("size"), marker: field("marker"), fill_color: field("fill"),
      line_color: field("line"), line_width: field("width")});
    const radius = pixels => ({value: pixels, units: "screen"});
    this.wedges = f.annular_wedge({x: field("x"), y: field("y"), source: s.wedges, start_angle: Math.PI / 2, end_angle: field("end"),
      inner_radius: radius(6 * this.scale), outer_radius: radius(10 * this.scale), direction: "clock", fill_color: field("colour"), line_color: null});
    f.scatter({x: field("x"), y: field("y"), source: s.crosses, size: 18, marker: "x", line_color: BAD, line_width: 4});
    this.names = f.text({x: field("x"), y: field("y"), text: field("text"), source: s.names, text_color: field("colour"), text_align: field("align"),
      x_offset: field("dx"), y_offset: field("dy"), text_font_size: "12px", text_baseline: field("baseline"),
      text_font: "system-ui, 'DejaVu Sans', sans-serif", background_fill_color: "#ffffff", background_fill_alpha: 0.75});
    f.on_event("tap", event => this.pick(event.x, event.y));
    Plotting.show(f, this.canvas);
    this.dots = new Dots(this.element, f.x_range, f.y_range);
    new ResizeObserver(() => { this.place(); if (this.state) this.update(this.t); }).observe(this.canvas);
  }

  /** The links' ends on the picture, a little to the right of the middle in each one's own direction. */
  place() {
    const width = Math.max(this.canvas.clientWidth, 50), height = Math.max(this.canvas.clientHeight, 50);
    const room = Math.min(this.nameRoom, width / 2);
    const left = Math.max(0.065 * (width - room), Math.min(this.nameHalf, width / 6)), unit = width - room - left;
    this.figure.x_range.start = -left / unit;
    this.figure.x_range.end = (width - left) / unit;
    this.perX = (this.figure.x_range.end - this.figure.x_range.start) / width;
    this.perY = (this.figure.y_range.end - this.figure.y_range.start) / height;
    this.fit(Math.min(1, this.gap() / 22));
    const apart = this.large ? 1.2 : 3.2 * this.fitted, keep = this.large ? 4 : 12 * this.fitted;
    this.ends = this.run.scene.links.map(({from, to}) => {
      const one = this.run.nodes.get(from), other = this.run.nodes.get(to);
      const dx = (other.x - one.x) / this.perX, dy = (other.y - one.y) / this.perY, length = Math.hypot(dx, dy) || 1;
      const [ux, uy] = [dx / length, dy / length], cut = Math.min(keep, length / 4);
      const at = (node, along) => [node.x + (ux * along + uy * apart) * this.perX, node.y + (uy * along - ux * apart) * this.perY];
      const [x0, y0] = at(one, cut), [x1, y1] = at(other, -cut);
      return {x0, y0, x1, y1, length};
    });
    this.placed = true;
  }

  /** Pixels from one host to the next in a column: in rings they are small as it is. */
  gap() {
    const columns = new Map();
    if (!this.ringed) for (const {kind, x, y} of this.run.scene.nodes) if (kind === "host") columns.set(x, [...columns.get(x) ?? [], y]);
    const gaps = [...columns.values()].flatMap(ys => ys.sort((one, other) => one - other).slice(1).map((y, i) => (y - ys[i]) / this.perY));
    return Math.min(Infinity, ...gaps.filter(gap => gap > 0));
  }

  /** Draw nodes and names at this part of their size, so that they do not lie on each other. */
  fit(part) {
    this.fitted = part;
    const {glyph} = this.wedges;
    glyph.inner_radius = {value: 6 * this.scale * part, units: "screen"};
    glyph.outer_radius = {value: 10 * this.scale * part, units: "screen"};
    this.names.glyph.text_font_size = {value: `${Math.max(8, Math.min(12, Math.round(20 * part)))}px`};
  }

  /** Show how things stood at `t`. */
  update(t) {
    const {run} = this, {scene} = run;
    this.t = t;
    const links = run.links(t), trees = run.trees(t), broken = run.broken(t);
    this.state = {links, trees, broken};
    const put = (name, data) => {  // what has not changed is not drawn anew
      const {data: old} = this.sources[name];
      if (!Object.keys(data).every(column => same(old[column], data[column]))) this.sources[name].data = data;
    };
    const E = this.ends, x0 = E.map(e => e.x0), y0 = E.map(e => e.y0), x1 = E.map(e => e.x1), y1 = E.map(e => e.y1);
    const thin = this.large ? 1 : 2.2;
    put("links", {x0, y0, x1, y1,
      colour: scene.links.map((_, i) => broken.links.has(i) ? BAD : COLOUR_OF[Math.round(links.use[i] * 100)]),
      width: scene.links.map((_, i) => thin + (this.large ? 1.5 : 3.5) * links.use[i])});
    this.drawTrees(trees, put);
    const way = this.journey.map(pair => pair.map(name => run.nodes.get(name))).filter(([one, other]) => one && other);
    put("journey", {x0: way.map(([one]) => one.x), y0: way.map(([one]) => one.y), x1: way.map(([, other]) => other.x), y1: way.map(([, other]) => other.y)});
    this.drawQueues(links, put);
    this.drawFlows(t, put);
    this.dots.set(this.show.packets ? this.packets(t, links, trees) : []);
    this.drawNodes(t, broken, put);
    this.fault.textContent = broken.notes.slice(-3).join("\n");
  }

  drawTrees(trees, put) {
    const data = {x0: [], y0: [], x1: [], y1: [], colour: [], width: []};
    if (this.show.trees) {
      for (const [group, tree] of trees) {
        const number = this.sessionOf.get(group) ?? 4;
        for (const i of tree) {
          const one = this.run.nodes.get(this.run.scene.links[i].from), other = this.run.nodes.get(this.run.scene.links[i].to);
          data.x0.push(one.x); data.y0.push(one.y); data.x1.push(other.x); data.y1.push(other.y);
          data.colour.push(COLOURS[number % COLOURS.length]);
          data.width.push((this.large ? 6 : 16) + 5 * number);
        }
      }
    }
    put("trees", data);
  }

  drawQueues(links, put) {
    const data = {x0: [], y0: [], x1: [], y1: [], colour: []};
    if (this.show.queues)
      this.run.scene.links.forEach((_, i) => {
        if (links.queue[i] < 0.005) return;
        const e = this.ends[i], long = Math.min(46, e.length * 0.4) / e.length;
        const add = (share, colour) => {
          data.x0.push(e.x0); data.y0.push(e.y0); data.colour.push(colour);
          data.x1.push(e.x0 + (e.x1 - e.x0) * long * share); data.y1.push(e.y0 + (e.y1 - e.y0) * long * share);
        };
        add(1, "#f6d5d8");
        add(links.queue[i], links.queue[i] > 0.9 ? "#a3001b" : BAD);
      });
    put("queues", data);
  }

  /** What packets there are on links: where, how many a second, and whose. */
  packets(t, links, trees) {
    const down = new Map();  // by a tree that is no more, too: links show what went over them in the last half second
    for (const [group, tree] of [...this.run.trees(t - WINDOW_S), ...trees]) for (const i of tree) down.set(i, COLOURS[(this.sessionOf.get(group) ?? 4) % COLOURS.length]);
    const back = i => i ^ 1;  // a link's other direction is next to it
    return this.ends.map((end, i) => {
      const data = down.get(i) ?? this.senders.get(this.run.scene.links[i].from);  // a sender may send to nobody
      const cross = this.cross.has(i) || this.cross.has(back(i)) && !down.has(back(i));
      return {end, pps: links.pps[i], colour: data ?? (cross ? CROSS : FEEDBACK), size: (data ? 5 : 4) - (this.large ? 2 : 0)};
    }).filter(({pps}) => pps >= 0.5);
  }

  drawFlows(t, put) {
    const data = {xs: [], ys: []};
    this.flowTexts = new Map();
    this.cross = new Set();
    const {run} = this;
    run.scene.flows.forEach((flow, i) => {
      const bps = run.flowRate(i, t);
      if (bps <= 0) return;
      for (const end of [flow.source, flow.destination]) this.flowTexts.set(end, `${flow.kind.toUpperCase()} ${rate(bps)}`);
      for (let k = 1; k < flow.path.length; k++) this.cross.add(run.linkTo.get(`${flow.path[k - 1]} ${flow.path[k]}`));
      const places = flow.path.map(name => run.nodes.get(name)), lift = 9 * this.perY;
      if (this.show.flows) { data.xs.push(places.map(p => p.x)); data.ys.push(places.map(p => p.y + lift)); }
    });
    put("flows", data);
  }

  drawNodes(t, broken, put) {
    const {run} = this, {scene} = run, members = run.members(t), merging = run.merging(t);
    const marks = new Map(), rings = {x: [], y: [], size: []}, wedges = {x: [], y: [], end: [], colour: []};
    const logical = {x0: [], y0: [], x1: [], y1: [], cx: [], cy: [], colour: []};
    scene.sessions.forEach((session, number) => {
      const status = run.session(session.id, t), said = run.receivers(session.id, t), total = status?.[S.total];
      const colour = COLOURS[number % COLOURS.length];
      for (const {host} of session.receivers) {
        const row = said[host], state = row?.[R.state], place = run.nodes.get(host);
        const fill = state === "complete" ? "#1a7f4b" : state === "lost" ? BAD : members.get(session.id).has(host) ? "#ffffff" : "#eceff2";
        const limits = status?.[S.limiting] === host && !["done", "failed", "aborted"].includes(status[S.state]);
        marks.set(host, {fill, line: members.get(session.id).has(host) || row ? colour : "#aab4bd", limits,
          why: limits ? reason(status[S.reason], true) : ""});
        if (limits) { rings.x.push(place.x); rings.y.push(place.y); rings.size.push((this.large ? 18 : 30) * this.fitted); }
        if (row && total && state !== "complete" && row[R.acked] !== null) {
          wedges.x.push(place.x); wedges.y.push(place.y); wedges.colour.push(colour);
          wedges.end.push(Math.PI / 2 - 2 * Math.PI * Math.min(row[R.acked] / total, 0.9999));
        }
        const parent = row && run.nodes.get(row[R.parent] ?? session.sender);
        if (this.show.logical && parent) {
          logical.x0.push(parent.x); logical.y0.push(parent.y); logical.x1.push(place.x); logical.y1.push(place.y);
          const bend = 0.16;
          logical.cx.push((parent.x + place.x) / 2 + (place.y - parent.y) * bend);
          logical.cy.push((parent.y + place.y) / 2 + Math.max(Math.abs(place.x - parent.x), 0.1) * bend);
          logical.colour.push(colour);
        }
      }
    });
    put("rings", rings); put("wedges", wedges); put("logical", logical);
    const names = {x: [], y: [], text: [], colour: [], align: [], dx: [], dy: [], baseline: []}, crosses = {x: [], y: []};
    const nodes = {x: [], y: [], marker: [], size: [], fill: [], line: [], width: []};
    for (const node of scene.nodes) {
      const host = node.kind === "host", mark = marks.get(node.name), sender = this.senders.get(node.name);
      nodes.x.push(node.x); nodes.y.push(node.y);
      nodes.marker.push(host ? (sender ? "diamond" : "circle") : "square");
      nodes.size.push((sender ? 24 : host ? 20 * this.fitted : 22) * this.scale);
      nodes.fill.push(sender ?? mark?.fill ?? (host ? "#eceff2" : "#37474f"));
      nodes.line.push(sender ?? mark?.line ?? (host ? "#aab4bd" : "#37474f"));
      nodes.width.push(this.large ? 1 : 2);
      if (broken.nodes.has(node.name)) { crosses.x.push(node.x); crosses.y.push(node.y); }
      if (this.large && host && !sender && !mark?.limits || !host && !this.named) continue;
      const leaf = host && !sender && !this.ringed, first = node.x < 0.02 && !this.ringed;  // which has no room on its left
      const merged = merging.get(node.name);
      let text = node.name;
      if (this.flowTexts.has(node.name)) text += `  ${this.flowTexts.get(node.name)}`;
      if (mark?.limits) text += `  limits: ${mark.why}`;
      if (merged && !host) text += mergedText(merged);
      names.x.push(node.x); names.y.push(node.y); names.text.push(text);
      names.colour.push(mark?.limits ? BAD : host ? "#1d2733" : "#37474f");
      names.align.push(leaf || first ? "left" : "center"); names.dx.push(leaf ? 7 + 10 * this.fitted : first ? -20 : 0); names.dy.push(leaf ? 0 : this.large ? -9 : -16);
      names.baseline.push(leaf ? "middle" : "bottom");
    }
    for (const i of broken.links) {
      const one = run.nodes.get(scene.links[i].from), other = run.nodes.get(scene.links[i].to);
      crosses.x.push((one.x + other.x) / 2); crosses.y.push((one.y + other.y) / 2);
    }
    put("nodes", nodes); put("names", names); put("crosses", crosses);
    this.note.textContent = broken.nodes.has("controller") ? "no controller" : "";
  }

  /** The node or link at a place of the picture. */
  pick(x, y) {
    let best = null, least = 18;
    for (const node of this.run.scene.nodes) {
      const away = Math.hypot((node.x - x) / this.perX, (node.y - y) / this.perY);
      if (away < least) { least = away; best = {node: node.name}; }
    }
    if (!best) {
      least = 9;
      this.ends.forEach((e, i) => {
        const [px, py] = [(x - e.x0) / this.perX, (y - e.y0) / this.perY], [dx, dy] = [(e.x1 - e.x0) / this.perX, (e.y1 - e.y0) / this.perY];
        const part = Math.min(Math.max((px * dx + py * dy) / (dx * dx + dy * dy || 1), 0), 1);
        const away = Math.hypot(px - part * dx, py - part * dy);
        if (away < least) { least = away; best = {link: i}; }
      });
    }
    this.onPick(this.run, best);
  }
}

/** What a switch does with feedback, for its name. */
function mergedText(outcomes) {
  const total = Object.values(outcomes).reduce((sum, n) => sum + n, 0);
  if (total < 0.5) return "";
  const kept = ["absorbed", "repeated", "suppressed"].reduce((sum, name) => sum + (outcomes[name] ?? 0), 0);
  return `  feedback ${Math.round(total)} → ${Math.round(total - kept)} /s`;
}
