// The page of a sweep: which schedule is the fastest where, along one axis with its interval and over two as a map.

/// The line of a schedule, as the pictures have it: {colour, dash}. What is drawn in ink there is so in both themes.
const lineOf = ({looks}, s) => ({colour: looks[s].colour ?? themeColours().ink, dash: looks[s].dash});

const kScoreNames = {tokens: 'tokens per second', 'same-batch': 'equal samples an update',
  'best-synchronous': 'over the best synchronous schedule',
  alone: 'against the fastest part alone', time: 'time of all tokens', cost: 'cost of all tokens'};

/// What the pickers say: {score, axis, up, at: index of a value by axis}. The other axes are at their middle, or at the
/// value nearest to it at which most points were played.
function firstView(sweep) {
  const {axes} = sweep, byLength = axes.map((_, i) => i).sort((a, b) => axes[b].values.length - axes[a].values.length);
  const across = byLength.find((i) => axes[i].numbers) ?? byLength[0];
  const view = {score: 0, axis: across, up: byLength.find((i) => i !== across) ?? null,
    at: axes.map((axis) => Math.floor((axis.values.length - 1) / 2))};
  const played = (at) => alongAxis(sweep, {...view, at}).filter((index) => parseInt(sweep.scores[0].winners[index], 10) >= 0).length;
  axes.forEach((axis, k) => {
    const middle = view.at[k], atValue = (i) => view.at.map((value, j) => (j === k ? i : value));
    const order = axis.values.map((_, i) => i).sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
    const counts = order.map((i) => played(atValue(i)));
    view.at = atValue(order[counts.indexOf(Math.max(...counts))]);
  });
  return view;
}

/// Number of the point with these values of the axes; the last axis changes fastest.
const indexOf = (axes, at) => axes.reduce((index, axis, i) => index * axis.values.length + at[i], 0);

/// The points along one axis.
const alongAxis = ({axes}, view) => axes[view.axis].values.map((_, i) =>
  indexOf(axes, view.at.map((value, k) => (k === view.axis ? i : value))));

function sweepAxis(axis, theme, extra = {}) {
  return {type: 'category', data: axis.values, name: axis.title, nameLocation: 'middle', nameGap: 30,
    nameTextStyle: {color: theme.ink, overflow: 'truncate', width: 400}, axisTick: {alignWithLabel: true},
    axisLine: {onZero: false, lineStyle: {color: theme.line}},
    axisLabel: {color: theme.dim, hideOverlap: true, width: 110, overflow: 'truncate'}, ...extra};
}

/// The curves that are on: {s, label, points: [place on the axis, speedup, low, high]}.
function curvesOf(sweep, view) {
  const score = sweep.scores[view.score], line = alongAxis(sweep, view);
  return sweep.schedules.map((label, s) => ({s, label, points: line.flatMap((index, i) => {
    const [value, low, high] = score.speedups[s].slice(3 * index, 3 * index + 3);
    return value === null ? [] : [[i, value, low, high]];
  })})).filter(({s, points}) => view.on[s] && points.length > 0);
}

