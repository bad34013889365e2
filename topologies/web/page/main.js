// The page: fetches runs, keeps the time, and has everything follow it.

import {Details} from "./details.js";
import {Graph} from "./graph.js";
import {RunModel} from "./model.js";
import {Plots} from "./plots.js";
import {Tables} from "./table.js";

const $ = id => document.getElementById(id);
const POLL_MS = 500, SILENT_S = 6;
const EVERY = 4;  // pictures from one in which more than dots and cursors moves to the next
const page = {runs: [], graphs: [], tables: [], t: 0, playing: false, live: false, dirty: true, frames: 0, errors: [],
  least: 25};  // milliseconds between two pictures: of a screen with 60 a second every second one shows enough
window.canopy = page;  // for whoever looks from outside, tests first
window.addEventListener("error", event => page.errors.push(String(event.message)));
window.addEventListener("unhandledrejection", event => page.errors.push(String(event.reason)));

async function begin() {
  const {runs} = await (await fetch("/api/runs")).json();
  page.runs = runs.map((scene, i) => new RunModel(i, scene));
  for (const run of page.runs) {
    const box = $("graphs").appendChild(Object.assign(document.createElement("div"), {className: "graph"}));
    page.graphs.push(new Graph(run, box, pick));
    page.tables.push(new Tables(run, $("tables"), page.runs.length > 1));
  }
  document.title = `Canopy: ${page.runs.map(run => run.scene.name).join(" and ")}`;
  page.plots = new Plots(page.runs, $("plots"), t => seek(t));
  page.details = new Details(page, $("details"), () => pick(null, null));
  controls();
  await Promise.all(page.runs.map(load));
  page.live = page.runs.some(run => !run.summary && run.silent < SILENT_S);
  page.t = page.live ? end() : 0;
  refresh();
  if (!page.live) play(true);
  for (const run of page.runs) if (run.summary) fetch(`/api/runs/${run.number}/packets`);  // begins to make them ready
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
    const kinds = run.scene.sessions.map(session => session.whole ? "complete" : "took part to the end");
    const what = `${whole} of ${all.length} receivers ${[...new Set(kinds)].sort().join(" or ")}` + (failed.length ? `, session ${failed.join(", ")} failed` : "");
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
  if (page.live && page.runs.every(run => run.summary)) seek(end());  // what came of it
  $("time").max = Math.ceil(end() * 100) / 100;  // whole steps: its last place is the end
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
  page.dirty = true;  // the picture at which it stops is drawn, too
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
  if (now - last < page.least) return;
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
  if (page.dirty || page.frames % EVERY === 0 || !(page.playing || page.live)) {  // what changes faster cannot be read
    page.graphs.forEach(graph => graph.update(page.t));
    page.tables.forEach(table => table.update(page.t));
    page.details.update(page.t);
  }
  page.graphs.forEach(graph => graph.dots.draw(page.clock ?? 0));
  page.plots.update(page.t);
  page.dirty = false;
  page.frames++;
  $("clock").textContent = `${page.t.toFixed(2)} s`;
  $("time").value = page.t;
  $("follow").classList.toggle("on", page.live);
}

function pick(run, what) {
  if (what) play(false);
  page.details.pick(what && {run, ...what}, page.t);
  page.plots.picked = what?.link ?? null;
  page.plots.refresh(end());
  page.dirty = true;
}

begin().catch(error => {
  page.errors.push(String(error));
  document.body.textContent = `The page cannot be shown: ${error}`;
});
