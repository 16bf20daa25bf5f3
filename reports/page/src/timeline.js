// The timeline as people use it: wheel, drag, keys, buttons, hover, search. Every change draws once, in the next frame.

/// Returns {show(on), redraw()}. id: of the element that it fills, 'timeline' or 'pipeline'; timelines: of the document.
function makeTimeline(id, timelines) {
  const groups = timelineGroups(timelines);
  const parts = timelineParts(id);
  const {canvas, box} = parts;
  const context = canvas.getContext('2d');
  const end = Math.max(...groups.map(endOf));
  const state = {view: bounded({from: 0, to: end}, end), layout: {rows: [], height: 0}, scroll: 0, width: 0, height: 0,
    gutter: 0, theme: themeColours(), selected: null, hovered: null, asked: false};

  const draw = () => {
    state.asked = false;
    const begun = performance.now();
    drawTimeline(context, state);
    performance.clearMeasures('timeline');
    performance.measure('timeline', {start: begun, end: performance.now()});
  };
  const ask = () => {
    if (state.asked) return;
    state.asked = true;
    requestAnimationFrame(draw);
  };
  /// To the width of the page, at once where it is about to be printed.
  const fit = (now = false) => {
    const ratio = window.devicePixelRatio || 1;
    state.width = Math.max(300, Math.floor(box.clientWidth));
    state.gutter = state.width < 700 ? 150 : state.width < 1200 ? 230 : 300;
    const most = 'print' in document.documentElement.dataset ? 950 : Math.max(420, Math.round(window.innerHeight * 0.8));
    state.height = Math.min(kAxisHeight + state.layout.height + 4, most);
    canvas.width = Math.round(state.width * ratio);
    canvas.height = Math.round(state.height * ratio);
    canvas.style.height = `${state.height}px`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    state.scroll = Math.min(state.scroll, mostScroll());
    if (now) draw(); else ask();
  };
  const mostScroll = () => Math.max(0, state.layout.height + kAxisHeight + 4 - state.height);
  const look = (view) => {
    state.view = view;
    ask();
  };
  const at = (x) => state.view.from + (x - state.gutter) / (state.width - state.gutter) * (state.view.to - state.view.from);
  const use = {state, groups, canvas, end, ask, look, at, mostScroll, parts};
  addPointer(use);
  addKeys(use);
  addSearch(use);
  for (const [button, act] of [[parts.closer, () => look(zoomed(state.view, 2, middle(state.view), end))],
    [parts.farther, () => look(zoomed(state.view, 0.5, middle(state.view), end))],
    [parts.all, () => look(bounded({from: 0, to: end}, end))]]) button.addEventListener('click', act);
  new ResizeObserver(() => fit()).observe(box);
  showLegend(parts.legend, groups);
  parts.numbers.append(laneNumbers(groups));
  return {
    show(on) {
      state.layout = layoutOf(groups, groups.map((group, i) => on[Math.min(i, on.length - 1)]));
      fit();
    },
    redraw(now = false) {
      state.theme = themeColours();
      fit(now);
    },
  };
}

const middle = (view) => (view.from + view.to) / 2;

function timelineParts(id) {
  const button = (text, label) => el('button', {type: 'button', 'aria-label': label, title: label}, text);
  const parts = {
    closer: button('+', 'zoom in'), farther: button('−', 'zoom out'), all: button('all', 'show all of the time'),
    search: el('input', {type: 'search', placeholder: 'search for an op', 'aria-label': 'search for an op', list: `${id}-ops`}),
    ops: el('datalist', {id: `${id}-ops`}), found: el('span', {class: 'found', role: 'status'}),
    canvas: el('canvas', {tabindex: '0', role: 'application', 'aria-label': `${id === 'pipeline' ? 'Pipeline' : 'Timeline'} of the schedules`,
      'aria-describedby': `${id}-help`}),
    legend: el('p', {class: 'legend'}), tip: el('div', {class: 'tip floating', hidden: ''}),
    said: el('p', {class: 'said', role: 'status', 'aria-live': 'polite'}), numbers: el('div', {}),
    box: el('div', {class: 'canvas-box'}),
  };
  parts.box.append(parts.canvas, parts.tip);
  byId(id).append(
    el('div', {class: 'tools'}, parts.closer, parts.farther, parts.all, parts.search, parts.ops, parts.found),
    parts.legend, parts.box, parts.said,
    el('p', {class: 'help', id: `${id}-help`}, 'Drag to move; click, and then the wheel zooms (Ctrl and the wheel does always). ' +
      'Keys: + and - zoom, arrows move, Page Up and Page Down scroll, Home shows all, n and p step from op to op, ' +
      'Up and Down change the lane, Enter zooms to the op.'),
    parts.numbers);
  byId(`${id}-part`).hidden = false;
  return parts;
}

