// The charts: bars a schedule, with the 80 % interval of what they show. Apache ECharts draws them, as SVG.

const kBar = 26;  // pixels a schedule, of its bar and the room around it
const kLegendRoom = 52;  // of a legend in two lines
const kNameLine = 14, kMostNameLines = 4;

/// Room for the names left of bars, at most a third of the chart: {left, lines} in pixels and lines of the longest.
function roomForNames(labels) {
  const context = document.createElement('canvas').getContext('2d'), most = byId('answer').clientWidth / 3;
  context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const longest = Math.max(60, ...labels.map((label) => context.measureText(label.slice(0, 300)).width + 4));
  const room = Math.min(longest, most), lines = Math.ceil(1.15 * longest / room);  // a break at a blank leaves some empty
  return {left: room + 20, lines: Math.min(longest > room ? lines : 1, kMostNameLines)};
}
const barRoom = (labels, least) => Math.max(least, kNameLine * roomForNames(labels).lines + 6);

/// The names are drawn as they are, in lines, cut where they are endless.
function schedulesAxis(labels, theme) {
  const {left} = roomForNames(labels), most = Math.floor(kMostNameLines * (left - 20) / 7);
  return {type: 'category', data: labels.map((_, i) => i), inverse: true, axisTick: {show: false},
    axisLine: {lineStyle: {color: theme.line}},
    axisLabel: {color: theme.ink, width: left - 20, overflow: 'break', lineHeight: kNameLine,
      formatter: (i) => (labels[i].length > most ? `${labels[i].slice(0, most)}\u2026` : labels[i])}};
}

function valuesAxis(theme, formatter, extra = {}) {
  return {type: 'value', axisLabel: {color: theme.dim, formatter, hideOverlap: true},
    splitLine: {lineStyle: {color: theme.line}}, ...extra};
}

/// An interval as a line with ends, at the height of its bar; data: [low, high, index of the schedule].
function intervalSeries(name, data, theme, {offset = 0, width = 1.5, color = theme.ink, end = 5} = {}) {
  return {name, type: 'custom', data, z: 5, clip: true, encode: {x: [0, 1], y: 2}, itemStyle: {color},
    tooltip: {show: false}, silent: true,
    renderItem(_, api) {
      const low = api.coord([api.value(0), api.value(2)]), high = api.coord([api.value(1), api.value(2)]);
      const y = low[1] + offset;
      const lines = [[low[0], y, high[0], y], [low[0], y - end, low[0], y + end], [high[0], y - end, high[0], y + end]];
      const drawn = (stroke, lineWidth) => lines.map(([x1, y1, x2, y2]) =>
        ({type: 'line', shape: {x1, y1, x2, y2}, style: {stroke, lineWidth}}));
      return {type: 'group', children: [...drawn(theme.back, width + 2), ...drawn(color, width)]};  // seen on any bar
    }};
}

/// Only what has something to draw, each once; intervals and limits look in the legend as they do in the chart.
function legendOf(series) {
  const icons = {interval: 'path://M0 0h2v10h-2z M2 4h16v2h-16z M18 0h2v10h-2z', capacity: 'path://M8 0h4v10h-4z'};
  const names = new Set(series.filter((one) => one.data.length > 0).map((one) => one.name));
  return [...names].map((name) => ({name, icon: icons[name] || 'rect'}));
}

/// The option with its series, and the legend that is theirs.
const withSeries = (option, series) => ({...option, series, legend: {...option.legend, data: legendOf(series)}});

/// Lines of texts, as elements, since names are not to be read as markup.
function tip(...lines) {
  return el('div', {class: 'tip'}, lines.map((line) => el('div', {}, line)));
}

const plainOption = (theme, describe) => ({animation: false, backgroundColor: 'transparent',
  textStyle: {fontFamily: theme.font, color: theme.ink}, aria: {enabled: true, label: {description: describe}},
  tooltip: {confine: true, backgroundColor: theme.panel, borderColor: theme.line, textStyle: {color: theme.ink}}});

const baseOption = (theme, labels, describe) => ({...plainOption(theme, describe),
  grid: {left: roomForNames(labels).left, right: 36, top: kLegendRoom, bottom: 30},
  legend: {top: 0, left: 0, textStyle: {color: theme.ink}, itemWidth: 16, itemHeight: 10, selectedMode: false},
  yAxis: schedulesAxis(labels, theme)});

const barOf = (name, color, data, extra = {}, decal = undefined) => ({name, type: 'bar', data, itemStyle: {color, decal,
  borderColor: '#00000040', borderWidth: 0.5}, barMaxWidth: 20, emphasis: {disabled: true}, ...extra});

