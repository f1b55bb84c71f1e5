import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import pg from 'pg';
import { copyIn } from '../libs/platform/src/database/copy.js';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { startSystemOn } from '#testing/programs/system';
import { startBenchServer } from './support/bench-server.js';
import { spread } from './support/figures.js';
import { cpuSeconds, memoryMb } from './support/process-usage.js';

/**
 * A CSV file from the first byte of the request to the last subscriber, everything durable, against COPY of the
 * same file into one table without indexes. Each import goes to a project of its own.
 */
const ROWS = Number(process.env['ROWS'] ?? 200_000);
const PAIRS = Number(process.env['PAIRS'] ?? 5);
/** Bound on Node's heap: without one it is in no hurry to collect garbage, with 160 MB it does little else. */
const NODE_OPTIONS = process.env['NODE_OPTIONS'] ?? '--max-old-space-size=224';
const PIECE_ROWS = 10_000;
const COLUMNS = ['email', 'firstName', 'lastName', 'phone', 'plan', 'age', 'signup'];
const DEADLINE_MS = 1_800_000;

interface Measured {
  readonly perSecond: number;
  readonly cpuUsPerRow: number;
}

/** The begin of a row whose end is in the next piece of the file. */
let rest: Buffer = Buffer.alloc(0);
const server = await startBenchServer();
const file = join(server.directory, 'people.csv');
await writePeople(file);
const system = await startSystemOn(server.database, { NODE_OPTIONS });

try {
  process.stdout.write(
    `${ROWS} rows, NODE_OPTIONS ${NODE_OPTIONS}, ${((await stat(file)).size / 1e6).toFixed(1)} MB\n`,
  );
  process.stdout.write(
    `at rest: api ${memoryMb(system.api.pid).now} MB, worker ${memoryMb(system.worker.pid).now} MB\n`,
  );
  await system.database.query(
    `create table plain (${COLUMNS.map((column) => `"${column}" text`).join(', ')})`,
  );
  const pairs: { ours: Measured; reference: Measured }[] = [];
  for (let pair = 0; pair <= PAIRS; pair += 1) {
    const ours = await importFile(`P${pair}`);
    const reference = await copyFile();
    if (pair > 0) pairs.push({ ours, reference });
  }
  const table = (digits: number, pick: (measured: Measured) => number) =>
    [
      spread(
        pairs.map(({ ours }) => pick(ours)),
        digits,
      ),
      spread(
        pairs.map(({ reference }) => pick(reference)),
        digits,
      ),
    ].join(' against ');
  process.stdout.write(`rows/s: ${table(0, ({ perSecond }) => perSecond)}\n`);
  process.stdout.write(
    `CPU µs a row (api and worker, program): ${table(1, ({ cpuUsPerRow }) => cpuUsPerRow)}\n`,
  );
  process.stdout.write(
    `ratio: ${spread(
      pairs.map(({ ours, reference }) => ours.perSecond / reference.perSecond),
      3,
    )}\n`,
  );
  process.stdout.write(
    `memory: api at most ${memoryMb(system.api.pid).peak} MB, worker ${memoryMb(system.worker.pid).peak} MB\n`,
  );
} finally {
  await system.stop();
  await server.stop();
}

async function importFile(projectKey: string): Promise<Measured> {
  const project = await system.project(projectKey);
  const client = await project.client('TEST');
  for (const [key, type] of [
    ['plan', 'TEXT'],
    ['age', 'NUMBER'],
    ['signup', 'DATE'],
  ]) {
    await client.post('/custom-fields', { key, type, displayName: key });
  }
  const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
  await system.database.query('checkpoint');
  const cpu = () => cpuSeconds(system.api.pid) + cpuSeconds(system.worker.pid);
  const before = { cpu: cpu(), at: performance.now() };
  const id = await upload(client, topic.at('topicKey'));
  const accepted = performance.now() - before.at;
  const ended = await eventually(
    'the import ends',
    async () => {
      const found = await client.get(`/subscriber-imports/${id}`);
      return found.at('completedAt') === null ? null : found;
    },
    DEADLINE_MS,
  );
  const seconds = (performance.now() - before.at) / 1_000;
  if (ended.at<number>('counts', 'created') !== ROWS) throw new Error(ended.text);
  process.stdout.write(
    `  stored after ${(accepted / 1_000).toFixed(1)} s, applied after ${seconds.toFixed(1)} s\n`,
  );
  return { perSecond: ROWS / seconds, cpuUsPerRow: ((cpu() - before.cpu) * 1e6) / ROWS };
}

async function upload({ baseUrl, key }: ApiClient, topicKey: string): Promise<string> {
  const answer = await fetch(
    `${baseUrl}/api/v1/subscriber-imports?topicKeys=${topicKey}&consent.source=bench`,
    {
      method: 'POST',
      headers: { 'content-type': 'text/csv', 'x-api-key': key ?? '' },
      body: Readable.toWeb(createReadStream(file)) as ReadableStream,
      duplex: 'half',
    },
  );
  if (answer.status !== 202) throw new Error(await answer.text());
  return ((await answer.json()) as { id: string }).id;
}

async function copyFile(): Promise<Measured> {
  const client = new pg.Client({ connectionString: system.database.adminUrl });
  await client.connect();
  try {
    await client.query('truncate plain');
    await client.query('checkpoint');
    const before = { cpu: process.cpuUsage(), at: performance.now() };
    await client.query('begin');
    let isFirst = true;
    for await (const piece of createReadStream(file, { highWaterMark: 4 * 1024 * 1024 })) {
      // Whole rows: a COPY ends with each piece.
      await copyIn(
        client,
        `copy plain from stdin (format csv, header ${isFirst})`,
        wholeRows(piece as Buffer),
      );
      isFirst = false;
    }
    await copyIn(client, 'copy plain from stdin (format csv)', takeRest());
    await client.query('commit');
    const seconds = (performance.now() - before.at) / 1_000;
    const { user, system: kernel } = process.cpuUsage(before.cpu);
    return { perSecond: ROWS / seconds, cpuUsPerRow: (user + kernel) / ROWS };
  } finally {
    await client.end();
  }
}

function wholeRows(piece: Buffer): Buffer {
  const end = piece.lastIndexOf('\n') + 1;
  const rows = Buffer.concat([rest, piece.subarray(0, end)]);
  rest = piece.subarray(end);
  return rows;
}

function takeRest(): Buffer {
  const rows = rest;
  rest = Buffer.alloc(0);
  return rows;
}

async function writePeople(path: string): Promise<void> {
  const output = await open(path, 'w');
  await output.write(`${COLUMNS.join(',')}\n`);
  for (let first = 0; first < ROWS; first += PIECE_ROWS) {
    const rows = Array.from({ length: Math.min(PIECE_ROWS, ROWS - first) }, (_, index) =>
      person(first + index),
    );
    await output.write(rows.join(''));
  }
  await output.close();
}

/** Somebody: the addresses are in no order, as in a file from elsewhere. */
function person(number: number): string {
  const mixed = ((number * 2_654_435_761) % 4_294_967_296).toString(36);
  const month = String((number % 12) + 1).padStart(2, '0');
  const plan = ['free', 'pro', 'team'][number % 3];
  return (
    `${mixed}.reader@example-${number % 500}.com,First ${number % 3_000},"Last, ${number % 20_000}",` +
    `+49 30 ${number},${plan},${number % 90},2025-${month}-11\n`
  );
}
