// Builds dist/ when a source has changed: node build.js [further source directories]
// A program that runs from dist/ meanwhile finds each file whole at any moment: the new ones are made elsewhere, and only
// those that differ take their places.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const SOURCES = ['apps', 'libs', 'packages', ...process.argv.slice(2)];
const NOT_BUILT = '**/*.d.ts,packages/*/dist/**';
const STAMP = join('dist', `.${createHash('sha256').update(SOURCES.join()).digest('hex').slice(0, 8)}.stamp`);

const stamp = hashOf([...SOURCES.flatMap(filesIn), '.swcrc', 'build.js', 'package-lock.json']);
if (contentOf(STAMP)?.toString() !== stamp) build();

function build() {
  const fresh = `.dist-${process.pid}`;
  try {
    const options = ['--out-dir', fresh, '--config-file', '.swcrc', '--ignore', NOT_BUILT, '--quiet'];
    const { status } = spawnSync('node_modules/.bin/swc', [...SOURCES, ...options], { stdio: 'inherit' });
    if (status !== 0) process.exit(status ?? 1);
    putInPlace(fresh);
    writeFileSync(STAMP, stamp);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

function putInPlace(fresh) {
  const built = filesIn(fresh).map((file) => file.slice(fresh.length + 1));
  for (const file of built) {
    const place = join('dist', file);
    if (contentOf(place)?.equals(readFileSync(join(fresh, file)))) continue;
    mkdirSync(dirname(place), { recursive: true });
    renameSync(join(fresh, file), place);
  }
  const known = new Set(built.map((file) => join('dist', file)));
  for (const source of SOURCES)
    for (const file of filesIn(join('dist', source))) if (!known.has(file)) rmSync(file);
}

function filesIn(directory) {
  if (!existsSync(directory)) return [];
  const entries = readdirSync(directory, { withFileTypes: true, recursive: true });
  return entries.flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : [])).sort();
}

function hashOf(files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0`).update(contentOf(file) ?? '');
  return hash.digest('hex');
}

function contentOf(file) {
  return existsSync(file) ? readFileSync(file) : undefined;
}
