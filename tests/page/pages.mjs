// Pages for the browser's tests: made by the program, or by putting another document into one of its pages.
import {execFileSync} from 'node:child_process';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';

const kBegin = '<script type="application/json" id="document">', kEnd = '</script>';

/// A page and its document, of `accosim report WORDS`.
export function report(program, folder, name, words) {
  const file = join(folder, name);
  execFileSync(program, ['report', ...words, '-o', file], {stdio: ['ignore', 'inherit', 'inherit']});
  return {file, document: documentOf(file)};
}

export function documentOf(file) {
  const html = readFileSync(file, 'utf8'), from = html.indexOf(kBegin) + kBegin.length;
  return JSON.parse(html.slice(from, html.indexOf(kEnd, from)));
}

/// The page with another document, escaped as the program does.
export function withDocument(page, file, document) {
  const html = readFileSync(page, 'utf8'), from = html.indexOf(kBegin) + kBegin.length;
  const text = JSON.stringify(document).replaceAll('<', '\\u003c').replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
  writeFileSync(file, html.slice(0, from) + text + html.slice(html.indexOf(kEnd, from)));
  return {file, document};
}

const kEvil = '</script><script>window.harmed = 1</script><img src=x onerror="window.harmed = 2">{a|b} "\'`&\\\n' +
  '\u2028\u2029 \u{1F680}\u{1F468}\u200D\u{1F469} \u202E\u05E9\u05DC\u05D5\u05DD \u0645\u0631\u062D\u0628\u0627 ' + 'x'.repeat(10000);

/// Every name of the document, made as harmful as a text can be.
export function hostile(document) {
  const evil = kEvil;
  const copy = structuredClone(document);
  copy.result.scenario = copy.command = copy.words.question = copy.words.description = evil;
  const old = copy.result.results[1].label;
  copy.result.results[1].label = copy.breakdown[1].label = copy.timelines[1].label = evil;
  if (copy.result.baseline === old) copy.result.baseline = evil;
  copy.result.results[1].warnings.push({code: evil, message: evil, advice: evil});
  for (const label of copy.timelines[1].labels) label.name = evil;
  for (const row of copy.timelines[1].rows) row.name = evil;
  for (const fact of copy.words.facts) fact.text = evil;
  for (const bar of copy.memory) bar.label = evil;
  for (const row of copy.ground) row.name = row.figures = row.known = evil;
  return copy;
}

/// The same of a sweep's.
export function hostileSweep(document) {
  const copy = structuredClone(document), {sweep} = copy;
  sweep.scenario = sweep.baseline = sweep.counts = sweep.schedules[1] = copy.command = sweep.point_command = kEvil;
  for (const axis of sweep.axes) axis.name = axis.title = axis.values[1] = axis.set[1] = kEvil;
  for (const score of sweep.scores) score.speedup = score.fastest = score.answer = score.crossovers[0] = kEvil;
  for (const point of sweep.failed) point.why = point.at[0] = kEvil;
  sweep.worth.words[0] = sweep.worth.schedules[0].label = sweep.failures[0] = kEvil;
  return copy;
}

/// A machine and a run on it, of one rank: two updates of two micro-batches.
export function writeRun(folder) {
  const device = {schema: 'accosim.device/1', peak: {fp32: '1 TFLOP/s'}, gemm_efficiency: 1, flash_attention_efficiency: 0,
    memory_bandwidth: '10 GB/s', memory_efficiency: 1, memory: '8 GiB', launch_interval: '0 s'};
  const machine = {schema: 'accosim.scenario/1', model: {model_type: 'measured', parameters: 1000, micro_batch_time: '10 ms'},
    cluster: {schema: 'accosim.cluster/1', nodes: [{gpus: 1, device}]},
    training: {sequence_length: 1, micro_batch_size: 1, train_tokens: 1e6, precision: 'fp32', attention: 'naive',
      gradient_accumulation_steps: 2}, schedules: [{name: 'zero1'}]};
  const span = (begin) => ({rank: 0, lane: 'compute', label: 'micro-batch', begin_s: begin, end_s: begin + 0.01});
  const run = {schema: 'accosim.run/1', algorithm: 'zero1', ranks: 1, parameters: 1000,
    options: {slow: {}, micro_batches_per_round: 2}, updates_left_out: 1,
    updates: [{seconds: 0.025, samples: 2}, {seconds: 0.025, samples: 2}], spans: [0, 0.01, 0.026, 0.036].map(span)};
  writeFileSync(join(folder, 'machine.json'), JSON.stringify(machine));
  writeFileSync(join(folder, 'run.json'), JSON.stringify(run));
  return [join(folder, 'machine.json'), '--measured', join(folder, 'run.json')];
}
