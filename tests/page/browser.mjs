// A headless Chromium, driven over a pipe by its DevTools protocol: no port, no package, no network. The font is pinned, so
// that a picture is the same on every machine that has it.
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const kFonts = '/usr/share/fonts/truetype/dejavu';  // Debian's fonts-dejavu-core

/// Only the pinned font, whatever a page asks for.
function fontsFile(folder) {
  const file = join(folder, 'fonts.conf');
  writeFileSync(file, `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${kFonts}</dir><cachedir>${folder}/fonts</cachedir>
<match target="pattern"><edit name="family" mode="assign" binding="strong"><string>DejaVu Sans</string></edit></match>
</fontconfig>`);
  return file;
}

/// Starts one. `open(file, options)` gives a page; `close()` ends it.
export async function startBrowser(program = process.env.CHROMIUM || 'chromium') {
  const folder = mkdtempSync(join(tmpdir(), 'accosim-page-'));
  const child = spawn(program, ['--headless=new', '--no-sandbox', '--remote-debugging-pipe', '--disable-gpu',
    '--disable-dev-shm-usage', '--hide-scrollbars', '--force-color-profile=srgb', '--font-render-hinting=none',
    '--disable-background-networking', '--disable-component-update', '--no-first-run', '--disable-sync',
    '--disable-lcd-text', '--host-resolver-rules=MAP * ~NOTFOUND', `--user-data-dir=${folder}/profile`, 'about:blank'],
  {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    env: {...process.env, FONTCONFIG_FILE: fontsFile(folder), HOME: folder, LANG: 'C.UTF-8'}});
  const [to, from] = [child.stdio[3], child.stdio[4]];
  const waiting = new Map(), listeners = new Set();
  let next = 0, rest = '';
  from.setEncoding('utf8');
  from.on('data', (text) => {
    const messages = (rest + text).split('\0');
    rest = messages.pop();
    for (const message of messages.map((one) => JSON.parse(one))) {
      const call = waiting.get(message.id);
      if (!call) for (const listener of listeners) listener(message);
      else {
        waiting.delete(message.id);
        if (message.error) call.fail(new Error(`${call.method}: ${message.error.message}`)); else call.done(message.result);
      }
    }
  });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  ended.then(() => {
    for (const call of waiting.values()) call.fail(new Error('the browser has ended'));
  });
  child.on('error', () => {});
  const send = (method, params = {}, sessionId = undefined) => new Promise((done, fail) => {
    const id = ++next;
    waiting.set(id, {done, fail, method});
    to.write(JSON.stringify({id, method, params, sessionId}) + '\0');
  });
  return {
    version: (await send('Browser.getVersion')).product,
    open: (file, options) => openPage(send, listeners, file, options),
    async close() {
      send('Browser.close').catch(() => {});
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 5000))]);
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, {recursive: true, force: true, maxRetries: 3});
    },
  };
}

/// Opens a file with the network cut off. `page.complaints` has what the console said, exceptions, and requests of
/// anything but the file.
async function openPage(send, listeners, file, {width = 1280, height = 900, dark = false, ratio = 1} = {}) {
  const {targetId} = await send('Target.createTarget', {url: 'about:blank'});
  const {sessionId} = await send('Target.attachToTarget', {targetId, flatten: true});
  const call = (method, params) => send(method, params, sessionId);
  const complaints = [];
  let loaded = () => {};
  const listener = ({method, params, sessionId: of}) => {
    if (of !== sessionId) return;
    if (method === 'Runtime.consoleAPICalled') complaints.push(`console.${params.type}: ${params.args.map((one) => one.value ?? one.description).join(' ')}`);
    if (method === 'Runtime.exceptionThrown') complaints.push(`exception: ${params.exceptionDetails.exception?.description || params.exceptionDetails.text}`);
    if (method === 'Log.entryAdded') complaints.push(`${params.entry.level}: ${params.entry.text}`);
    if (method === 'Network.requestWillBeSent' && !/^(file|data|about):/.test(params.request.url)) complaints.push(`asks for ${params.request.url}`);
    if (method === 'Page.loadEventFired') loaded();
  };
  listeners.add(listener);
  for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await call(`${domain}.enable`);
  await call('Network.emulateNetworkConditions', {offline: true, latency: 0, downloadThroughput: 0, uploadThroughput: 0});
  await call('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: ratio, mobile: false});
  await call('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: dark ? 'dark' : 'light'}]});
  const load = new Promise((resolve) => { loaded = resolve; });
  await call('Page.navigate', {url: `file://${file}`});
  await load;
  const page = {
    complaints, call,
    async evaluate(expression) {
      const {result, exceptionDetails} = await call('Runtime.evaluate', {expression, returnByValue: true, awaitPromise: true});
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description || exceptionDetails.text);
      return result.value;
    },
    /// Until what was asked for has been drawn.
    settle: () => page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))'),
    mouse: (type, x, y, more = {}) => call('Input.dispatchMouseEvent', {type, x, y, ...more}),
    async key(key) {
      const text = key.length === 1 ? key : undefined;
      await call('Input.dispatchKeyEvent', {type: 'keyDown', key, text});
      await call('Input.dispatchKeyEvent', {type: 'keyUp', key});
      await page.settle();
    },
    /// The whole page as PNG, in base64: the window is made as high as the page first, since a picture beyond the window
    /// would lay the page out anew while it is taken.
    async picture() {
      for (let tall = 0, tries = 0; tries < 5; ++tries) {
        await page.settle();
        const {cssContentSize: size} = await call('Page.getLayoutMetrics');
        if (size.height === tall) break;
        tall = size.height;
        await call('Emulation.setDeviceMetricsOverride', {width, height: tall, deviceScaleFactor: ratio, mobile: false});
      }
      await page.settle();
      return (await call('Page.captureScreenshot', {format: 'png'})).data;
    },
    async close() {
      listeners.delete(listener);
      await send('Target.closeTarget', {targetId});
    },
  };
  return page;
}