/// A mark of replicas that make updates by themselves ends so many as they make between two meetings.
function markInWords(groups) {
  const rounds = groups.map((group) => group.updatesPerMark).filter((each) => each > 1);
  if (rounds.length === 0) return 'an update ends';
  const least = Math.min(...rounds), most = Math.max(...rounds);
  const round = `a round of ${least === most ? most : `${least} to ${most}`} updates`;
  return rounds.length < groups.length ? `an update ends, or ${round}` : `${round} ends`;
}

function showLegend(legend, groups) {
  const present = new Set(groups.flatMap((g) => g.rows.flatMap((row) => row.lanes.flatMap(({lane}) => lane.classes))));
  for (const cls of kClassNames.filter((name) => present.has(name) && name !== 'mark')) {
    const swatch = el('span', {class: 'swatch'});
    swatch.style.background = fillOf(cls);
    legend.append(el('span', {class: 'key'}, swatch, kClasses[cls][2]));
  }
  if (groups.some((g) => g.labels.some((label) => label.text)))
    legend.append(el('span', {class: 'key'}, 'a row a stage of one replica, over an update; number: of the micro-batch' +
      (groups.some((g) => g.labels.some((label) => label.shade < 1)) ? '; the chunks of a stage: from dark to light' : '')));
  legend.append(el('span', {class: 'key'}, Object.entries(kBrief).map(([whole, brief]) => `${brief}: ${whole}`).join(', ')));
  if (groups.some((g) => g.marks.length > 0)) legend.append(el('span', {class: 'key'}, `line: ${markInWords(groups)}; dashed: a round`));
  const leftOut = groups.reduce((sum, group) => sum + group.leftOut, 0);
  if (leftOut > 0) legend.append(el('span', {class: 'key'}, `${format.count(leftOut)} ops are left out; choose fewer ranks or updates`));
}

/// How long each lane was busy, by class: the timeline for those who cannot see it.
function laneNumbers(groups) {
  const classes = kClassNames.filter((cls) => cls !== 'mark');
  const rows = groups.flatMap((group) => group.rows.flatMap((row) => row.lanes.map(({name, lane}) => {
    const times = busyByClass(lane, 0, endOf(group));
    return [nameOf(group.label), inWords(row.name, name),
      ...classes.map((cls) => (times[cls] > 0 ? format.time(times[cls] * 1e-9) : '-'))];
  })));
  return numbersOf('How long each lane was busy', ['schedule', 'lane', ...classes.map((cls) => kClasses[cls][2])], rows);
}

/// A pipeline's rows have one lane each, which needs no name.
const inWords = (row, lane) => (lane ? `${row}, ${lane}` : row);

function rowAt({state}, y) {
  const inRows = y - kAxisHeight + state.scroll;
  return state.layout.rows.find((row) => row.kind === 'lane' && row.y <= inRows && inRows < row.y + row.height);
}

/// What a span is, in words.
function spanText(row, index) {
  const {lane} = row, label = lane.labels[lane.label[index]];
  return [label.name, `${format.time((lane.end[index] - lane.begin[index]) * 1e-9)}, from ${format.moment(lane.begin[index] * 1e-9)}`,
    `${row.group.label}: ${inWords(row.of, row.text)}`];
}

/// What lies under a pixel: a span, or where many do what they come to.
function hoverText({state, at}, row, x) {
  const from = at(x - 0.5), to = at(x + 0.5);
  const [first, last] = spansIn(row.lane, from, to);
  if (last - first > 1) {
    const times = Object.entries(busyByClass(row.lane, from, to)).filter(([, time]) => time > 0).sort((a, b) => b[1] - a[1]);
    return [`${last - first} ops in ${format.time((to - from) * 1e-9)}`,
      ...times.map(([cls, time]) => `${kClasses[cls][2]}: ${format.percent(time / (to - from))}`)];
  }
  const index = spanAt(row.lane, at(x));
  if (index < 0 || row.lane.labels[row.lane.label[index]].class === 'mark') return null;
  return spanText(row, index);
}

