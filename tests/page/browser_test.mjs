// Opens pages in a real browser with the network cut off: they draw, answer the mouse and the keys, show the figures of the
// JSON, take no harm from names, and look as they did. `node browser_test.mjs ACCOSIM`; prints what it checked, exits 1
// where something is wrong. UPDATE_PICTURES=1 writes the pictures anew, and fails.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {basename, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {runInNewContext} from 'node:vm';
import {startBrowser} from './browser.mjs';
import {hostile, hostileSweep, report, withDocument, writeRun} from './pages.mjs';

const program = resolve(process.argv[2]);
const here = fileURLToPath(new URL('.', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'accosim-pages-'));
const {format, interval} = runInNewContext(`${readFileSync(join(here, '../../reports/page/src/format.js'), 'utf8')}; ({format, interval})`);
let browser, failed = 0;

async function check(name, body) {
  try {
    await body();
    console.log(`ok: ${name}`);
  } catch (error) {
    ++failed;
    console.log(`FAILED: ${name}\n${error.stack}`);
  }
}

const text = (page, selector) => page.evaluate(`document.querySelector(${JSON.stringify(selector)}).innerText`);
const shot = (page) => page.evaluate(`document.querySelector('canvas').toDataURL()`);
/// The canvas on the screen: {x, y, width, height, gutter}.
const place = (page) => page.evaluate(`(() => { const c = document.querySelector('canvas'); c.scrollIntoView({block: 'center'});
  const {x, y, width, height} = c.getBoundingClientRect(); return {x, y, width, height}; })()`);

/// Nothing that a program says to itself.
async function saysNothingOdd(page) {
  const words = (await page.evaluate('document.body.innerText')).match(/\b(null|NaN|undefined|Infinity)\b/g) ?? [];
  assert.deepEqual(words, [], 'in the text of the page');
}

async function draws(page) {
  await page.settle();
  await saysNothingOdd(page);
  assert.deepEqual(page.complaints, []);
  const shapes = await page.evaluate(`[...document.querySelectorAll('figure:not([hidden]) svg')].map((one) => one.querySelectorAll('path').length)`);
  assert.ok(shapes.length >= 2 && shapes.every((count) => count > 10), `shapes of the charts: ${shapes}`);
  const colours = await page.evaluate(`(() => { const c = document.querySelector('canvas');
    const bytes = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, seen = new Set();
    for (let i = 0; i < bytes.length; i += 4) seen.add(bytes[i] << 16 | bytes[i + 1] << 8 | bytes[i + 2]);
    return seen.size; })()`);
  assert.ok(colours > 20, `${colours} colours in the timeline`);
  assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, 'wider than the window');
}

/// The changes of the timeline that an action makes: it draws something else.
async function changes(page, action, what) {
  const before = await shot(page);
  await action();
  await page.settle();
  assert.notEqual(await shot(page), before, what);
}

async function timelineAnswers(page) {
  const at = await place(page), x = at.x + at.width * 0.6, y = at.y + 26 + 26 + 20 + 8;  // the second lane
  await page.mouse('mouseMoved', x, y);
  await page.settle();
  const tip = await text(page, '.floating');
  assert.match(tip, /rank 0|ops in/, `hover: ${tip}`);
  await changes(page, async () => {
    await page.mouse('mousePressed', x, y, {button: 'left', clickCount: 1});
    await page.mouse('mouseReleased', x, y, {button: 'left', clickCount: 1});
  }, 'a click selects');
  assert.match(await text(page, '.said'), /rank 0/);
  await changes(page, () => page.mouse('mouseWheel', x, y, {deltaX: 0, deltaY: -400}), 'the wheel zooms');
  await changes(page, async () => {
    await page.mouse('mousePressed', x, y, {button: 'left'});
    await page.mouse('mouseMoved', x - 80, y, {button: 'left', buttons: 1});
    await page.mouse('mouseReleased', x - 80, y, {button: 'left'});
  }, 'dragging moves');
  for (const key of ['+', '-', 'ArrowRight', 'ArrowLeft', 'n', 'p', 'ArrowDown', 'Enter', 'Home'])
    await changes(page, () => page.key(key), `the key ${key}`);
  await page.evaluate(`document.querySelector('.tools input').focus()`);
  await page.call('Input.insertText', {text: 'backward'});
  await page.settle();
  assert.match(await text(page, '.found'), /^[1-9][0-9]* found/);
  await page.key('Enter');
  assert.match(await text(page, '.said'), /^backward/);
}

