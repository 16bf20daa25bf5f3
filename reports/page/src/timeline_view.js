// What the timeline shows: rows of lanes, the part of the time and of the rows that is in view. No drawing, no events.

const kRowHeight = 20, kHeadHeight = 26, kAxisHeight = 26, kLeastSpan = 20;  // the last in nanoseconds

/// Lanes of all timelines, from the document. A measured timeline lies lane by lane under its prediction.
function timelineGroups(timelines) {
  return timelines.map((one, index) => ({
    index, label: one.measured ? `${one.label}, measured` : one.label, measured: one.measured, marks: one.marks,
    updatesPerMark: one.updates_per_mark || 1,
    leftOut: one.left_out, labels: one.labels,
    rows: one.rows.map((row) => ({name: row.name,
      lanes: row.lanes.map((lane) => ({name: lane.name, lane: laneOf(lane.spans, one.labels)}))})),
  }));
}

const endOf = (group) => Math.max(1, ...group.rows.flatMap((row) => row.lanes.map(({lane}) =>
  (lane.count > 0 ? lane.end[lane.count - 1] : 0))), ...group.marks.map(([time]) => time));

/// Rows from the top, each {kind: 'head' | 'lane', y, height, ...}. on: which groups are shown.
function layoutOf(groups, on) {
  const rows = [];
  let y = 0;
  const add = (row) => {
    rows.push({...row, y});
    y += row.height;
  };
  const shownGroups = groups.filter((group) => on[group.index]);
  for (const group of shownGroups) {
    if (group.measured && shownGroups.some((other) => other.index === group.index - 1)) continue;  // drawn with it
    const over = groups[group.index + 1] && groups[group.index + 1].measured && on[group.index + 1]
      ? groups[group.index + 1] : null;
    add({kind: 'head', height: kHeadHeight, group, text: over ? `${group.label}: predicted, and measured below` : group.label});
    group.rows.forEach((rank, r) => rank.lanes.forEach((lane, l) => {
      const name = group.rows.length > 1 || l === 0 ? `${rank.name}` : '';
      add({kind: 'lane', height: kRowHeight, group, lane: lane.lane, text: lane.name, rank: l === 0 ? name : '', of: rank.name});
      const same = over && over.rows[r] && over.rows[r].lanes.find((other) => other.name === lane.name || over.rows[r].lanes.indexOf(other) === l);
      if (same) add({kind: 'lane', height: kRowHeight, group: over, lane: same.lane, text: 'measured', rank: '', of: rank.name});
    }));
  }
  return {rows, height: y};
}

/// Keeps a view inside [0, end], and not closer than anybody can see.
function bounded(view, end) {
  const width = Math.min(Math.max(view.to - view.from, kLeastSpan), end * 1.02);
  const from = Math.min(Math.max(view.from, -0.01 * end), Math.max(-0.01 * end, 1.01 * end - width));
  return {from, to: from + width};
}

/// `factor` above 1 comes closer; `at` stays where it is.
function zoomed(view, factor, at, end) {
  return bounded({from: at - (at - view.from) / factor, to: at + (view.to - at) / factor}, end);
}

const panned = (view, by, end) => bounded({from: view.from + by, to: view.to + by}, end);

/// Round steps of an axis, about `wanted` of them: [first, step].
function ticksOf(view, wanted) {
  const rough = (view.to - view.from) / wanted, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((round) => round * power >= rough);
  return [Math.ceil(view.from / step) * step, step];
}

/// A time of the axis in one unit for all of it.
function tickText(time, step) {
  const [factor, unit] = step >= 1e9 ? [1e9, 's'] : step >= 1e6 ? [1e6, 'ms'] : step >= 1e3 ? [1e3, 'us'] : [1, 'ns'];
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / factor) - 1e-9));
  return `${(time / factor).toFixed(decimals)} ${unit}`;
}

/// The next span of a lane after or before `index` that `wanted` takes; -1 where there is none.
function nextSpan(lane, index, direction, wanted = () => true) {
  for (let i = index + direction; i >= 0 && i < lane.count; i += direction)
    if (wanted(lane.label[i]) && lane.labels[lane.label[i]].class !== 'mark') return i;
  return -1;
}