function hover(use, event) {
  const {tip} = use.parts, {offsetX: x, offsetY: y} = event;
  const row = x > use.state.gutter ? rowAt(use, y) : null;
  const lines = row ? hoverText(use, row, x) : null;
  tip.hidden = !lines;
  if (!lines) return;
  tip.replaceChildren(...lines.map((line) => el('div', {dir: 'auto'}, line)));
  tip.style.left = `${Math.max(0, Math.min(x + 14, use.state.width - tip.offsetWidth - 4))}px`;
  tip.style.top = `${y + 18}px`;
}

function addPointer(use) {
  const {canvas, state, look, at, end, ask, mostScroll, parts} = use;
  let grip = null;
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    grip = {x: event.offsetX, y: event.offsetY, view: state.view, scroll: state.scroll, moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!grip) return hover(use, event);
    const dx = event.offsetX - grip.x, dy = event.offsetY - grip.y;
    grip.moved = grip.moved || Math.hypot(dx, dy) > 3;
    if (!grip.moved) return;
    parts.tip.hidden = true;
    state.scroll = Math.min(mostScroll(), Math.max(0, grip.scroll - dy));
    look(panned(grip.view, -dx * (grip.view.to - grip.view.from) / (state.width - state.gutter), end));
  });
  canvas.addEventListener('pointerup', (event) => {
    if (grip && !grip.moved) {
      const row = rowAt(use, event.offsetY);
      select(use, row, row ? spanAt(row.lane, at(event.offsetX)) : -1);
    }
    grip = null;
  });
  canvas.addEventListener('pointercancel', () => { grip = null; });
  canvas.addEventListener('pointerleave', () => { parts.tip.hidden = true; });
  canvas.addEventListener('dblclick', () => zoomToSelected(use));
  canvas.addEventListener('wheel', (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey && !event.metaKey) return;  // the page scrolls
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : 1;
    const across = event.shiftKey ? event.deltaY : event.deltaX;
    if (Math.abs(across) > Math.abs(event.shiftKey ? 0 : event.deltaY))
      look(panned(state.view, across * unit * (state.view.to - state.view.from) / (state.width - state.gutter), end));
    else look(zoomed(state.view, Math.exp(-event.deltaY * unit * 0.002), at(Math.max(state.gutter, event.offsetX)), end));
    ask();
  }, {passive: false});
}

/// row: of the layout, or null; index: of a span of its lane.
function select(use, row, index) {
  const {state, parts, ask} = use;
  state.selected = row && index >= 0 && row.lane.labels[row.lane.label[index]].class !== 'mark' ? {lane: row.lane, row, index} : null;
  parts.said.textContent = state.selected ? spanText(row, index).join('; ') : '';
  ask();
}

/// Moves the view no more than it must for the selected span to be in it.
function showSelected(use) {
  const {state, look, end, mostScroll} = use, {selected} = state;
  if (!selected) return;
  const begin = selected.lane.begin[selected.index], stop = selected.lane.end[selected.index];
  const width = state.view.to - state.view.from, top = selected.row.y;
  if (top < state.scroll || top + kRowHeight > state.scroll + state.height - kAxisHeight)
    state.scroll = Math.min(mostScroll(), Math.max(0, top - kHeadHeight));
  if (begin < state.view.from || stop > state.view.to)
    look(bounded({from: (begin + stop - width) / 2, to: (begin + stop + width) / 2}, end));
}

function zoomToSelected(use) {
  const {state, look, end} = use, {selected} = state;
  if (!selected) return;
  const begin = selected.lane.begin[selected.index], stop = selected.lane.end[selected.index];
  const room = Math.max(stop - begin, kLeastSpan);
  look(bounded({from: begin - room, to: stop + room}, end));
}

