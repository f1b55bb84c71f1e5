import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

/** Rows as CSV with their columns' names in the first line; `rows` is known once it was read. */
export type ArchivedRows = Readable & { readonly rows: number };

interface Archive {
  readonly directory: string;
  /** Of the files, without their ends. */
  readonly name: string;
  /** What the manifest tells beside counts and digest. */
  readonly about: object;
}

/** For whoever runs the worker alone: there may be personal data in it. */
const MODE = 0o600;
const PART = '.part';

/**
 * Writes `name.csv.gz`, then its manifest `name.json`, each under another name until it is whole and on the disk: where the
 * manifest is, the file is complete. Done again, it replaces both.
 */
export async function writeArchive(
  rows: ArchivedRows,
  { directory, name, about }: Archive,
  signal: AbortSignal,
): Promise<void> {
  await removeParts(directory, name);
  const file = `${name}.csv.gz`;
  const part = partOf(directory, name);
  const hash = createHash('sha256');
  let bytes = 0;
  const measure = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  };
  await pipeline(rows, createGzip(), measure, createWriteStream(part, { mode: MODE, flush: true }), {
    signal,
  });
  await rename(part, join(directory, file));
  const manifest = { file, ...about, rows: rows.rows, bytes, sha256: hash.digest('hex') };
  await writeFile(part, `${JSON.stringify(manifest, null, 2)}\n`, { mode: MODE, flush: true });
  await rename(part, join(directory, `${name}.json`));
  await flushDirectory(directory);
}

/** One's own, so that a worker who lost its connection while it wrote cannot spoil the file of the next. */
const partOf = (directory: string, name: string) =>
  join(directory, `${name}.${process.pid}-${Date.now()}${PART}`);

/** What a worker left that was killed. */
async function removeParts(directory: string, name: string): Promise<void> {
  const left = (await readdir(directory)).filter((file) => file.startsWith(name) && file.endsWith(PART));
  for (const file of left) await rm(join(directory, file), { force: true });
}

/** The new names are on the disk, too. */
async function flushDirectory(directory: string): Promise<void> {
  const handle = await open(directory);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