function curveOption(sweep, view, theme) {
  const curves = curvesOf(sweep, view), axis = sweep.axes[view.axis], score = sweep.scores[view.score];
  const over = score.format === 'factor', shownAs = format[score.format];  // over a baseline, which is 1
  const all = [...(over ? [1] : []), ...curves.flatMap(({points}) => points.flatMap((point) => point.slice(2)))].filter((one) => one > 0);
  const least = Math.min(...all), most = Math.max(...all), logarithmic = most / least > 30;
  const drawn = ({s, points}) => ({type: 'custom', name: sweep.schedules[s], silent: true, data: [[0, 1]], z: 2,
    renderItem(_, api) {
      const at = (x, y) => api.coord([x, Math.max(y, least)]);
      const band = [...points.map(([x, , low]) => at(x, low)), ...points.map(([x, , , high]) => at(x, high)).reverse()];
      const {colour: color, dash} = lineOf(sweep, s);
      return {type: 'group', children: [
        {type: 'polygon', shape: {points: band}, style: {fill: color, opacity: 0.13}},
        {type: 'polyline', shape: {points: points.map(([x, y]) => at(x, y))},
          style: {stroke: color, lineWidth: 2.2, lineDash: dash, fill: 'none'}}]};
    }});
  const touched = ({s, label, points}) => ({type: 'custom', name: label, data: points, encode: {x: 0, y: 1}, z: 3,
    renderItem(_, api) {
      const [cx, cy] = api.coord([api.value(0), api.value(1)]);
      return {type: 'circle', shape: {cx, cy, r: points.length > 30 ? 2.2 : 3.2}, style: {fill: lineOf(sweep, s).colour}};
    }});
  const even = {type: 'custom', silent: true, data: [[0, 1]], z: 1, renderItem(info, api) {
    const y = api.coord([0, 1])[1], {x, width} = info.coordSys;
    return {type: 'line', shape: {x1: x, y1: y, x2: x + width, y2: y}, style: {stroke: theme.dim, lineWidth: 1, lineDash: [3, 3]}};
  }};
  const base = plainOption(theme, `${score.speedup} along ${axis.name}, a curve a schedule with its interval; the numbers follow.`);
  const room = logarithmic ? [least / 1.15, most * 1.15] : [Math.max(0, least - 0.06 * (most - least)), most + 0.06 * (most - least)];
  return {...base, grid: {left: 62, right: 24, top: 14, bottom: 52}, xAxis: sweepAxis(axis, theme),
    yAxis: {type: logarithmic ? 'log' : 'value', min: room[0], max: room[1], axisLine: {show: false},
      axisLabel: {color: theme.dim, formatter: (value) => shownAs(value), showMinLabel: false, showMaxLabel: false},
      splitLine: {lineStyle: {color: theme.line}}},
    tooltip: {...base.tooltip, formatter: ({seriesName, value: [x, y, low, high]}) => tip(seriesName,
      `${axis.title}: ${axis.values[x]}`, `${score.speedup}: ${shownAs(y)}`, `80 % interval: ${interval(score.format, low, high)}`)},
    series: [...(over ? [even] : []), ...curves.map(drawn), ...curves.map(touched)]};
}

function curveNumbers(sweep, view) {
  const axis = sweep.axes[view.axis], curves = curvesOf(sweep, view), kind = sweep.scores[view.score].format;
  const rows = axis.values.map((value, i) => [value, ...curves.map(({points}) => {
    const point = points.find(([x]) => x === i);
    return point ? withInterval(format[kind](point[1]), interval(kind, point[2], point[3])) : '-';
  })]);
  return numbersOf(sweep.scores[view.score].speedup, [nameOf(axis.title), ...curves.map(({label}) => nameOf(label))], rows);
}

/// What follows the number of a winner: reports' MapCell.
const kMarkMeanings = {'~': '; the interval leaves the fastest open', '*': ' is the nearest: none is without a caveat'};

/// Cells of the map: [across, upward, the winner as the document has it, what the score shows of it].
function cellsOf(sweep, view) {
  const across = sweep.axes[view.axis], upward = sweep.axes[view.up], {winners, speedups} = sweep.scores[view.score];
  return across.values.flatMap((_, x) => upward.values.map((_, y) => {
    const at = view.at.map((value, k) => (k === view.axis ? x : k === view.up ? y : value));
    const index = indexOf(sweep.axes, at), winner = parseInt(winners[index], 10);
    return [x, y, winners[index], Number.isInteger(winner) ? speedups[winner][3 * index] : null];
  }));
}

function mapOption(sweep, view, theme) {
  const across = sweep.axes[view.axis], upward = sweep.axes[view.up];
  const score = sweep.scores[view.score], cells = cellsOf(sweep, view), winnerOf = (mark) => parseInt(mark, 10);
  const base = plainOption(theme, `The fastest schedule over ${across.name} and ${upward.name}, a cell a point.`);
  const meaning = (mark) => mark === '!' ? 'failed' : mark === 'x' ? 'no schedule fits' : mark === '' ? 'not played' :
    sweep.schedules[winnerOf(mark)] + (kMarkMeanings[mark.slice(-1)] ?? '');
  return {...base, grid: {left: 90, right: 24, top: 26, bottom: 52}, xAxis: sweepAxis(across, theme, {splitLine: {show: false}}),
    yAxis: sweepAxis(upward, theme, {nameLocation: 'end', nameGap: 10, nameTextStyle: {color: theme.ink, align: 'left'}}),
    tooltip: {...base.tooltip, formatter: ({data: [x, y, mark, value]}) =>
      tip(meaning(mark), ...(value === null ? [] : [`${score.speedup}: ${format[score.format](value)}`]), `${across.title}: ${across.values[x]}`, `${upward.title}: ${upward.values[y]}`)},
    series: [{type: 'custom', data: cells, encode: {x: 0, y: 1}, renderItem({dataIndex}, api) {
      const [x, y, mark, value] = cells[dataIndex], [cx, cy] = api.coord([x, y]), [wide, high] = api.size([1, 1]);
      const winner = winnerOf(mark), isWon = Number.isInteger(winner);
      const cell = {type: 'rect', shape: {x: cx - wide / 2, y: cy - high / 2, width: wide, height: high},
        style: {fill: isWon ? sweep.looks[winner].fill : theme.back, stroke: theme.back, lineWidth: Math.min(wide, high) > 8 ? 1 : 0.3}};
      const spent = score.format === 'count' && value !== null && wide > 44 && high > 12 ? format.count(value) + ' ' : '';
      const says = spent + (isWon ? mark.replace(/^[0-9]+/, '') : mark);
      if (says === '') return cell;
      const ink = isWon ? '#000' : theme.ink;
      const size = Math.min(spent === '' ? 14 : 11, high - 1, wide * 1.3);
      return {type: 'group', children: [cell, size < 8 ?
        {type: 'circle', shape: {cx, cy, r: 1}, style: {fill: ink}} :
        {type: 'text', style: {text: says, x: cx, y: cy, align: 'center', verticalAlign: 'middle', fill: ink, fontSize: size}}]};
    }}]};
}