/// Steps to the next span in a direction; to one in the middle of the view where none is selected.
function step(use, direction, wanted) {
  const {state} = use;
  const row = state.selected ? state.selected.row : state.layout.rows.find((one) => one.kind === 'lane');
  if (!row) return;
  const from = state.selected ? state.selected.index
    : firstAfter(row.lane.end, direction > 0 ? state.view.from : state.view.to) - (direction > 0 ? 1 : 0);
  const index = nextSpan(row.lane, from, direction, wanted);
  if (index < 0) return;
  select(use, row, index);
  showSelected(use);
}

/// To the lane above or below, at the same time.
function changeLane(use, direction) {
  const {state} = use;
  const rows = state.layout.rows.filter((row) => row.kind === 'lane');
  if (!state.selected) return step(use, 1);
  const row = rows[rows.findIndex((one) => one.lane === state.selected.lane) + direction];
  if (!row) return;
  const time = state.selected.lane.begin[state.selected.index];
  select(use, row, Math.min(row.lane.count - 1, firstAfter(row.lane.end, time)));
  showSelected(use);
}

function addKeys(use) {
  const {canvas, state, look, end, ask, mostScroll} = use;
  const width = () => state.view.to - state.view.from;
  const centre = () => {
    const {selected} = state;
    if (!selected) return middle(state.view);
    const time = (selected.lane.begin[selected.index] + selected.lane.end[selected.index]) / 2;
    return time > state.view.from && time < state.view.to ? time : middle(state.view);
  };
  const scroll = (by) => {
    state.scroll = Math.min(mostScroll(), Math.max(0, state.scroll + by));
    ask();
  };
  const keys = {
    '+': () => look(zoomed(state.view, 1.5, centre(), end)), '=': () => keys['+'](),
    '-': () => look(zoomed(state.view, 1 / 1.5, centre(), end)), _: () => keys['-'](),
    ArrowLeft: () => look(panned(state.view, -width() / 8, end)), ArrowRight: () => look(panned(state.view, width() / 8, end)),
    ArrowUp: () => changeLane(use, -1), ArrowDown: () => changeLane(use, 1),
    PageUp: () => scroll(-state.height / 2), PageDown: () => scroll(state.height / 2),
    Home: () => look(bounded({from: 0, to: end}, end)), 0: () => keys.Home(),
    n: () => step(use, 1), p: () => step(use, -1), Enter: () => zoomToSelected(use),
    Escape: () => select(use, null, -1),
  };
  canvas.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
}

function addSearch(use) {
  const {groups, parts, state, ask} = use;
  const lanes = () => state.layout.rows.filter((row) => row.kind === 'lane');
  const names = [...new Set(groups.flatMap((group) => group.labels.filter((label) => label.class !== 'mark').map((label) => label.name)))];
  parts.ops.append(...names.map((text) => el('option', {value: text.slice(0, 200)})));
  const search = () => {
    const wanted = parts.search.value.trim().toLowerCase();
    let count = 0;
    for (const group of groups) {
      const labels = group.labels.map((label) => label.class !== 'mark' && label.name.toLowerCase().includes(wanted));
      for (const {lane} of group.rows.flatMap((row) => row.lanes)) {
        lane.found = wanted ? {labels, sums: sumsOf(lane, (label) => labels[label])} : null;
        if (wanted) for (let i = 0; i < lane.count; ++i) count += labels[lane.label[i]] ? 1 : 0;
      }
    }
    parts.found.textContent = wanted ? `${count} found${count > 0 ? '; Enter goes to the next' : ''}` : '';
    ask();
  };
  const next = () => {
    const rows = lanes().filter((row) => row.lane.found);
    if (rows.length === 0) return;
    const at = state.selected ? Math.max(0, rows.findIndex((row) => row.lane === state.selected.lane)) : 0;
    for (let k = 0; k <= rows.length; ++k) {
      const row = rows[(at + k) % rows.length];
      const from = k === 0 && state.selected && row.lane === state.selected.lane ? state.selected.index : -1;
      const index = nextSpan(row.lane, from, 1, (label) => row.lane.found.labels[label]);
      if (index < 0) continue;
      select(use, row, index);
      return showSelected(use);
    }
  };
  parts.search.addEventListener('input', search);
  parts.search.addEventListener('keydown', (event) => { if (event.key === 'Enter') next(); });
}