async function figuresAre(page, results) {
  const cells = await page.evaluate(`[...document.querySelectorAll('#comparison tbody tr')].map((row) =>
    [...row.children].map((cell) => cell.innerText.replace(/\\s+/g, ' ').trim()))`);
  const row = (name) => cells.find(([head]) => head.startsWith(name)).slice(1);
  results.forEach((r, i) => {
    const is = (name, wanted) => assert.equal(row(name)[i], wanted.trim(), `${name} of ${r.label}`);
    is('update', `${format.time(r.update_time_s)} ${interval('time', r.update_time_s_low, r.update_time_s_high)}`);
    is('all tokens', `${format.clock(r.total_time_s)} ${interval('clock', r.total_time_s_low, r.total_time_s_high)}`);
    is('speedup per token', `${format.factor(r.speedup)} ${interval('factor', r.speedup_low, r.speedup_high)}`);
    is('tokens a second', `${format.count(r.tokens_per_s)} ${format.count(r.tokens_per_s_per_gpu)}`);
    is('MFU', format.percent(r.mfu));
    is('exposed', format.time(r.exposed_communication_s));
    is('memory', `${format.memory(r.memory_resident_bytes)} ${interval('memory', r.memory_resident_bytes_low,
      r.memory_resident_bytes_high)} fits: ${format.memory(r.memory_capacity_bytes)}`);
  });
}

async function switchesAreUsed(page) {
  const heads = () => page.evaluate(`[...document.querySelectorAll('#comparison thead th')].filter((one) => !one.hidden).length`);
  const tall = () => page.evaluate(`document.querySelector('canvas').height`);
  const [columns, height] = [await heads(), await tall()];
  await page.evaluate(`document.querySelectorAll('#switches input')[1].click()`);
  await page.settle();
  assert.equal(await heads(), columns - 1);
  assert.ok(await tall() < height);
  await page.evaluate(`document.querySelectorAll('#switches input')[1].click()`);
  await page.settle();
  assert.equal(await tall(), height);
}

async function allIsNamed(page) {
  const {nodes} = await page.call('Accessibility.getFullAXTree');
  const unnamed = nodes.filter((node) => !node.ignored && ['button', 'checkbox', 'searchbox', 'application', 'region'].includes(node.role?.value) && !node.name?.value);
  assert.deepEqual(unnamed.map((node) => node.role.value), [], 'without a name for screen readers');
  await page.key('Tab');
  assert.notEqual(await page.evaluate(`getComputedStyle(document.activeElement).outlineStyle`), 'none', 'focus is visible');
}

/// Share of the pixels in which two pictures (PNG in base64) differ by more than rounding; 1 where their sizes do.
function difference(page, a, b) {
  return page.evaluate(`(async () => {
    const pixels = async (base64) => {
      const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
      const image = await createImageBitmap(new Blob([bytes], {type: 'image/png'}));
      const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
      context.drawImage(image, 0, 0);
      return context.getImageData(0, 0, image.width, image.height);
    };
    const [one, other] = [await pixels('${a}'), await pixels('${b}')];
    if (one.width !== other.width || one.height !== other.height) return 1;
    let differ = 0;
    for (let i = 0; i < one.data.length; i += 4)
      differ += [0, 1, 2].some((k) => Math.abs(one.data[i + k] - other.data[i + k]) > 40);
    return 4 * differ / one.data.length;
  })()`);
}

