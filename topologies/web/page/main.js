// The page: fetches runs, keeps the time, and has everything follow it.

import {Graph} from "./graph.js";
import {RunModel, natural, rate, size} from "./model.js";
import {Plots} from "./plots.js";
import {Tables} from "./table.js";

const $ = id => document.getElementById(id);
const POLL_MS = 500, SILENT_S = 6;
const page = {runs: [], graphs: [], tables: [], t: 0, playing: false, live: false, dirty: true, frames: 0, errors: []};
window.canopy = page;  // for whoever looks from outside, tests first
window.addEventListener("error", event => page.errors.push(String(event.message)));
window.addEventListener("unhandledrejection", event => page.errors.push(String(event.reason)));

async function begin() {
  const {runs} = await (await fetch("/api/runs")).json();
  page.runs = runs.map((scene, i) => new RunModel(i, scene));
  for (const run of page.runs) {
    const box = $("graphs").appendChild(Object.assign(document.createElement("div"), {className: "graph"}));
    page.graphs.push(new Graph(run, box, pick));
    page.tables.push(new Tables(run, $("tables")));
  }
  document.title = `Canopy: ${page.runs.map(run => run.scene.name).join(" and ")}`;
  page.plots = new Plots(page.runs, $("plots"), t => seek(t));
  controls();
  await Promise.all(page.runs.map(load));
  page.live = page.runs.some(run => !run.summary && run.silent < SILENT_S);
  page.t = page.live ? end() : 0;
  refresh();
  if (!page.live) play(true);
  page.ready = true;
  requestAnimationFrame(frame);
  setTimeout(poll, POLL_MS);
}

/** All that the server has of a run. */
async function load(run) {
  for (let more = true; more;) {
    const answer = await (await fetch(`/api/runs/${run.number}/rows`, {method: "POST", body: JSON.stringify(run.have())})).json();
    run.merge(answer);
    more = answer.more;
    if (!page.ready) continue;
    break;
  }
  run.unreachable = false;
}

async function poll() {
  const before = page.runs.reduce((sum, run) => sum + run.version, 0), states = page.runs.map(verdict).join();
  await Promise.all(page.runs.filter(run => !run.summary || !run.settled).map(async run => {
    try { await load(run); run.settled = Boolean(run.summary); } catch { run.unreachable = true; }
  }));
  if (page.runs.reduce((sum, run) => sum + run.version, 0) !== before || page.runs.map(verdict).join() !== states) refresh();
  setTimeout(poll, POLL_MS);
}

const end = () => Math.max(0.1, ...page.runs.map(run => run.end));

function verdict(run) {
  const {summary} = run;
  if (summary) {
    const all = summary.sessions.flatMap(session => session.receivers).filter(receiver => receiver.expected);
    const whole = all.filter(receiver => receiver.complete).length;
    const failed = summary.sessions.filter(session => session.state === "failed").map(session => session.id);
    const what = `${whole} of ${all.length} receivers complete` + (failed.length ? `, session ${failed.join(", ")} failed` : "");
    return [what + (summary.outcome === "done" ? "" : `; ended by: ${summary.outcome}`), summary.ok && !failed.length ? "good" : "bad"];
  }
  if (run.unreachable) return ["the server is gone; what came before is here", "bad"];
  if (run.silent >= SILENT_S) return [`no news for ${Math.round(run.silent)} s, and no summary: the run died or stands still`, "bad"];
  return ["running", "live"];
}

/** What only changes with new rows. */
function refresh() {
  const several = page.runs.length > 1;
  $("titles").replaceChildren(...page.runs.map((run, i) => {
    const line = document.createElement("div");
    line.append(Object.assign(document.createElement("b"), {textContent: (several ? `${"AB"[i]} ` : "") + run.scene.name}),
      Object.assign(document.createElement("span"), {textContent: run.scene.description || run.scene.folder}));
    line.title = run.scene.folder;
    return line;
  }));
  $("verdicts").replaceChildren(...page.runs.map(run => {
    const [text, kind] = verdict(run);
    return Object.assign(document.createElement("div"), {textContent: text, className: `verdict ${kind}`});
  }));
  $("time").max = end();
  $("end").textContent = `${end().toFixed(1)} s`;
  $("follow").hidden = page.runs.every(run => run.summary);
  page.plots.refresh(end());
  marks();
  page.dirty = true;
}

/** Faults, joins, leaves and cross traffic on the time line. */
function marks() {
  const box = $("marks"), whole = end();
  box.replaceChildren();
  let free = -Infinity;
  const mark = (at, kind, text, named) => {
    if (at > whole) return;
    const left = `${at / whole * 100}%`;
    box.append(Object.assign(document.createElement("i"), {className: kind, title: text, style: `left:${left}`}));
    const wide = text.length * 6 / Math.max(box.clientWidth, 1) * whole;
    if (named && at >= free) {
      const place = at / whole > 0.85 ? `right:${100 - at / whole * 100}%` : `left:${left}`;
      box.append(Object.assign(document.createElement("span"), {textContent: text, style: place, className: kind}));
      free = at + wide;
    }
  };
  const found = [];
  for (const run of page.runs) {
    for (const [at, kind, subject] of run.stream("events").rows) found.push([at, "fault", `${kind} ${subject ?? ""}`.trim(), true]);
    for (const [at, kind, , host] of run.stream("members").rows) if (at > 0.01) found.push([at, kind === "join" ? "join" : "leave", `${host} ${kind}s`, false]);
    for (const flow of run.scene.flows) {
      if (flow.start > 0) found.push([flow.start, "cross", `${flow.kind} starts`, true]);
      if (flow.stop !== null) found.push([flow.stop, "cross", `${flow.kind} ends`, true]);
    }
  }
  for (const each of found.sort((a, b) => a[0] - b[0]).slice(0, 400)) mark(...each);
}

