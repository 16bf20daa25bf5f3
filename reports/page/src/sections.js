// The parts of the page that are text: question and answer, the table, warnings, what it all rests on.

function showAnswer({words}) {
  const facts = words.facts.filter((fact) => fact.name !== 'scenario');
  byId('answer').append(
    el('p', {class: 'question', dir: 'auto'}, words.question),
    el('p', {class: 'answer', dir: 'auto'}, words.answer),
    el('dl', {class: 'facts'}, facts.map((fact) => [el('dt', {}, fact.name), el('dd', {dir: 'auto'}, fact.text)])),
    ...(words.description ? [el('details', {}, el('summary', {}, 'about the scenario'),
      el('p', {dir: 'auto'}, words.description))] : []));
}

/// A figure with its interval below it.
const withInterval = (value, range) =>
  range ? [value, el('span', {class: 'interval'}, range)] : value;

const kVerdicts = {fits: 'fits', tight: 'tight', does_not_fit: 'does not fit'};

const ourError = (error) => (error === null ? '' : `our error ${format.error(error)}`);

/// What stands below a figure in place of its interval, and what below that.
const kBelow = {
  published_time_s: (r) => ourError(r.published_time_error),
  published_speedup: (r) => ourError(r.published_speedup_error),
  tokens_per_s: (r) => format.count(r.tokens_per_s_per_gpu),
};
const bandOf = (r, key, kind) => (r.seeds === undefined ? null :
  el('span', {class: 'interval'}, `${r.seeds} seeds: ${interval(kind, r[`${key}_p10`], r[`${key}_p90`])}`));
const kLast = {
  update_time_s: (r) => bandOf(r, 'update_time_s', 'time'),
  speedup: (r) => bandOf(r, 'speedup', 'factor'),
  memory_resident_bytes: (r) => el('span', {class: `verdict ${r.fit_verdict}`},
    `${kVerdicts[r.fit_verdict]}: ${format.memory(r.memory_capacity_bytes)}`),
};

function metricCell({key, format: kind}, r) {
  if (r[key] === null) return '-';
  const below = kBelow[key] ? kBelow[key](r) : interval(kind, r[`${key}_low`], r[`${key}_high`]);
  return [withInterval(key === 'cost' ? money(r[key], r.currency) : format[kind](r[key]), below), kLast[key] ? kLast[key](r) : null];
}

/// The metrics that any result has, a row each.
function showComparison({result, metrics}) {
  const head = (r) => [nameOf(r.label), r.label === result.baseline ? el('span', {class: 'interval'}, 'baseline') : null];
  const another = result.results.some((r) => r.published_of_another_run) ? 'of another run' : '';
  const meaningOf = ({key, meaning}) =>
    (key.startsWith('published_') ? [meaning, another].filter((words) => words).join(', ') : meaning);
  const rows = metrics.filter(({key}) => result.results.some((r) => r[key] !== null)).map((metric) => {
    const meaning = meaningOf(metric);
    return [[metric.name, meaning ? el('span', {class: 'interval'}, meaning) : null],
      ...result.results.map((r) => metricCell(metric, r))];
  });
  byId('comparison').append(table('', [el('span', {class: 'hidden'}, 'figure'), ...result.results.map(head)], rows));
  byId('schedules').hidden = false;
  if (result.fair_words) byId('fair').append(el('ul', {}, sentencesIn('li', result.fair_words)));
  showPauses(result);
}

function showPauses(result) {
  const rows = result.results.flatMap((r) => (r.pauses || []).map((pause) => [nameOf(r.label), nameOf(pause.name),
    format.time(pause.lasts_s), format.time(pause.delays_s), format.count(pause.every_updates)]));
  if (rows.length > 0)
    byId('fair').append(wideTable('Pauses: how long one lasts, and by how much it delays the training',
      ['schedule', 'pause', 'lasts', 'delays', 'every so many updates'], rows));
}

/// A switch for each schedule; `changed` is told which are on.
function showSwitches({result}, changed) {
  if (result.results.length < 2) return;
  const boxes = result.results.map(() => el('input', {type: 'checkbox', checked: ''}));
  const tell = () => changed(boxes.map((box) => box.checked));
  for (const box of boxes) box.addEventListener('change', tell);
  byId('switches').append(...result.results.map((r, i) => el('label', {class: 'switch'}, boxes[i], nameOf(r.label))));
}