const kMostDifferent = 0.01;
async function looksAsBefore(page, name) {
  const file = join(here, 'pictures', `${name}.png`), picture = await page.picture();
  if (process.env.UPDATE_PICTURES) writeFileSync(file, Buffer.from(picture, 'base64'));
  assert.ok(!process.env.UPDATE_PICTURES, `${name} is written; run again without UPDATE_PICTURES`);
  assert.ok(existsSync(file), `${file} is missing; write it with UPDATE_PICTURES=1`);
  const share = await difference(page, picture, readFileSync(file).toString('base64'));
  if (share > kMostDifferent) writeFileSync(join(tmpdir(), `accosim-${name}.png`), Buffer.from(picture, 'base64'));
  assert.ok(share <= kMostDifferent, `${(100 * share).toFixed(2)} % of the pixels differ; see ${join(tmpdir(), `accosim-${name}.png`)}`);
  console.log(`    ${name}: ${(100 * share).toFixed(3)} % of the pixels differ`);
}

async function measured(page, spans) {
  const paint = await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0].startTime`);
  const ready = await page.evaluate(`performance.getEntriesByType('navigation')[0].loadEventEnd`);
  const at = await place(page), script = [], step = [];
  await page.call('Performance.enable', {timeDomain: 'threadTicks'});  // of the processor, whatever else it does
  const scripted = async () => 1000 * (await page.call('Performance.getMetrics')).metrics.find(({name}) => name === 'ScriptDuration').value;
  await page.evaluate(`document.querySelector('canvas').focus()`);
  for (let i = 0; i < 60; ++i) {
    const before = await scripted(), begun = performance.now();
    await page.mouse('mouseWheel', at.x + at.width * 0.6, at.y + 100, {deltaX: 0, deltaY: i < 30 ? -200 : 200});
    await page.settle();
    step.push(performance.now() - begun);
    script.push(await scripted() - before);
  }
  const of = (list, share) => list.sort((a, b) => a - b)[Math.floor(share * (list.length - 1))].toFixed(1);
  console.log(`    ${spans} spans: first paint ${paint.toFixed(0)} ms, all drawn ${ready.toFixed(0)} ms (wanted: below 1000)`);
  console.log(`    a zoom step: script ${of(script, 0.5)} ms, nine of ten ${of(script, 0.9)}, worst ${of(script, 1)} (wanted: below 16); ` +
    `until it is seen ${of(step, 0.5)} ms, nine of ten ${of(step, 0.9)} (wanted: below 100)`);
}

/// The numbers of paths in the charts of a sweep's page.
const sweepShapes = (page) => page.evaluate(`['sweep-curve', 'sweep-map'].map((id) => document.querySelectorAll('#' + id + ' svg path').length)`);
/// The drawn charts with their captions, as text: two scores may colour a map alike.
const sweepShot = (page) => page.evaluate(`[...document.querySelectorAll('#sweep figure')].map((one) => one.outerHTML).join()`);

async function sweepDraws(page) {
  await page.settle();
  await saysNothingOdd(page);
  assert.deepEqual(page.complaints, []);
  const shapes = await sweepShapes(page);
  assert.ok(shapes.every((count) => count > 10), `shapes of the charts: ${shapes}`);
  assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, 'wider than the window');
  assert.equal(await page.evaluate(`document.querySelectorAll('section:not([hidden]) canvas').length`), 0);
}

/// Picks every one in a picker, and the charts are others.
async function pickersChange(page) {
  const pickers = await page.evaluate(`document.querySelectorAll('#sweep select').length`);
  assert.equal(pickers, 5, 'score, axis and value of the curve; score and axis of the map');
  for (let i = 0; i < pickers; ++i) {
    const before = await sweepShot(page), shots = [];
    const options = await page.evaluate(`document.querySelectorAll('#sweep select')[${i}].options.length`);
    for (let option = 0; option < options; ++option) {
      await page.evaluate(`(() => { const one = document.querySelectorAll('#sweep select')[${i}];
        one.selectedIndex = ${option}; one.dispatchEvent(new Event('change')); })()`);
      await page.settle();
      shots.push(await sweepShot(page));
    }
    assert.ok(shots.includes(before), `picker ${i} does not come back`);
    assert.ok(shots.some((shot) => shot !== before), `picker ${i}`);
  }
  const [paths] = await sweepShapes(page);
  await page.evaluate(`document.querySelector('#sweep-curve .switch input').click()`);
  await page.settle();
  assert.ok((await sweepShapes(page))[0] < paths, 'a schedule that is switched off is not drawn');
}

/// A point is told of under a mouse and chosen by a click or the arrow keys, with the command that makes its page.
async function pointsAnswer(page) {
  for (const [id, second] of [['sweep-curve', 'ArrowRight'], ['sweep-map', 'ArrowUp']]) {
    const said = () => text(page, `#${id} .point`);
    await page.evaluate(`document.querySelector('#${id} .chart').focus()`);
    await page.key('ArrowRight');
    const first = await said();
    assert.match(first, /A100 nodes = 0, micro-batches an update = [248]\. .*zero1 1\.00x/);
    assert.match(first, /accosim report h100_a100 --set \/cluster\/nodes\/1\/count=0 --set \/training\/gradient_accumulation_steps=[248] -o point\.html/);
    await page.key(second);
    assert.notEqual(await said(), first, `${second} in ${id}`);
    // A circle of a curve, a cell of the map: what lies furthest right.
    const {x, y} = await page.evaluate(`(() => { const box = document.querySelector('#${id} .chart');
      box.scrollIntoView({block: 'center'});
      const shapes = [...box.querySelectorAll('svg path')].map((one) => one.getBoundingClientRect())
        .filter(({width, height}) => ${id === 'sweep-map' ? 'height > 20 && width > 20 && height < 100' : 'Math.abs(width - 6.4) < 1 && Math.abs(height - 6.4) < 1'});
      const {left, top, width, height} = shapes.reduce((a, b) => (b.left > a.left ? b : a));
      return {x: left + width / 2, y: top + height / 2}; })()`);
    await page.mouse('mouseMoved', x, y);
    await page.settle();
    assert.match(await text(page, `#${id} .tip`), /A100 nodes: 8/, `hover in ${id}`);
    await page.mouse('mousePressed', x, y, {button: 'left', clickCount: 1});
    await page.mouse('mouseReleased', x, y, {button: 'left', clickCount: 1});
    await page.settle();
    assert.match(await said(), /^A100 nodes = 8, /, `click in ${id}`);
  }
}