/// Of the results that are shown: {r, b} with the breakdown of each.
function breakdownOption(shownOnes, theme) {
  const labels = shownOnes.map(({r}) => r.label);
  // For as many samples as are asked of an update: else a schedule whose batch grows looks slow.
  const asked = (r) => r.batch_inflation || 1;
  const timeIn = (b, use) => b.uses.find((one) => one.name === use)?.s ?? 0;
  const there = Object.keys(kUses).filter((use) => shownOnes.some(({b}) => timeIn(b, use) > 0));
  const option = baseOption(theme, labels, 'Bars of the time of an update of each schedule, by what it goes to; the numbers follow.');
  return withSeries({...option,
    xAxis: valuesAxis(theme, axisTime),
    tooltip: {...option.tooltip, formatter: ({seriesName, dataIndex, value}) => tip(labels[dataIndex],
      `${seriesName}: ${format.time(value)}, ${format.percent(value * asked(shownOnes[dataIndex].r) / shownOnes[dataIndex].b.update_s)}`)}}, [
      ...there.map((use) => barOf(use, kUses[use], shownOnes.map(({r, b}) => timeIn(b, use) / asked(r)),
        {stack: 'time'}, kDecals[use])),
      intervalSeries('interval', shownOnes.map(({r}, i) => [r.update_time_s_low / asked(r), r.update_time_s_high / asked(r), i]), theme),
    ]);
}

function breakdownNumbers(shownOnes) {
  const rows = shownOnes.flatMap(({b}) => b.uses.filter(({s}) => s > 0).map(({name, s}) =>
    [nameOf(b.label), name, format.time(s), format.percent(s / b.update_s)]));
  return numbersOf('An update, the mean of all ranks', ['schedule', 'what', 'time', 'share'], rows);
}

function speedupOption(shownOnes, theme, baseline) {
  const labels = shownOnes.map(({r}) => r.label);
  const option = baseOption(theme, labels, 'Bars of the speedups of each schedule, with intervals; the table has the numbers.');
  const half = 6, gap = 1;
  const ends = (low, high) => shownOnes.flatMap(({r}, i) => ((r[low] ?? null) === null ? [] : [[r[low], r[high], i]]));
  const intervals = (key, offset) => intervalSeries('interval', ends(`${key}_low`, `${key}_high`), theme, {offset, end: 4});
  const bands = (key, offset) => intervalSeries('seeds, 10 to 90 %', ends(`${key}_p10`, `${key}_p90`), theme,
    {offset, width: 5, color: theme.accent, end: 0});
  const bars = {barWidth: 2 * half - gap, barGap: `${200 * gap / (2 * half - gap) * 1.5}%`};
  return withSeries({...option,
    xAxis: valuesAxis(theme, (value) => `${value}x`, {min: 0}),
    tooltip: {...option.tooltip, formatter: ({seriesName, seriesIndex, dataIndex, value}) => {
      const r = shownOnes[dataIndex].r, key = seriesIndex === 0 ? 'speedup' : 'speedup_same_batch';
      const range = interval('factor', r[key + '_low'], r[key + '_high']);
      return tip(r.label, `${seriesName}: ${format.factor(value)}`, ...(range ? [`80 % interval: ${range}`] : []));
    }}}, [
      barOf(`speedup per token over ${baseline.slice(0, 40)}`, '#0072b2', shownOnes.map(({r}) => r.speedup), bars),
      barOf('at the same batch', '#e69f00', shownOnes.map(({r}) => r.speedup_same_batch), bars),
      bands('speedup', -half - gap), bands('speedup_same_batch', half + gap),
      intervals('speedup', -half - gap), intervals('speedup_same_batch', half + gap),
    ]);
}

const kGiB = 1024 ** 3;
function memoryGroupsOf(results) {
  const known = new Set(kMemoryGroups.flatMap(([, , parts]) => parts));
  const others = [...new Set(results.flatMap((r) => Object.keys(r.memory_parts_bytes)))].filter((part) => !known.has(part));
  const groups = others.length > 0 ? [...kMemoryGroups, ['other', '#dddddd', others]] : kMemoryGroups;
  const bytes = (r, parts) => parts.reduce((sum, part) => sum + (r.memory_parts_bytes[part] || 0), 0);
  return groups.map(([name, color, parts]) => ({name, color, parts, bytes: (r) => bytes(r, parts)}))
    .filter((group) => results.some((r) => group.bytes(r) > 0));
}