function controls() {
  $("play").onclick = () => play(!page.playing);
  $("time").oninput = () => seek(Number($("time").value));
  $("follow").onclick = () => { page.live = !page.live; page.dirty = true; };
  document.addEventListener("keydown", event => {
    if (event.target.tagName === "SELECT") return;
    if (event.key === " ") { event.preventDefault(); play(!page.playing); }
    if (event.key === "Escape") pick(null, null);
  });
  for (const name of ["trees", "logical", "queues", "flows", "packets"]) {
    const box = $(`show-${name}`);
    const set = () => { page.graphs.forEach(graph => { graph.show[name] = box.checked; }); page.dirty = true; };
    box.onchange = set;
    if (name === "logical") box.checked = page.runs.some(run => run.scene.logical);
    set();
  }
}

function play(on) {
  if (on && page.t >= end() - 1e-6) page.t = 0;
  page.playing = on;
  if (on) page.live = false;
  $("play").textContent = on ? "❚❚" : "▶";
}

function seek(t) {
  page.t = Math.min(Math.max(t, 0), end());
  page.live = false;
  page.dirty = true;
}

let last = 0;
function frame(now) {
  requestAnimationFrame(frame);
  const passed = Math.min((now - last) / 1000, 0.2);
  if (now - last < 1000 / 40) return;  // more pictures a second show nothing more
  last = now;
  if (page.live) page.t = end();
  else if (page.playing) {
    page.t = Math.min(page.t + passed * Number($("speed").value), end());
    if (page.t >= end()) play(false);
  }
  page.clock = (page.clock ?? 0) + (page.playing || page.live ? passed : 0);
  if (!page.playing && !page.live && !page.dirty) return;
  draw();
}

function draw() {
  page.dirty = false;
  page.frames++;
  page.graphs.forEach(graph => graph.update(page.t, page.clock ?? 0));
  if (page.frames % 4 === 1 || !page.playing) {  // text that changes faster cannot be read
    page.tables.forEach(table => table.update(page.t));
    showDetails();
  }
  page.plots.update(page.t);
  $("clock").textContent = `${page.t.toFixed(2)} s`;
  $("time").value = page.t;
  $("follow").classList.toggle("on", page.live);
}

function pick(run, what) {
  page.picked = what && {run, ...what};
  page.plots.picked = what?.link ?? null;
  page.plots.refresh(end());
  page.dirty = true;
}

/** What was clicked, in words and numbers. */
function showDetails() {
  const box = $("details"), {picked} = page;
  box.hidden = !picked;
  if (!picked) return;
  const lines = picked.link === undefined ? nodeLines(picked.run, picked.node) : linkLines(picked.run, picked.link);
  const title = picked.link === undefined ? picked.node : `${picked.run.scene.links[picked.link].from} → ${picked.run.scene.links[picked.link].to}`;
  const head = Object.assign(document.createElement("h2"), {textContent: title});
  const close = Object.assign(document.createElement("button"), {textContent: "×", title: "close (Esc)"});
  close.onclick = () => pick(null, null);
  head.append(close);
  const list = document.createElement("dl");
  for (const [name, value] of lines)
    list.append(Object.assign(document.createElement("dt"), {textContent: name}), Object.assign(document.createElement("dd"), {textContent: value}));
  box.replaceChildren(head, list);
}

function linkLines(run, i) {
  const link = run.scene.links[i], state = run.links(page.t), row = run.stream("ports").at(page.t);
  return [["rate", rate(run.capacity(link, page.t)) || "no limit"], ["delay", `${(link.delay * 1e3).toFixed(1)} ms`],
    ["in use", `${rate(state.bps[i])}, ${Math.round(state.use[i] * 100)} %, ${Math.round(state.pps[i])} packets/s`],
    ["queue", `${Math.round(state.waiting[i])} of ${link.packets ?? size(link.bytes)}${link.packets ? " packets" : ""} (${link.queue})`],
    ["lost so far", `${row ? row[4][i] : 0} packets`], ["carried so far", size(row ? row[1][i] : 0)]];
}

function nodeLines(run, name) {
  const node = run.nodes.get(name), lines = [["kind", node.kind === "p4" ? "P4 switch" : node.kind]];
  if (node.address) lines.push(["address", node.address]);
  const state = run.links(page.t);
  run.scene.links.forEach((link, i) => {
    if (link.from === name) lines.push([`to ${link.to}`, `${rate(state.bps[i])}, ${Math.round(state.use[i] * 100)} %, queue ${Math.round(state.waiting[i])}`]);
  });
  for (const [outcome, perSecond] of Object.entries(run.merging(page.t).get(name) ?? {}))
    if (perSecond > 0) lines.push([`feedback ${outcome.replaceAll("_", " ")}`, `${Math.round(perSecond)} /s`]);
  for (const session of run.scene.sessions) {
    const parent = run.receivers(session.id, page.t);
    const children = Object.keys(parent).filter(host => parent[host][6] === name).sort(natural);
    if (children.length) lines.push([`children in session ${session.id}`, children.join(", ")]);
  }
  return lines;
}

begin().catch(error => {
  page.errors.push(String(error));
  document.body.textContent = `The page cannot be shown: ${error}`;
});
