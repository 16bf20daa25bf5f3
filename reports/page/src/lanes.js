// The spans of a lane, and sums over them, so that a view of a hundred thousand spans costs what its pixels cost.

/// Of [gap, duration, label, ...] in nanoseconds: where each span begins and ends, its label, and for each of the lane's
/// classes how long the lane was busy with it before each span. classOf[label]: index of its class.
function laneOf(flat, labels) {
  const count = flat.length / 3;
  const lane = {count, begin: new Float64Array(count), end: new Float64Array(count), label: new Uint32Array(count),
    labels, classes: [], classOf: [], sums: [], found: null};
  let time = 0;
  for (let i = 0; i < count; ++i) {
    lane.begin[i] = time + flat[3 * i];
    time = lane.end[i] = lane.begin[i] + flat[3 * i + 1];
    lane.label[i] = flat[3 * i + 2];
  }
  const present = new Set(lane.label);
  lane.classes = [...new Set([...present].map((label) => labels[label].class))];
  lane.classOf = labels.map((label) => lane.classes.indexOf(label.class));
  lane.sums = lane.classes.map((_, k) => sumsOf(lane, (label) => lane.classOf[label] === k));
  return lane;
}

/// sums[i]: the time of the spans before i whose label is wanted.
function sumsOf(lane, wanted) {
  const sums = new Float64Array(lane.count + 1);
  for (let i = 0; i < lane.count; ++i)
    sums[i + 1] = sums[i] + (wanted(lane.label[i]) ? lane.end[i] - lane.begin[i] : 0);
  return sums;
}

/// The first index from `from` on at which values[index] > time; `to` where there is none before it.
function firstAfter(values, time, from = 0, to = values.length) {
  let low = from, high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] > time) high = middle; else low = middle + 1;
  }
  return low;
}

/// The same where the answer is near `from`: looks ahead in growing steps.
function nextAfter(values, time, from) {
  let reach = 1;
  while (from + reach < values.length && values[from + reach] <= time) reach *= 2;
  return firstAfter(values, time, from, Math.min(values.length, from + reach));
}

/// The span at a moment; -1 where there is none.
function spanAt(lane, time) {
  const i = firstAfter(lane.end, time);
  return i < lane.count && lane.begin[i] <= time ? i : -1;
}

/// The spans that are at least in part in [from, to): indices first to last - 1.
function spansIn(lane, from, to, start = 0) {
  const first = firstAfter(lane.end, from, start);
  return [first, Math.max(first, firstAfter(lane.begin, to, first))];
}

/// Nanoseconds by class in [from, to).
function busyByClass(lane, from, to) {
  const [first, last] = spansIn(lane, from, to);
  const times = {};
  lane.classes.forEach((cls, k) => {
    times[cls] = last > first ? busyOf(lane, k, from, to, first, last) : 0;
  });
  return times;
}

/// How much of [from, to) the lane is busy with its k-th class; first < last are of spansIn().
function busyOf(lane, k, from, to, first, last) {
  let time = lane.sums[k][last] - lane.sums[k][first];
  if (lane.classOf[lane.label[first]] === k && lane.begin[first] < from) time -= from - lane.begin[first];
  if (lane.classOf[lane.label[last - 1]] === k && lane.end[last - 1] > to) time -= lane.end[last - 1] - to;
  return time;
}

/// Draws what a lane does in `count` equal columns from `from` on, `step` each: calls paint(column, columns, cls, share,
/// found, span) once for neighbouring columns that look alike. cls is what takes most of the time there, share how much
/// of it the lane is busy, in eighths; span is the only one there, or -1.
function paintColumns(lane, from, step, count, paint) {
  const kinds = lane.classes.length;
  let first = 0, last = 0, begun = 0, looks = 0, cls = 0, found = true, span = -1;
  const flush = (column) => {
    if (looks > 0) paint(begun, column - begun, lane.classes[cls], looks, found, span);
    begun = column;
  };
  for (let column = 0; column < count; ++column) {
    const t0 = from + column * step, t1 = t0 + step;
    first = nextAfter(lane.end, t0, first);
    last = nextAfter(lane.begin, t1, Math.max(first, last));  // begins are after t0 until here, too
    let all = 0, most = 0, main = 0;
    for (let k = 0; last > first && k < kinds; ++k) {
      const time = busyOf(lane, k, t0, t1, first, last);
      all += time;
      if (time > most) {
        most = time;
        main = k;
      }
    }
    const share = all > 0 ? Math.max(1, Math.round(8 * Math.min(1, all / step))) : 0;
    const wanted = !lane.found || (last > first && lane.found.sums[last] > lane.found.sums[first]);
    const only = last - first === 1 ? first : -1;
    if (share === looks && main === cls && wanted === found && only === span) continue;
    flush(column);
    looks = share;
    cls = main;
    found = wanted;
    span = only;
  }
  flush(count);
}
