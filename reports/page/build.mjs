// Builds echarts.js, the charts' library cut to what the page draws, and echarts.LICENSE, what its authors ask to be kept
// with it. Both are committed, so that nobody needs npm to build accosim. `node build.mjs [FOLDER]`: where to; default:
// here.
import {readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? here;
const from = (file) => readFileSync(join(here, 'node_modules', file), 'utf8').replaceAll('\r\n', '\n').trim();
const versionOf = (name) => JSON.parse(from(`${name}/package.json`)).version;

const notice = `/*! Apache ECharts ${versionOf('echarts')} (Apache-2.0), zrender ${versionOf('zrender')} (BSD-3-Clause), ` +
  `tslib ${versionOf('tslib')} (0BSD): see reports/page/echarts.LICENSE in the sources of accosim */`;

const built = await build({
  entryPoints: [join(here, 'charts_entry.mjs')],
  absWorkingDir: here,
  bundle: true,
  minify: true,
  format: 'iife',
  globalName: 'echarts',
  target: 'es2020',
  charset: 'ascii',
  legalComments: 'none',
  banner: {js: notice},
  define: {'process.env.NODE_ENV': '"production"'},
  write: false,
});
writeFileSync(join(target, 'echarts.js'), built.outputFiles[0].text);

const parts = [
  ['Apache ECharts: NOTICE', from('echarts/NOTICE')],
  ['Apache ECharts: LICENSE', from('echarts/LICENSE')],
  ['d3, of which Apache ECharts holds parts: LICENSE', from('echarts/licenses/LICENSE-d3')],
  ['zrender: LICENSE', from('zrender/LICENSE')],
  ['tslib: LICENSE', from('tslib/LICENSE.txt')],
];
writeFileSync(join(target, 'echarts.LICENSE'),
  'echarts.js holds parts of these works.\n\n' +
  parts.map(([title, text]) => `${'='.repeat(80)}\n${title}\n${'='.repeat(80)}\n\n${text}\n`).join('\n'));
