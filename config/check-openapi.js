// Compares docs/openapi.json with the last release's, by oasdiff: npm run check:openapi
// A break fails unless test/compatibility/intended-breaks.json names it with its reason; what that names in vain fails, too.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const DIRECTORY = 'test/compatibility';
const OASDIFF = process.env['OASDIFF'] ?? 'oasdiff';

const released = readdirSync(DIRECTORY)
  .filter((name) => name.startsWith('openapi-'))
  .toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true }))
  .map((name) => join(DIRECTORY, name))
  .at(-1);
if (released === undefined) throw new Error(`${DIRECTORY} has no document of a release.`);
if (spawnSync(OASDIFF, ['--version']).status !== 0) {
  console.log('oasdiff is not installed: the document is not compared.');
  process.exit(0);
}

/** @type {{ id: string, operation: string, text?: string, reason: string }[]} */
const intended = JSON.parse(readFileSync(join(DIRECTORY, 'intended-breaks.json'), 'utf8'));
const breaks = breaksBetween(released, 'docs/openapi.json');
const isNamed = (each, found) =>
  each.id === found.id &&
  new RegExp(`^${each.operation}$`).test(`${found.operation} ${found.path}`) &&
  new RegExp(each.text ?? '').test(found.text);
const faults = [
  ...breaks
    .filter((found) => !intended.some((each) => isNamed(each, found)))
    .map(({ id, operation, path, text }) => `${operation} ${path}: ${text} (${id})`),
  ...intended
    .filter((each) => !breaks.some((found) => isNamed(each, found)))
    .map(({ id, operation }) => `intended-breaks.json names what is not there: ${id} of ${operation}`),
  ...(seesBreaks() ? [] : ['An operation that is taken away is not noticed.']),
];
for (const fault of faults) console.log(fault);
console.log(`${released} → docs/openapi.json: ${breaks.length} intended, ${faults.length} faults.`);
process.exit(faults.length === 0 ? 0 : 1);

function breaksBetween(before, after) {
  const { stdout, stderr, status } = spawnSync(OASDIFF, ['breaking', before, after, '-f', 'json'], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) throw new Error(`oasdiff ended with ${status}: ${stderr}`);
  // Nothing is written where nothing breaks.
  return stdout.trim() === '' ? [] : JSON.parse(stdout);
}

/** Compares the release's document with itself without one of its operations. */
function seesBreaks() {
  const document = JSON.parse(readFileSync(released, 'utf8'));
  delete document.paths['/api/v1/topics'].get;
  const directory = mkdtempSync(join(tmpdir(), 'mailwright-openapi-'));
  try {
    writeFileSync(join(directory, 'less.json'), JSON.stringify(document));
    return breaksBetween(released, join(directory, 'less.json')).length > 0;
  } finally {
    rmSync(directory, { recursive: true });
  }
}