/// A word goes on in another line only behind a hyphen.
async function breaksNoWord(page) {
  const broken = await page.evaluate(`[...document.querySelectorAll('th .name, td .name')].flatMap(({firstChild}) =>
    [...(firstChild?.data ?? '').matchAll(/[^\\s-]+-?/g)].filter(({0: word, index}) => {
      const range = document.createRange();
      range.setStart(firstChild, index);
      range.setEnd(firstChild, index + word.length);
      return new Set([...range.getClientRects()].map(({top}) => top)).size > 1;
    }).map(([word]) => word))`);
  assert.deepEqual(broken, [], 'words in two lines');
}

/// What the page says is what its document says, and that is what the terminal does.
async function sweepSays(page, {sweep}, summary) {
  const body = (await page.evaluate('document.body.innerText')).replace(/\s+/g, ' ');
  const terminal = summary.replace(/\s+/g, ' ');
  for (const words of [sweep.counts, ...sweep.worth.words, ...sweep.failures, ...sweep.scores[0].crossovers]) {
    assert.ok(body.includes(words), words);
    assert.ok(terminal.includes(words), `not in the terminal: ${words}`);
  }
  const rows = await page.evaluate(`[...document.querySelectorAll('#failed tbody tr')].map((row) => row.innerText)`);
  assert.equal(rows.length, sweep.failed.length);
  assert.match(rows[0], /gradient_accumulation_steps/);
}

/// Of what takes minutes where sanitizers watch the program: one replica of the model. Mixes are not tuned.
const kSmaller = Object.fromEntries(['gpt3_175b_1024_a100', 'llama_3_405b_16384_h100'].map((name) =>
  [name, ['--set', '/cluster/nodes/0/count=16', '--set', '/training/gradient_accumulation_steps=32', '--no-tuned']]));

