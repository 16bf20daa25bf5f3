// Draws the timeline on a canvas. A lane with few spans in view is drawn span by span, one with many column by column.

const kMostByOne = 1200;  // spans of a lane that are drawn one by one
const kTextRoom = 6;
const kReadable = 0.75;  // a shade below which the page's own ink is read better than that of the fill

/// Widths of texts in the context's font, measured once each.
function textWidths(context) {
  const widths = new Map();
  return (text) => {
    let width = widths.get(text);
    if (width === undefined) widths.set(text, width = context.measureText(text).width);
    return width;
  };
}

/// `text` cut to `room` pixels; empty where too little is left. Cut by the mean width of its characters, and a tenth more:
/// measuring every cut would take longer than all else.
function fitted(text, room, widthOf) {
  const width = widthOf(text);
  if (width <= room) return text;
  const characters = Math.floor(0.9 * text.length * (room - widthOf('…')) / width);
  return characters > 1 ? text.slice(0, characters) + '…' : '';
}

/// As the pictures have them where there is little room.
const kBrief = {'all-reduce': 'AR', 'reduce-scatter': 'RS', 'all-gather': 'AG', broadcast: 'BC', forward: 'F', backward: 'B'};

function nameWithin(room, name, widthOf) {
  const word = Object.keys(kBrief).find((one) => name.includes(one));
  const texts = word ? [name, name.replace(word, kBrief[word]), kBrief[word], ''] : [fitted(name, room, widthOf)];
  return texts.find((text) => widthOf(text) <= room);
}

/// context: of the canvas, in CSS pixels. scene: {view, layout, scroll, width, height, gutter, theme, selected, hovered}.
function drawTimeline(context, scene) {
  const {width, height, gutter, theme, view} = scene;
  context.fillStyle = theme.back;
  context.fillRect(0, 0, width, height);
  context.font = `12px ${theme.font}`;
  context.textBaseline = 'middle';
  if (scene.widthsOf !== theme.font) {
    scene.widthsOf = theme.font;
    scene.widths = textWidths(context);
  }
  const pen = {context, theme, gutter, width, widthOf: scene.widths, view, scale: (width - gutter) / (view.to - view.from)};
  context.save();
  context.beginPath();
  context.rect(0, kAxisHeight, width, height - kAxisHeight);
  context.clip();
  for (const row of scene.layout.rows) {
    const y = kAxisHeight + row.y - scene.scroll;
    if (y + row.height < kAxisHeight || y > height) continue;
    if (row.kind === 'head') drawHead(pen, row, y); else drawLane(pen, row, y, scene);
  }
  drawMarks(pen, scene);
  context.restore();
  drawAxis(pen, height);
  drawScroll(pen, scene);
}

/// Where the rows do not all fit: which of them are in view.
function drawScroll({context, theme, width}, {height, layout, scroll}) {
  const room = height - kAxisHeight;
  if (layout.height + 4 <= room) return;
  const share = room / (layout.height + 4);
  context.fillStyle = theme.line;
  context.fillRect(width - 8, kAxisHeight, 8, room);
  context.fillStyle = theme.dim;
  context.fillRect(width - 7, kAxisHeight + scroll * share, 6, room * share);
}

function drawHead(pen, row, y) {
  const {context, theme, width} = pen;
  context.fillStyle = theme.panel;
  context.fillRect(0, y + 2, width, row.height - 4);
  context.fillStyle = theme.ink;
  const font = context.font;
  context.font = `bold ${font}`;
  context.fillText(fitted(row.text, 0.9 * width - 20, pen.widthOf), 6, y + row.height / 2);
  context.font = font;
}

function drawLane(pen, row, y, scene) {
  const {context, theme, gutter, widthOf} = pen;
  const text = row.text, wide = widthOf(text), room = gutter - 12;
  context.fillStyle = theme.dim;
  context.textAlign = 'right';
  context.fillText(fitted(text, room, widthOf), gutter - 6, y + row.height / 2);
  context.textAlign = 'left';
  context.fillStyle = theme.ink;
  if (row.rank) context.fillText(fitted(row.rank, room - wide - 8, widthOf), 6, y + row.height / 2);
  context.save();
  context.beginPath();
  context.rect(gutter, y, pen.width - gutter, row.height);
  context.clip();
  drawSpans(pen, row, y + 2, row.height - 4, scene);
  context.restore();
}

