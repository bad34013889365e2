// What a page knows of a run, and how things stood at a time in it. Times are seconds in the run.

/** Rows by time; the first item of a row is its time. */
export class Stream {
  constructor() { this.rows = []; this.generation = 0; }

  /** The last row at `t` or before; -1: none. */
  index(t) {
    let low = 0, high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle][0] <= t + 1e-9) low = middle + 1; else high = middle;
    }
    return low - 1;
  }

  at(t) { const i = this.index(t); return i < 0 ? null : this.rows[i]; }
}

// Columns of a session's rows, and of a receiver's, as topologies/web/run.py orders them.
export const S = {t: 0, state: 1, rate: 2, goodput: 3, cwnd: 4, rtt: 5, total: 6, sent: 7, repairs: 8, feedback: 9,
  limiting: 10, reason: 11};
export const R = {state: 0, acked: 1, rtt: 2, loss: 3, lost: 4, repaired: 5, parent: 6};

export const WINDOW_S = 0.5;  // rates are over so long a time, as in the report

export class RunModel {
  constructor(number, scene) {
    this.number = number;
    this.scene = scene;
    this.summary = null;
    this.silent = 0;
    this.version = 0;
    this.streams = {};
    this.nodes = new Map(scene.nodes.map(node => [node.name, node]));
    this.sessionOf = new Map(scene.sessions.flatMap(session => session.groups.map(group => [group, session])));
    this.linkTo = new Map(scene.links.map((link, i) => [`${link.from} ${link.to}`, i]));
  }

  stream(name) { return this.streams[name] ??= new Stream(); }

  /** What the server is told that we have. */
  have() {
    return Object.fromEntries(Object.entries(this.streams).map(([name, s]) => [name, [s.generation, s.rows.length]]));
  }

  /** Put in an answer of the server. */
  merge(answer) {
    for (const [name, part] of Object.entries(answer.streams)) {
      const stream = this.stream(name);
      if (part.start === 0) stream.rows = part.rows; else stream.rows.push(...part.rows);
      stream.generation = part.generation;
      this.version++;
    }
    if (answer.summary && !this.summary) this.version++;
    this.summary = answer.summary;
    this.silent = answer.silent;
  }

  get end() {
    let end = this.summary ? this.summary.duration_s : 0;
    for (const {rows} of Object.values(this.streams)) if (rows.length) end = Math.max(end, rows[rows.length - 1][0]);
    return end;
  }

  /** A link's rate at `t`, which faults change. */
  capacity(link, t) {
    let rate = link.rate;
    for (const [at, changed] of link.rates) if (at <= t) rate = changed;
    return rate;
  }

  /** All links at `t`: arrays by number of bit/s, packets/s, use 0..1, queue 0..1, packets waiting, losses/s. */
  links(t) {
    const {rows} = this.stream("ports"), count = this.scene.links.length;
    const zero = () => new Float64Array(count);
    const found = {bps: zero(), pps: zero(), use: zero(), queue: zero(), waiting: zero(), lost: zero()};
    const last = this.stream("ports").index(t);
    if (last < 0 || this.summary && t > this.end + 1e-6) return found;  // beside a longer run
    // Between two rows things stand as on the way from the one to the other, so that a replay is no slide show.
    const next = Math.min(last + 1, rows.length - 1);
    const gap = rows[next][0] - rows[last][0], part = gap > 0 ? Math.min((t - rows[last][0]) / gap, 1) : 0;
    let first = last;
    while (first > 0 && rows[first][0] > rows[next][0] - WINDOW_S - 1e-6) first--;
    const span = rows[next][0] - rows[first][0];
    const [, octets, waiting, waitingBytes, losses, packets] = rows[next];
    const [, octetsBefore, , , lossesBefore, packetsBefore] = rows[first];
    for (let i = 0; i < count; i++) {
      const link = this.scene.links[i];
      if (span > 0) {
        found.bps[i] = Math.max(octets[i] - octetsBefore[i], 0) * 8 / span;
        found.pps[i] = Math.max(packets[i] - packetsBefore[i], 0) / span;
        found.lost[i] = Math.max(losses[i] - lossesBefore[i], 0) / span;
      }
      const rate = this.capacity(link, t);
      if (rate) found.use[i] = Math.min(found.bps[i] / rate, 1);
      found.waiting[i] = rows[last][2][i] + (waiting[i] - rows[last][2][i]) * part;
      const bytes = rows[last][3][i] + (waitingBytes[i] - rows[last][3][i]) * part;
      const share = link.bytes ? bytes / link.bytes : link.packets ? found.waiting[i] / link.packets : 0;
      found.queue[i] = Math.min(share, 1);
    }
    return found;
  }

