// Sessions and their receivers at a time, as a table: the one that limits first, then by name, the rest summed up.

import {COLOURS, R, S, natural, rate, reason, size} from "./model.js";

const MOST_ROWS = 12;
const FINAL = ["done", "failed", "aborted"];

function element(tag, text = "", className = "") {
  return Object.assign(document.createElement(tag), {textContent: text, className});
}

/** How much of what has an end; a carousel sends it again and again. */
function sent(octets, total) {
  if (!total) return size(octets);
  return octets > 1.1 * total ? `${size(total)} ${(octets / total).toFixed(1)} times` : `${size(octets)} of ${size(total)}`;
}

export class Tables {
  /** `beside`: another run's have the other half of the width. */
  constructor(run, parent, beside) {
    this.run = run;
    this.beside = beside;
    this.box = parent.appendChild(document.createElement("div"));
    this.shown = "";
  }

  update(t) {
    const parts = this.run.scene.sessions.map((session, i) => this.session(session, i, t));
    const text = JSON.stringify(parts.map(part => part.key));
    if (text === this.shown) return;  // a table that is drawn anew 30 times a second cannot be read or selected
    this.shown = text;
    this.box.replaceChildren(...parts.map(part => part.draw()));
  }

  session(session, number, t) {
    const {run} = this, status = run.session(session.id, t), said = run.receivers(session.id, t);
    const result = run.summary?.sessions.find(found => found.id === session.id);
    const over = run.summary && t >= run.end - 1e-6;
    const limiting = status && !FINAL.includes(status[S.state]) ? status[S.limiting] : null;
    const hosts = session.receivers.map(receiver => receiver.host)
      .sort((a, b) => (b === limiting) - (a === limiting) || natural(a, b));
    const key = [status, said, over ? result : null];
    return {key, draw: () => this.draw(session, number, status, said, over ? result : null, limiting, hosts)};
  }

  draw(session, number, status, said, result, limiting, hosts) {
    const box = element("div", "", "session");
    box.style.borderLeft = `4px solid ${COLOURS[number % COLOURS.length]}`;
    const title = box.appendChild(element("p"));
    title.append(Object.assign(element("b", `${session.protocol} `), {}), `${session.sender} → ${session.group}: `);
    const state = result?.state ?? status?.[S.state] ?? "not started";
    title.append(element("span", state, state === "failed" || state === "aborted" ? "failed" : ""));
    if (status) {
      const words = [["rate", rate(status[S.rate])], ["goodput", rate(status[S.goodput])],
        ["window", status[S.cwnd] === null ? "" : `${status[S.cwnd].toFixed(1)} packets`],
        ["sent", sent(status[S.sent], status[S.total])],
        ["repairs", status[S.repairs] ?? ""], ["feedback packets", result?.feedback_packets ?? status[S.feedback] ?? ""]];
      title.append(words.filter(([, value]) => value !== "").map(([name, value]) => `, ${name} ${value}`).join(""));
    }
    if (limiting) title.append(element("span", ` — ${limiting} limits: ${reason(status[S.reason])}`, "why"));
    const table = box.appendChild(element("table")), head = table.appendChild(element("tr"));
    for (const name of ["receiver", "progress", "state", "RTT", "loss", "lost", "repaired", "parent", "goodput"])
      head.append(element("th", name, name === "progress" || name === "state" ? "left" : ""));
    for (const host of hosts.slice(0, MOST_ROWS)) table.append(this.row(host, said[host], status, result, host === limiting, session.whole));
    const rows = [...table.rows].slice(1);
    const empty = i => rows.every(row => !row.cells[i].textContent);
    const told = i => this.beside && head.cells[i].textContent === "parent" && rows.every(row => row.cells[i].textContent === "sender");
    for (let i = head.cells.length - 1; i > 0; i--)  // columns in which nothing stands, or where room is short nothing new
      if (empty(i) || told(i)) [head, ...rows].forEach(row => row.deleteCell(i));
    const rest = hosts.slice(MOST_ROWS);
    if (rest.length) {
      const row = table.appendChild(element("tr", "", "rest")), complete = rest.filter(host => said[host]?.[R.state] === "complete").length;
      const lost = rest.reduce((sum, host) => sum + (said[host]?.[R.lost] ?? 0), 0);
      row.append(Object.assign(element("td", `and ${rest.length} others: ${complete} complete, ${lost} packets lost`), {colSpan: head.cells.length}));
    }
    return box;
  }

  row(host, said, status, result, limits, whole) {
    const row = element("tr", "", limits ? "limits" : ""), end = result?.receivers.find(found => found.host === host);
    row.append(element("td", limits ? `${host} limits` : host));
    const cell = row.appendChild(element("td", "", "left")), total = status?.[S.total];
    const complete = said?.[R.state] === "complete" || end?.complete;
    const known = whole && complete || (total && typeof said?.[R.acked] === "number");
    const share = !known ? 0 : complete ? 1 : Math.min(said[R.acked] / total, 1);
    if (known && !(this.beside && complete)) {  // its state says that
      cell.append(Object.assign(document.createElement("progress"), {max: 1, value: share}), ` ${Math.floor(share * 100)} %`);
    }
    const state = end ? (end.complete ? (whole ? "complete" : "took part to the end") : end.detail || "not complete") : said?.[R.state] ?? "";
    row.append(element("td", state, `left ${complete ? "good" : state === "lost" || (end?.expected && !end.complete) ? "bad" : ""}`));
    const number = value => element("td", value === null || value === undefined ? "" : value);
    row.append(number(said?.[R.rtt] ? `${(said[R.rtt] * 1e3).toFixed(1)} ms` : null));
    row.append(number(said?.[R.loss] ? `${(said[R.loss] * 100).toFixed(2)} %` : null));
    row.append(number(end?.lost_packets ?? said?.[R.lost]), number(end?.repaired_packets ?? said?.[R.repaired]));
    row.append(number(end?.parent ?? said?.[R.parent]), number(end ? rate(end.goodput_bps) : null));
    return row;
  }
}