/// A picker of one of `texts`; `changed` is told its number.
function picker(name, texts, chosen, changed) {
  const select = el('select', {}, texts.map((one, i) => el('option', {value: i, ...(i === chosen ? {selected: ''} : {})}, one.slice(0, 80))));
  select.addEventListener('change', () => changed(Number(select.value)));
  return el('label', {class: 'pick'}, nameOf(name), select);
}

/// The schedules as a legend that switches them.
function curveSwitches(sweep, view, changed) {
  return el('div', {class: 'legend', role: 'group', 'aria-label': 'Schedules that are shown'}, sweep.schedules.map((label, s) => {
    const box = el('input', {type: 'checkbox', ...(view.on[s] ? {checked: ''} : {})});
    box.addEventListener('change', () => {
      view.on[s] = box.checked;
      changed();
    });
    const swatch = el('span', {class: 'swatch', 'aria-hidden': 'true'});
    swatch.style.background = lineOf(sweep, s).colour;
    return el('label', {class: 'switch key'}, box, swatch, nameOf(label));
  }));
}

function sweepTools(sweep, view, isMap, changed) {
  const {axes} = sweep, tools = el('div', {class: 'tools'});
  tools.append(picker('fastest by', sweep.scores.map(({name}) => kScoreNames[name]), view.score, (i) => changed({score: i})));
  const free = isMap ? [view.axis, view.up] : [view.axis];
  if (axes.length > 1)
    tools.append(picker('along', axes.map(({name}) => name), view.axis, (i) => changed({axis: i, up: view.up === i ? view.axis : view.up})));
  if (isMap && axes.length > 2) {
    const others = axes.map((_, i) => i).filter((i) => i !== view.axis);
    tools.append(picker('and', others.map((i) => axes[i].name), others.indexOf(view.up), (i) => changed({up: others[i]})));
  }
  axes.forEach((axis, k) => {
    if (!free.includes(k))
      tools.append(picker(`${axis.title} =`, axis.values, view.at[k], (i) => changed({at: view.at.map((value, j) => (j === k ? i : value))})));
  });
  return tools;
}

/// The command that makes a point's page; empty: unknown. at: index of a value by axis.
function pageOfPoint({axes, point_command: command}, at) {
  const sets = axes.map(({set}, i) => set && `--set ${set[at[i]]}`);
  return command && sets.every((set) => set) ? [command, ...sets, '-o point.html'].join(' ') : '';
}

/// What a point comes to, and that command.
function pointSays(sweep, view, at) {
  const {axes, schedules, scores} = sweep, command = pageOfPoint(sweep, at);
  const score = scores[view.score], index = indexOf(axes, at), places = axes.map(({title, values}, i) => `${title} = ${values[at[i]]}`);
  const figures = schedules.flatMap((label, s) => {
    const [value, low, high] = score.speedups[s].slice(3 * index, 3 * index + 3);
    return value === null || !view.on[s] ? [] : [`${label} ${format[score.format](value)} (${interval(score.format, low, high)})`];
  });
  return [el('p', {dir: 'auto'}, `${places.join(', ')}. ${figures.length > 0 ? figures.join('; ') : 'Nothing was played here, or nothing fits'}.`),
    ...(command ? [el('p', {}, 'Its page, with the timeline:'), el('pre', {class: 'command', tabindex: '0'}, command)] : [])];
}