/// results: of the document's "memory", a bar for each kind of rank of a schedule.
function memoryOption(results, theme) {
  const labels = results.map((r) => r.label);
  const groups = memoryGroupsOf(results);
  const option = baseOption(theme, labels, 'Bars of the memory of a GPU by part, against its capacity; the numbers follow.');
  const decals = {'communication buffer': kDecals['exposed communication'], 'optimizer states': kDecals.optimizer};
  return withSeries({...option,
    xAxis: valuesAxis(theme, (value) => `${value} GiB`,
      {max: ({max}) => Math.ceil(Math.max(max, ...results.map((r) => Math.max(r.memory_capacity_bytes, r.memory_resident_bytes_high) / kGiB)) * 1.03)}),
    tooltip: {...option.tooltip, formatter: ({seriesIndex, dataIndex}) => {
      const r = results[dataIndex], group = groups[seriesIndex];
      return tip(labels[dataIndex], ...group.parts.filter((part) => r.memory_parts_bytes[part] > 0)
        .map((part) => `${part}: ${format.memory(r.memory_parts_bytes[part])}`));
    }}}, [
      ...groups.map((group) => barOf(group.name, group.color, results.map((r) => group.bytes(r) / kGiB), {stack: 'memory'},
        decals[group.name])),
      intervalSeries('interval', results.map((r, i) =>
        [r.memory_resident_bytes_low / kGiB, r.memory_resident_bytes_high / kGiB, i]), theme),
      {name: 'capacity', type: 'custom', z: 6, silent: true, encode: {x: 0, y: 1}, itemStyle: {color: '#c00000'},
        data: results.map((r, i) => [r.memory_capacity_bytes / kGiB, i]),
        renderItem(_, api) {
          const [x, y] = api.coord([api.value(0), api.value(1)]);
          return {type: 'line', shape: {x1: x, y1: y - kBar / 2, x2: x, y2: y + kBar / 2},
            style: {stroke: '#c00000', lineWidth: 3}};
        }},
    ]);
}

function memoryNumbers(bars) {
  const rows = bars.flatMap((r) => Object.entries(r.memory_parts_bytes).map(([part, bytes]) =>
    [nameOf(r.label), part, format.memory(bytes)]));
  return numbersOf('What a GPU holds at the peak', ['schedule', 'part', 'size'], rows);
}

/// A chart in a figure: its canvas, what it says, its numbers.
function chartIn(id, caption, bars) {
  const figure = byId(id);
  const box = el('div', {class: 'chart'});
  const numbers = el('div', {});
  figure.append(box, el('figcaption', {}, caption), numbers);
  figure.hidden = false;
  let chart = null;
  return {
    /// `labels`: of the bars.
    draw(option, labels, inNumbers) {
      box.style.height = `${kLegendRoom + 30 + barRoom(labels, bars) * labels.length}px`;
      chart = chart || echarts.init(box, null, {renderer: 'svg'});
      chart.resize();
      chart.setOption(option, {notMerge: true});
      if (inNumbers) numbers.replaceChildren(inNumbers);
    },
  };
}

/// Returns {draw(on)} for all of them, at the width that there is; `on` says which schedules are shown.
function makeCharts({result, breakdown, memory: bars}) {
  const all = result.results.map((r, i) => ({r, b: breakdown[i]}));
  byId('breakdown-part').hidden = byId('memory-part').hidden = false;
  const time = chartIn('breakdown', 'The mean of all ranks, of as many samples as are asked of an update. The line at the end of a bar is the 80 % interval ' +
    'of the update.', kBar + 8);
  const memory = chartIn('memory', 'What a GPU holds at the peak, with its 80 % interval. The red line is the capacity.', kBar + 8);
  const compared = all.length > 1 && all.some(({r}) => r.speedup !== null);
  const seeds = all.some(({r}) => r.seeds !== undefined);
  const speedup = compared ? chartIn('speedup', 'Speedups over the baseline, with their 80 % intervals' +
    (seeds ? ', and the 10 to 90 % band of the seeds as a thick line.' : '.'), kBar + 16) : null;
  return {
    draw(on) {
      const theme = themeColours(), some = all.filter((_, i) => on[i]);
      const labels = some.map(({r}) => r.label);
      time.draw(breakdownOption(some, theme), labels, breakdownNumbers(some));
      const held = bars.filter(({schedule}) => on[schedule]);
      memory.draw(memoryOption(held, theme), held.map(({label}) => label), memoryNumbers(held));
      if (speedup) speedup.draw(speedupOption(some, theme, result.baseline || ''), labels);
    },
  };
}