function drawSpans(pen, row, top, height, scene) {
  const {view, gutter, width} = pen;
  const [first, last] = spansIn(row.lane, view.from, view.to);
  if (last - first > kMostByOne) {
    const columns = width - gutter, step = (view.to - view.from) / columns;
    paintColumns(row.lane, view.from, step, columns, (column, count, cls, share, found, span) => {
      const tall = Math.max(2, height * share / 8);
      box(pen, cls, found, gutter + column, top + height - tall, count, tall);
      if (span >= 0) name(pen, row.lane, span, gutter + column, count, top, height);
    });
  } else {
    for (let i = first; i < last; ++i) drawSpan(pen, row.lane, i, top, height);
  }
  if (scene.selected && scene.selected.lane === row.lane) frame(pen, row.lane, scene.selected.index, top, height);
}

const xOf = (pen, time) => pen.gutter + (time - pen.view.from) * pen.scale;

function drawSpan(pen, lane, index, top, height) {
  const label = lane.labels[lane.label[index]];
  if (lane.end[index] <= lane.begin[index]) return;
  const left = Math.max(pen.gutter - 2, xOf(pen, lane.begin[index])), right = Math.min(pen.width + 2, xOf(pen, lane.end[index]));
  const wide = right - left;
  box(pen, label.class, !lane.found || lane.found.labels[lane.label[index]], left, top, Math.max(0.5, wide - (wide > 3 ? 1 : 0)), height,
    label.shade);
  name(pen, lane, index, left, wide, top, height);
}

/// What a search did not find fades.
function box({context}, cls, found, x, y, width, height, shade = 1) {
  context.globalAlpha = found ? shade : 0.15;
  context.fillStyle = fillOf(cls);
  context.fillRect(x, y, width, height);
  context.globalAlpha = 1;
}

function name(pen, lane, index, x, width, top, height) {
  const label = lane.labels[lane.label[index]];
  const number = label.text, room = number ? 2 : kTextRoom;
  if (width < (number ? pen.widthOf(number) + room : 14)) return;
  const text = number || nameWithin(width - room, label.name, pen.widthOf);
  if (!text) return;
  pen.context.fillStyle = label.shade < kReadable ? pen.theme.ink : inkOf(label.class);
  if (lane.found && !lane.found.labels[lane.label[index]]) pen.context.fillStyle = pen.theme.dim;
  pen.context.fillText(text, x + (number ? (width - pen.widthOf(number)) / 2 : room / 2), top + height / 2 + 0.5);
}

function frame(pen, lane, index, top, height) {
  const {context, theme} = pen;
  const left = xOf(pen, lane.begin[index]), right = Math.max(left + 3, xOf(pen, lane.end[index]));
  context.strokeStyle = theme.back;
  context.lineWidth = 4;
  context.strokeRect(left, top, right - left, height);
  context.strokeStyle = theme.ink;
  context.lineWidth = 2;
  context.strokeRect(left, top, right - left, height);
}

/// Ends of updates as lines, those of rounds dashed, each over its own schedule.
function drawMarks(pen, scene) {
  const {context, theme, gutter, width} = pen;
  let group = null, top = 0;
  const draw = (bottom) => {
    if (!group) return;
    const apart = group.marks.length > 1 ? (group.marks[group.marks.length - 1][0] - group.marks[0][0]) / group.marks.length : 0;
    if (apart * pen.scale < 4) return;  // a wall of lines says nothing
    for (const [time, isUpdate] of group.marks) {
      const x = xOf(pen, time);
      if (x < gutter || x > width) continue;
      context.strokeStyle = theme.ink;
      context.lineWidth = 1;
      context.setLineDash(isUpdate ? [] : [2, 3]);
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x, bottom);
      context.stroke();
    }
    context.setLineDash([]);
  };
  for (const row of scene.layout.rows) {
    const y = kAxisHeight + row.y - scene.scroll;
    if (row.kind !== 'head') continue;
    draw(y);
    group = row.group;
    top = y + row.height - 2;
  }
  draw(kAxisHeight + scene.layout.height - scene.scroll);
}

function drawAxis(pen, height) {
  const {context, theme, gutter, width, view} = pen;
  context.fillStyle = theme.back;
  context.fillRect(0, 0, width, kAxisHeight);
  const [first, step] = ticksOf(view, Math.max(2, (width - gutter) / 110));
  context.strokeStyle = theme.line;
  context.lineWidth = 1;
  for (let i = 0; first + i * step <= view.to; ++i) {
    const time = first + i * step, x = Math.round(xOf(pen, time)) + 0.5;
    context.beginPath();
    context.moveTo(x, kAxisHeight - 5);
    context.lineTo(x, kAxisHeight);
    context.stroke();
    context.fillStyle = theme.dim;
    const text = tickText(time, step), wide = pen.widthOf(text);
    if (x - wide / 2 > gutter - 30 && x + wide / 2 < width) context.fillText(text, x - wide / 2, kAxisHeight / 2 - 2);
  }
  context.beginPath();
  context.moveTo(gutter, kAxisHeight - 0.5);
  context.lineTo(width, kAxisHeight - 0.5);
  context.stroke();
}