/// A chart under its tools. `draw(chart, view)` gives what is below it. A point is chosen by a click or the arrow keys.
function sweepChart(id, sweep, isMap, height, optionOf, belowOf) {
  const figure = byId(id), view = {...firstView(sweep), on: sweep.schedules.map(() => true)};
  const tools = el('div', {}), said = el('figcaption', {}), point = el('div', {class: 'point', 'aria-live': 'polite'}), below = el('div', {});
  const box = el('div', {class: 'chart', tabindex: '0', role: 'application', 'aria-label': `Points of ${isMap ? 'the map' : 'the curves'}; arrow keys choose one`});
  figure.append(tools, box, said, point, below);
  figure.hidden = false;
  box.style.height = `${height}px`;
  const chart = echarts.init(box, null, {renderer: 'svg'});
  const draw = () => {
    chart.setOption(optionOf(sweep, view, themeColours()), {notMerge: true});
    const {speedup, fastest} = sweep.scores[view.score];
    said.textContent = (isMap ? `By colour, ${fastest}. ~ or a dot: the interval leaves the fastest open; * or a dot: none without a caveat, the nearest is shown; ` +
        'x: none fits; !: failed.' :
      curvesOf(sweep, view).length === 0 ? 'Nothing was played here, or no schedule is shown.' :
        `${speedup[0].toUpperCase()}${speedup.slice(1)}, with 80 % intervals.`) + ' A click on a point, or the arrow keys, tell its values.';
    below.replaceChildren(belowOf(sweep, view, draw));
  };
  let chosen = null;  // the values of the axes at the point that is told of
  const choose = (at) => {
    chosen = at;
    point.replaceChildren(...pointSays(sweep, view, at));
  };
  const drawn = () => (isMap ? [view.axis, view.up] : [view.axis]);
  chart.on('click', ({data}) => choose(view.at.map((value, k) => (drawn().includes(k) ? data[drawn().indexOf(k)] : value))));
  box.addEventListener('keydown', (event) => {
    const [i, by] = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowDown: [1, -1], ArrowUp: [1, 1]}[event.key] ?? [];
    const axis = drawn()[i];
    if (axis === undefined) return;
    event.preventDefault();
    const moved = (k) => Math.min(Math.max(chosen[k] + (k === axis ? by : 0), 0), sweep.axes[k].values.length - 1);
    choose(view.at.map((value, k) => (chosen ? moved(k) : drawn().includes(k) ? 0 : value)));
  });
  const change = (what) => {
    Object.assign(view, what);
    chosen = null;
    point.replaceChildren();
    tools.replaceChildren(sweepTools(sweep, view, isMap, change));
    draw();
  };
  change({});
  return {draw, resize: () => chart.resize()};
}

function mapLegend(sweep, view) {
  const won = new Set(cellsOf(sweep, view).map(([, , mark]) => parseInt(mark, 10)));
  return el('div', {class: 'legend'}, sweep.schedules.flatMap((label, s) => {
    if (!won.has(s)) return [];
    const swatch = el('span', {class: 'swatch', 'aria-hidden': 'true'});
    swatch.style.background = sweep.looks[s].fill;
    return [el('span', {class: 'key'}, swatch, nameOf(label))];
  }));
}

const percentOf = (share) => (share === null ? '-' : `${fixed(100 * share, 0)} %`);

function showSweepWords(sweep) {
  const [score] = sweep.scores, {ranking} = sweep;
  const best = ranking.asked ? [ranking.words, ranking.also].filter((text) => text) : [];
  byId('answer').append(el('p', {class: 'question', dir: 'auto'}, sweep.counts),
    ...sentencesIn('p', [...best, score.answer], {class: 'answer'}),
    ...(score.crossovers.length > 0 ? [el('ul', {}, sentencesIn('li', score.crossovers))] : []),
    ...sentencesIn('p', [...sweep.unfit, sweep.beside, ...sweep.cautions].filter((text) => text), {class: 'question'}));
  byId('sweep-wins').append(...sweep.axes.flatMap((axis, a) => !axis.telling ? [] : el('details', {}, el('summary', {}, 'by ', nameOf(axis.name)),
    wideTable('Share of the points at which each schedule is the fastest', [nameOf(axis.title), ...sweep.schedules.map(nameOf)],
      axis.values.map((value, i) => [nameOf(value), ...score.wins[a][i].map(percentOf)])))));
}