/// Columns of the table follow the switches.
function showColumns(on) {
  for (const row of byId('comparison').querySelectorAll('tr'))
    [...row.children].slice(1).forEach((cell, i) => { cell.hidden = !on[i]; });
}

/// What every schedule is warned of is said once.
function showWarnings({result}) {
  const key = (w) => JSON.stringify([w.code, w.message, w.advice]);
  const all = result.results.map((r) => r.warnings);
  const shared = all.length > 1 ? all[0].filter((w) => all.every((list) => list.some((o) => key(o) === key(w)))) : [];
  const isShared = (w) => shared.some((o) => key(o) === key(w));
  const parts = [['all schedules', shared],
    ...result.results.map((r) => [r.label, r.warnings.filter((w) => !isShared(w))])].filter(([, list]) => list.length > 0);
  const item = (w) => el('li', {}, el('span', {dir: 'auto'}, w.message), ' ', el('code', {}, w.code),
    w.advice ? el('p', {class: 'advice', dir: 'auto'}, w.advice) : null);
  showIn('warnings', ...(parts.length === 0 ? [el('p', {}, 'None.')] : []),
    ...parts.flatMap(([label, list]) => [el('h3', {}, nameOf(label)), el('ul', {}, list.map(item))]));
}

function showGround({ground, errors, result}) {
  const name = (error) => error.group + (error.device ? `, on ${error.device}` : '');
  showIn('ground',
    wideTable('Devices and links', ['what', 'name', 'figures', 'how well it is known'],
      ground.map((row) => [row.what, nameOf(row.name), row.figures, row.known])),
    el('p', {}, 'Intervals are of 80 %: they come from what the fits of kernels and links leave over. ' +
      `Links are ${result.network === 'simgrid' ? 'shared by all that goes over them' : 'free of contention'} in this prediction.`),
    errors.length === 0 ?
      el('p', {}, 'How far off such predictions were is not known here: accosim\'s own sources, which hold its ' +
        'validation, were not beside the program.') :
      wideTable('How far off such predictions were: mean error of published measurements',
        ['what was measured', 'cases', 'its source left out of the fits', 'fitted to it too'],
        errors.map((error) => [name(error), error.cases, error.without_source, error.fitted])));
}

function showAgain({command, version}) {
  showIn('again', el('pre', {class: 'command', tabindex: '0'}, command), el('p', {}, `accosim ${version}`));
}

/// From one schedule to another, a change at a time.
function showLadder({ladder}) {
  if (!ladder) return;
  const factor = (value) => shown('factor', value), change = (value, i) => (i === 0 ? '-' : factor(value));
  const rows = ladder.rungs.map((rung, i) => [nameOf(rung.change), format.time(rung.update_time_s),
    format.count(rung.samples_per_update), change(rung.times, i), factor(rung.speedup),
    change(rung.times_same_batch, i), factor(i === 0 ? 1 : rung.speedup_same_batch)]);
  showIn('ladder', el('p', {dir: 'auto'}, ladder.words),
    wideTable(`From ${ladder.from} to ${ladder.to}: each line is the one above it with one change`,
      ['change', 'update', 'samples an update', 'times, per token', 'speedup, per token', 'times, same batch',
        'speedup, same batch'], rows));
}

/// A measured run beside its prediction, part by part.
function showRun({run}) {
  if (!run) return;
  const error = (measured, predicted) => measured > 0 && predicted > 0 ? format.error(predicted / measured - 1) : '-';
  const time = (value) => value > 0 ? format.time(value) : '-';
  showIn('run',
    el('p', {dir: 'auto'}, `${run.file}: an update took ${format.time(run.measured_s)} and is predicted to take ` +
      `${format.time(run.predicted_s)} (${error(run.measured_s, run.predicted_s)}).`),
    wideTable('Mean time of a part, waiting for other ranks included',
      ['part', 'measured', 'predicted', 'error', 'how often', 'predicted'],
      run.parts.map((part) => [nameOf(part.name), time(part.measured_s), time(part.predicted_s),
        error(part.measured_s, part.predicted_s), String(part.measured_count), String(part.predicted_count)])));
}
