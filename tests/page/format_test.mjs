// The page writes numbers as the program does: the same table holds both (tests/reports/page_test.cpp).
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {runInNewContext} from 'node:vm';

const at = (path) => new URL(path, import.meta.url);
const format = runInNewContext(`${readFileSync(at('../../reports/page/src/format.js'), 'utf8')}; format`);
const table = JSON.parse(readFileSync(at('numbers.json'), 'utf8'));
for (const [kind, value, text] of table) assert.equal(format[kind](value), text, `${kind} ${value}`);
console.log(`format: ${table.length} numbers as the program writes them`);