/// A figure as a bar with its interval, of a column whose longest reaches to `most`.
function gauge(value, low, high, most) {
  const bar = el('i', {}), range = el('b', {});
  bar.style.width = `${100 * value / most}%`;
  range.style.left = `${100 * low / most}%`;
  range.style.width = `${100 * (high - low) / most}%`;
  return el('span', {class: 'gauge', 'aria-hidden': 'true'}, bar, range);
}

/// With the command of its page behind it.
function nameOfPoint(sweep, {at, point}) {
  const command = pageOfPoint(sweep, point);
  return command === '' ? nameOf(at) : el('details', {class: 'stays'}, el('summary', {}, nameOf(at)), el('pre', {class: 'command', tabindex: '0'}, command));
}

/// The points from the best on, with what they come to.
function showRanking(sweep) {
  const {ranking} = sweep;
  if (!ranking || ranking.points.length < 2) return;
  const priced = ranking.points.some(({cost}) => cost !== null);
  const most = (key) => Math.max(...ranking.points.map((one) => one[`${key}_high`] ?? one[key] ?? 0));
  const drawn = (one, key) => one[key] === null ? '-' : gauge(one[key], one[`${key}_low`], one[`${key}_high`], most(key));
  const ranged = (one, kind, key) => withInterval(shown(kind, one[key]), interval(kind, one[`${key}_low`], one[`${key}_high`]));
  const costs = (one) => !priced ? [] : one.cost === null ? ['-', '-'] : [withInterval(money(one.cost, one.currency),
    interval('count', one.cost_low, one.cost_high)), drawn(one, 'cost')];
  showIn('ranking', ...(ranking.asked ? [] : sentencesIn('p', [ranking.words])),
    wideTable(ranking.title + (sweep.point_command ? '; behind a point the command of its page, with the timeline' : ''),
      ['point', 'schedule', 'all tokens', '', ...(priced ? ['cost', ''] : []), 'tokens a second', 'GPU-hours'],
      ranking.points.map((one) => [nameOfPoint(sweep, one), nameOf(one.schedule + (one.winner ? '' : ' *')),
        ranged(one, 'clock', 'total_time_s'), drawn(one, 'total_time_s'), ...costs(one),
        shown('count', one.tokens_per_s), shown('count', one.gpu_hours)])));
}

function showWorth({words, schedules}) {
  showIn('worth', ...sentencesIn('p', words), ...(schedules.length === 0 ? [] :
    [wideTable('Each schedule on the whole cluster, per token',
      ['schedule', 'faster than the fastest part', 'interval leaves it open', 'over the part, median',
        'over the best synchronous, median'],
      schedules.map((one) => [nameOf(one.label), percentOf(one.pays), percentOf(one.open),
        shown('factor', one.over_alone), shown('factor', one.over_best_synchronous)]))]));
}

function showFailed({failed, failures, left_out: leftOut, axes}) {
  if (failed.length + leftOut.length === 0) return;
  showIn('failed', el('ul', {}, sentencesIn('li', [...leftOut, ...failures])), ...(failed.length === 0 ? [] :
    [wideTable(failed.length < 200 ? '' : 'The first 200', ['point', ...axes.map(({name}) => nameOf(name)), 'why'],
      failed.map(({index, at, why}) => [String(index), ...at.map(nameOf), el('span', {class: 'why', dir: 'auto'}, why)]))]));
}

/// Fills the page; returns {draw(), resize()} of its charts.
function showSweep({sweep}) {
  byId('sweep').hidden = false;
  showSweepWords(sweep);
  showRanking(sweep);
  if (sweep.tuned) showIn('tuned', ...sentencesIn('p', sweep.tuned));
  if (sweep.worth) showWorth(sweep.worth);
  showFailed(sweep);
  if (!sweep.grid) {
    byId('sweep-title').hidden = true;
    byId('sweep').append(el('p', {}, 'The points are no grid, so there is no chart along an axis; the table of accosim sweep --csv has them all.'));
    return {draw() {}, resize() {}};
  }
  const charts = [sweepChart('sweep-curve', sweep, false, 420, curveOption, (_, view, draw) =>
    el('div', {}, curveSwitches(sweep, view, draw), curveNumbers(sweep, view)))];
  if (sweep.axes.length > 1) {
    byId('map-part').hidden = false;
    const lines = sweep.axes[firstView(sweep).up].values.length;
    charts.push(sweepChart('sweep-map', sweep, true, Math.min(720, 90 + Math.max(140, 26 * lines)), mapOption, mapLegend));
  }
  return {draw: () => charts.forEach((chart) => chart.draw()), resize: () => charts.forEach((chart) => chart.resize())};
}
