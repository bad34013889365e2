// Dots that stand for packets: more of them where more packets go, all of one speed. Only they move in every picture, on
// a canvas of their own above the graph's: a hundredth of what it costs to draw that.

const MOST = 1600;
const APART = 26, SPEED = 70;  // pixels between the dots of the busiest link; pixels a second

export class Dots {
  /** On the ranges of the graph, so that they stay on their links when one zooms. */
  constructor(element, xRange, yRange) {
    this.xRange = xRange;
    this.yRange = yRange;
    this.canvas = element.appendChild(Object.assign(document.createElement("canvas"), {className: "dots"}));
    this.links = [];
    this.clock = 0;
    for (const range of [xRange, yRange]) range.change.connect(() => this.draw(this.clock));
  }

  /** Where packets go: a link's ends, packets per second, colour and size. */
  set(links) {
    const most = Math.max(1, ...links.map(({pps}) => pps)), room = Math.max(1, Math.floor(MOST / Math.max(links.length, 1)));
    this.links = links.map(link => {
      const count = Math.round(Math.sqrt(link.pps / most) * link.end.length / APART);
      return {...link, count: Math.min(Math.max(1, count), room)};
    }).sort((one, other) => one.colour < other.colour ? -1 : one.colour > other.colour ? 1 : 0);
  }

  /** Draw them as they are at a time of the clock that moves them. */
  draw(clock) {
    this.clock = clock;
    const {canvas, xRange, yRange} = this, width = canvas.clientWidth, height = canvas.clientHeight;
    const density = window.devicePixelRatio || 1, context = canvas.getContext("2d");
    if (canvas.width !== Math.round(width * density)) canvas.width = Math.round(width * density);
    if (canvas.height !== Math.round(height * density)) canvas.height = Math.round(height * density);
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    const perX = width / (xRange.end - xRange.start), perY = height / (yRange.end - yRange.start);
    let colour = null;
    for (const {end, colour: own, size, count} of this.links) {
      if (own !== colour) {
        if (colour !== null) context.fill();
        context.fillStyle = colour = own;
        context.beginPath();
      }
      const phase = (clock * SPEED / Math.max(end.length, 40)) % 1;
      for (let k = 0; k < count; k++) {
        const part = (phase + k) / count % 1;
        const x = (end.x0 + (end.x1 - end.x0) * part - xRange.start) * perX;
        const y = height - (end.y0 + (end.y1 - end.y0) * part - yRange.start) * perY;
        context.moveTo(x + size / 2, y);
        context.arc(x, y, size / 2, 0, 2 * Math.PI);
      }
    }
    if (colour !== null) context.fill();
  }
}