async function main() {
  const plain = report(program, folder, 'plain.html', ['finetune_2x4_a100', '--ladder', 'ddp', 'acco']);
  const many = report(program, folder, 'many.html', ['llama-2-7b_fsdp_hsdp', '--timeline-updates', '60']);
  const run = report(program, folder, 'run.html', writeRun(folder));
  const piped = report(program, folder, 'piped.html', ['mixed_16_a100_16_v100', '--schedule', 'zero1', '--set', '/training/gradient_accumulation_steps=8', '--set',
    '/training/parallel={"tensor_parallel_size": 2, "pipeline_parallel_size": 4, "virtual_pipeline_stages": 2}', '--no-tuned']);  // one pipeline
  const fixed = withDocument(plain.file, join(folder, 'fixed.html'), JSON.parse(readFileSync(join(here, 'document.json'), 'utf8')));
  const evil = withDocument(plain.file, join(folder, 'evil.html'), hostile(plain.document));
  const rows = join(folder, 'rows.jsonl');
  const summary = execFileSync(program, ['sweep', 'h100_a100', '--over', '/cluster/nodes/1/count=0,1,2,4,8', '--over',
    '/training/gradient_accumulation_steps=2,0,4,8', '--fair', '-o', rows], {encoding: 'utf8', env: {...process.env, COLUMNS: '200'}});
  const swept = report(program, folder, 'sweep.html', [rows]);
  const sweptFixed = withDocument(swept.file, join(folder, 'sweep-fixed.html'), JSON.parse(readFileSync(join(here, 'sweep.json'), 'utf8')));
  const sweptEvil = withDocument(swept.file, join(folder, 'sweep-evil.html'), hostileSweep(swept.document));
  const json = JSON.parse(execFileSync(program, ['compare', 'finetune_2x4_a100', '--json'], {encoding: 'utf8'}));
  browser = await startBrowser();
  console.log(browser.version);
  const on = (page, options, body) => async () => {
    const opened = await browser.open(page.file, options);
    try {
      await body(opened);
      assert.deepEqual(opened.complaints, []);
    } finally {
      await opened.close();
    }
  };

  await check('a page draws at 1600 pixels', on(plain, {width: 1600}, draws));
  await check('its figures are those of compare --json', on(plain, {}, (page) => figuresAre(page, json.results)));
  await check('a ladder has a line a change', on(plain, {}, async (page) => {
    const lines = await page.evaluate(`[...document.querySelectorAll('#ladder tbody tr')].map((row) => row.innerText)`);
    const {rungs} = plain.document.ladder;
    assert.equal(lines.length, rungs.length);
    rungs.forEach((rung, i) => assert.ok(lines[i].startsWith(rung.change) &&
      lines[i].includes(format.factor(rung.speedup)) && !lines[i].includes('inf'), lines[i]));
  }));
  await check('its timeline answers hover, click, wheel, drag, keys and search', on(plain, {}, timelineAnswers));
  await check('schedules are switched off and on', on(plain, {}, switchesAreUsed));
  await check('everything has a name, and focus is seen', on(plain, {}, allIsNamed));
  await check('it is printed', on(plain, {}, async (page) => {
    const {data} = await page.call('Page.printToPDF', {printBackground: true});
    assert.ok(data.length > 50000);
    await page.settle();
  }));
  for (const [what, page, shows, x, y] of [['names', evil, draws, 500, 300], ['a sweep\'s names', sweptEvil, sweepDraws, 300, 400]])
    await check(`${what} that mean harm do none`, on(page, {width: 800}, async (opened) => {
      await shows(opened);
      await opened.mouse('mouseMoved', x, y);
      assert.equal(await opened.evaluate('window.harmed'), undefined);
      assert.equal(await opened.evaluate(`document.querySelectorAll('script').length`), 3);
    }));
  await check('nothing can be loaded', async () => {
    const page = await browser.open(plain.file);
    assert.equal(await page.evaluate(`fetch('data:text/plain,x').then(() => 'loaded', () => 'refused')`), 'refused');
    await page.close();
  });
  await check('a measured run lies over its prediction', on(run, {width: 800}, async (page) => {
    await draws(page);
    const at = await place(page);  // under the axis and the heading: the predicted lane, and the measured one
    await page.mouse('mouseMoved', at.x + at.width * 0.4, at.y + 26 + 26 + 20 + 10);
    await page.settle();
    assert.match(await text(page, '.floating'), /micro-batch[^]*measured/);
    assert.match(await text(page, '#run'), /is predicted to take/);
  }));
  await check('a pipeline is drawn, and searched, under the numbers of its micro-batches', on(piped, {width: 1600}, async (page) => {
    await page.settle();
    await saysNothingOdd(page);
    const {y, x, width} = await page.evaluate(`(() => { const c = document.querySelector('#pipeline canvas');
      c.scrollIntoView({block: 'center'}); const {x, y, width} = c.getBoundingClientRect(); return {x, y, width}; })()`);
    await page.mouse('mouseMoved', x + width * 0.5, y + 26 + 26 + 3 * 20 + 10);  // under the axis and the heading: the last stage, which never waits long
    await page.settle();
    assert.match(await text(page, '#pipeline .floating'), /^micro-batch [1-8], (forward|backward), chunk [12] of 2[^]*stage 3$/);
    await page.evaluate(`document.querySelector('#pipeline input').focus()`);
    await page.call('Input.insertText', {text: 'micro-batch 8, forward'});
    await page.settle();
    assert.equal(await text(page, '#pipeline .found'), '8 found; Enter goes to the next');  // two chunks on four stages
    const stages = await page.evaluate(`[...document.querySelectorAll('#memory tbody tr')].map((row) => row.firstElementChild.textContent)`);
    assert.ok(stages.some((cell) => /^stages? 0/.test(cell)) && stages.some((cell) => /^stage.*3/.test(cell)), `${stages}`);
  }));
  for (const [name, page, shows, options] of [
    ['light-800', fixed, draws, {width: 800}], ['dark-1600', fixed, draws, {width: 1600, dark: true}],
    ['sweep-light-800', sweptFixed, sweepDraws, {width: 800}], ['sweep-dark-1200', sweptFixed, sweepDraws, {width: 1200, dark: true}]])
    await check(`it looks as it did: ${name}`, on(page, {...options, ratio: 0.5}, async (opened) => {
      await shows(opened);
      await looksAsBefore(opened, name);
    }));
  await check('a sweep draws, and says what the terminal says', on(swept, {width: 1600}, async (page) => {
    await sweepDraws(page);
    await sweepSays(page, swept.document, summary);
  }));
  await check('no name is broken within a word', on(swept, {width: 900}, breaksNoWord));
  await check('a sweep\'s pickers and switches change its charts', on(swept, {}, pickersChange));
  await check('a sweep\'s points answer hover, click and keys', on(swept, {}, pointsAnswer));
  await check('everything of a sweep has a name', on(swept, {}, allIsNamed));
  await check('every shipped scenario, and a part of every shipped sweep, says nothing odd', async () => {
    const shipped = join(here, '../../scenarios');
    for (const file of readdirSync(shipped, {recursive: true}).filter((name) => /^(|paper.|mixes.)[^/]*\.json$/.test(name))) {
      const name = basename(file, '.json'), source = join(shipped, file);
      let words = [source, '--timeline-updates', '1', ...(/^mix/.test(file) ? ['--no-tuned'] : kSmaller[name] ?? [])];
      if (name.endsWith('.sweep')) {
        execFileSync(program, ['sweep', source, '--shard', '0/400', '-o', join(folder, `${name}.jsonl`)], {stdio: 'ignore'});
        words = [join(folder, `${name}.0-of-400.jsonl`)];
      }
      await on(report(program, folder, `${name}.html`, words), {}, async (page) => {
        await page.settle();
        await saysNothingOdd(page);
        await breaksNoWord(page);
      })();
    }
  });
  await check('a hundred thousand spans', on(many, {width: 1600, height: 1000}, async (page) => {
    await draws(page);
    const spans = many.document.timelines.flatMap((one) => one.rows.flatMap((row) => row.lanes))
      .reduce((sum, lane) => sum + lane.spans.length / 3, 0);
    assert.ok(spans >= 100000, `${spans} spans`);
    await measured(page, spans);
  }));
}

try {
  await main();
} catch (error) {
  ++failed;
  console.log(`FAILED: ${error.stack}`);
} finally {
  if (browser) await browser.close();
  rmSync(folder, {recursive: true, force: true});
}
process.exit(failed === 0 ? 0 : 1);