  /** Sessions' trees at `t`, each of all its groups: the session's group -> set of numbers of links. */
  trees(t) {
    const groups = new Map(), trees = new Map();
    for (const [at, kind, group, from, to] of this.stream("tree").rows) {
      if (at > t) break;
      const link = this.linkTo.get(`${from} ${to}`);
      if (link === undefined) continue;
      if (!groups.has(group)) groups.set(group, new Set());
      if (kind === "join") groups.get(group).add(link); else groups.get(group).delete(link);
    }
    for (const [group, links] of groups) {
      const whose = this.sessionOf.get(group)?.group ?? group;
      if (!trees.has(whose)) trees.set(whose, links);
      else for (const link of links) trees.get(whose).add(link);
    }
    for (const session of this.scene.sessions) {  // the sender's own link, of a tree that has any other
      const tree = trees.get(session.group);
      const first = this.scene.links.findIndex(link => link.from === session.sender);
      if (tree && tree.size && first >= 0) tree.add(first);
    }
    return trees;
  }

  /** What faults have left broken at `t`. */
  broken(t) {
    const links = new Set(), nodes = new Set(), notes = [];
    for (const [at, kind, subject] of this.stream("events").rows) {
      if (at > t) break;
      const [one, other] = String(subject).split(":")[0].split(" - ");
      const ends = [`${one} ${other}`, `${other} ${one}`].map(key => this.linkTo.get(key)).filter(i => i !== undefined);
      if (kind === "link down") ends.forEach(i => links.add(i));
      if (kind === "link up") ends.forEach(i => links.delete(i));
      if (kind.startsWith("kill") || kind === "died") nodes.add(subject || "controller");
      if (kind.startsWith("start")) nodes.delete(subject || "controller");
      if (t - at < 3) notes.push(`${at.toFixed(2)} s: ${kind} ${subject}`);
    }
    return {links, nodes, notes};
  }

  session(id, t) { return this.stream(`session-${id}`).at(t); }

  receivers(id, t) { const row = this.stream(`receivers-${id}`).at(t); return row ? row[1] : {}; }

  /** Who has been told to join and not to leave, by session. */
  members(t) {
    const members = new Map(this.scene.sessions.map(session => [session.id, new Set()]));
    const {rows} = this.stream("members");
    for (const [at, kind, session, host] of rows) {
      if (at > t) break;
      if (kind === "join") members.get(session)?.add(host); else members.get(session)?.delete(host);
    }
    if (!rows.length)
      for (const session of this.scene.sessions)
        for (const {host, join, leave} of session.receivers)
          if (join <= t && !(leave !== null && leave <= t)) members.get(session.id).add(host);
    return members;
  }

  /** A flow's bit/s at `t`. */
  flowRate(number, t) {
    const stream = this.stream(`flow-${number}`), last = stream.index(t);
    let first = last;
    while (first > 0 && stream.rows[first][0] > t - WINDOW_S) first--;
    if (last <= first) return 0;
    const [one, other] = [stream.rows[first], stream.rows[last]];
    return other[1] === null || other[0] - one[0] <= 0 ? 0 : Math.max(other[1] - (one[1] ?? 0), 0) * 8 / (other[0] - one[0]);
  }

  /** What became of feedback at switches, per second: switch -> {outcome: rate}. */
  merging(t) {
    const rates = new Map(), {rows} = this.stream("switches");
    const last = this.stream("switches").index(t);
    const newest = new Map(), before = new Map();
    for (let i = last; i >= 0 && rows[i][0] > t - 2; i--) {
      const [at, name] = rows[i];
      if (!newest.has(name)) newest.set(name, rows[i]);
      else if (newest.get(name)[0] - at >= WINDOW_S && !before.has(name)) before.set(name, rows[i]);
    }
    for (const [name, [at, , counts]] of newest) {
      const old = before.get(name);
      if (!old) continue;
      rates.set(name, Object.fromEntries(Object.entries(counts).map(
        ([outcome, count]) => [outcome, Math.max(count - (old[2][outcome] ?? 0), 0) / (at - old[0])])));
    }
    return rates;
  }
}

export function natural(one, other) { return one.localeCompare(other, "en", {numeric: true}); }

export function rate(bps) {
  if (bps === null || bps === undefined) return "";
  for (const [unit, size] of [["Gbps", 1e9], ["Mbps", 1e6], ["kbps", 1e3]])
    if (bps >= size) return `${(bps / size).toPrecision(3)} ${unit}`;
  return `${Math.round(bps)} bps`;
}

export function size(octets) {
  if (octets === null || octets === undefined) return "";
  for (const [unit, one] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]])
    if (octets >= one) return `${(octets / one).toPrecision(3)} ${unit}`;
  return `${octets} B`;
}

export const COLOURS = ["#2e5eaa", "#0b8f6a", "#b23a8f", "#a65628", "#5b6770", "#00838f", "#7a4e9c", "#9e7b00"];

const REASONS = {cwnd: ["the smallest congestion window", "window"], advertised_window: ["its receive buffer", "buffer"],
  loss: ["its loss rate", "loss"], rtt: ["its round trip time", "RTT"],
  application: ["the sender has no more data", "no more data"]};

/** Why a receiver limits; `short`: in a word. */
export function reason(code, short = false) { return REASONS[code]?.[short ? 1 : 0] ?? code ?? ""; }
