// What was clicked, in words and numbers; packets there, and what switches did with one.

import {R, natural, rate, size} from "./model.js";

function element(tag, text = "", className = "") {
  return Object.assign(document.createElement(tag), {textContent: text, className});
}

function list(lines) {
  const box = document.createElement("dl");
  for (const [name, value] of lines) box.append(element("dt", name), element("dd", value));
  return box;
}

export class Details {
  constructor(page, box, close) {
    this.page = page;
    this.box = box;
    this.close = close;
    this.head = box.appendChild(document.createElement("h2"));
    this.title = this.head.appendChild(element("span"));
    const button = this.head.appendChild(element("button", "×"));
    button.title = "close (Esc)";
    button.onclick = close;
    this.body = box.appendChild(document.createElement("div"));
    this.packets = box.appendChild(document.createElement("div"));
    this.picked = null;
  }

  /** Show a node or link of a run: {run, node} or {run, link}; null: nothing. */
  pick(what, t) {
    this.picked = what;
    this.way = null;
    for (const graph of this.page.graphs) graph.journey = [];
    this.packets.replaceChildren();
    if (!what) return;
    this.update(t);
    const link = what.link === undefined ? null : what.run.scene.links[what.link];
    const isSwitch = name => what.run.nodes.get(name)?.kind === "p4";
    if (link && isSwitch(link.from)) this.ask(t, link.from, link.to);
    else if (link && isSwitch(link.to)) this.ask(t, link.to);
    else if (isSwitch(what.node)) this.ask(t, what.node);
  }

  update(t) {
    this.box.hidden = !this.picked;
    if (!this.picked) return;
    const {run, node, link} = this.picked;
    this.title.textContent = link === undefined ? node : `${run.scene.links[link].from} → ${run.scene.links[link].to}`;
    this.body.hidden = Boolean(this.way);
    this.body.replaceChildren(list(link === undefined ? nodeLines(run, node, t) : linkLines(run, link, t)));
  }

  /** Packets at a switch from `t` on; tries again while they are being made ready. */
  async ask(t, name, towards) {
    const {picked} = this, query = new URLSearchParams({at: t, switch: name, ...(towards ? {towards} : {})});
    const answer = await (await fetch(`/api/runs/${picked.run.number}/packets?${query}`)).json();
    if (this.picked !== picked || this.way) return;
    if (answer.state === "recording") {
      this.packets.replaceChildren(element("p", `packets: playing the run again, ${Math.round(answer.share * 100)} %`));
      setTimeout(() => { if (this.picked === picked && !this.way) this.ask(t, name, towards); }, 500);
    } else if (answer.state === "none") this.packets.replaceChildren(element("p", `packets: ${answer.why}`));
    else if (!answer.packets.length) this.packets.replaceChildren(element("p", `no packets from ${t.toFixed(2)} s on`));
    else {
      const items = document.createElement("ol");
      for (const packet of answer.packets) {
        const item = items.appendChild(element("li", `${packet.name}, ${packet.t.toFixed(6)} s, ${packet.kind}, ${packet.size} bytes`, "packet"));
        item.onclick = () => this.explain(packet.name);
      }
      this.packets.replaceChildren(element("b", `packets ${towards ? `to ${towards} ` : ""}from ${t.toFixed(2)} s on: click one`), items);
    }
  }

  /** What switches did with a packet. */
  async explain(name) {
    const {picked} = this, before = performance.now();
    const answer = await (await fetch(`/api/runs/${picked.run.number}/packets/${encodeURIComponent(name)}`)).json();
    if (this.picked !== picked) return;
    if (!answer.stops) { this.packets.replaceChildren(element("p", answer.why ?? answer.state)); return; }
    this.way = answer.stops;
    this.body.hidden = true;
    const parts = [element("b", answer.stops[0].title)];
    const back = element("button", "back");
    back.onclick = () => { this.pick(this.picked, this.page.t); this.page.dirty = true; };
    for (const stop of answer.stops) {
      parts.push(element("h3", `${stop.t.toFixed(6)} s  ${stop.name}, from ${stop.from}`), list(stop.lines));
    }
    parts.push(back);
    this.packets.replaceChildren(...parts);
    const graph = this.page.graphs[picked.run.number];
    graph.journey = answer.stops.flatMap(stop => [[stop.from, stop.switch], ...stop.to.map(to => [stop.switch, to])]);
    this.page.explained = performance.now() - before;
    this.page.dirty = true;
  }
}

function linkLines(run, i, t) {
  const link = run.scene.links[i], state = run.links(t), row = run.stream("ports").at(t);
  return [["rate", rate(run.capacity(link, t)) || "no limit"], ["delay", `${(link.delay * 1e3).toFixed(1)} ms`],
    ["in use", `${rate(state.bps[i])}, ${Math.round(state.use[i] * 100)} %, ${Math.round(state.pps[i])} packets/s`],
    ["queue", `${Math.round(state.waiting[i])} of ${link.packets ?? size(link.bytes)}${link.packets ? " packets" : ""} (${link.queue})`],
    ["lost so far", `${row ? row[4][i] : 0} packets`], ["carried so far", size(row ? row[1][i] : 0)]];
}

function nodeLines(run, name, t) {
  const node = run.nodes.get(name), lines = [["kind", node.kind === "p4" ? "P4 switch" : node.kind]];
  if (node.address) lines.push(["address", node.address]);
  const state = run.links(t);
  run.scene.links.forEach((link, i) => {
    if (link.from === name) lines.push([`to ${link.to}`, `${rate(state.bps[i])}, ${Math.round(state.use[i] * 100)} %, queue ${Math.round(state.waiting[i])}`]);
  });
  for (const [outcome, perSecond] of Object.entries(run.merging(t).get(name) ?? {}))
    if (perSecond > 0) lines.push([`feedback ${outcome.replaceAll("_", " ")}`, `${Math.round(perSecond)} /s`]);
  for (const session of run.scene.sessions) {
    const said = run.receivers(session.id, t);
    const children = Object.keys(said).filter(host => said[host][R.parent] === name).sort(natural);
    if (children.length) lines.push([`children in session ${session.id}`, children.join(", ")]);
  }
  return lines;
}
