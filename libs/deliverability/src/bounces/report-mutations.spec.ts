import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { newId } from '#kernel';
import { readReport } from './report.js';
import { ReturnPaths } from './return-path.js';

const SAMPLES = join(import.meta.dirname, 'samples');
/** More, to look longer: `REPORT_MUTATIONS=100000`. */
const RUNS = Number(process.env['REPORT_MUTATIONS'] ?? 2_000);
const MOST_CPU_MS = 50;

/** Mulberry32: the same numbers every time, so that a failure can be looked at again. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const SPLICES = [
  '\0',
  '\r\n\r\n',
  '\n',
  ':',
  ';',
  '=',
  '"',
  '(',
  '<',
  '>',
  '--',
  '\xff\xfe',
  '=?utf-8?B?',
  'Action: failed\r\n',
  'Content-Type: message/delivery-status\r\n\r\n',
  'Content-Transfer-Encoding: base64\r\n',
  'boundary=',
  ' '.repeat(5_000),
  'a'.repeat(20_000),
  '@'.repeat(2_000),
  'user '.repeat(2_000),
  '\t\r\n'.repeat(3_000),
  '('.repeat(5_000),
  '550-5.1.1 '.repeat(2_000),
];

function mutate(original: Buffer, other: Buffer, next: () => number): Buffer {
  let mutated = original;
  for (let changes = 1 + Math.floor(next() * 6); changes > 0; changes -= 1) {
    const at = Math.floor(next() * mutated.length);
    const length = Math.floor(next() * 300);
    const kind = next();
    if (kind < 0.3) {
      mutated = Buffer.from(mutated);
      if (mutated.length > 0) mutated[at] = Math.floor(next() * 256);
    } else if (kind < 0.5) mutated = Buffer.concat([mutated.subarray(0, at), mutated.subarray(at + length)]);
    else if (kind < 0.8) {
      const splice = SPLICES[Math.floor(next() * SPLICES.length)] ?? '';
      mutated = Buffer.concat([mutated.subarray(0, at), Buffer.from(splice, 'latin1'), mutated.subarray(at)]);
    } else if (kind < 0.95) mutated = Buffer.concat([mutated.subarray(0, at), other.subarray(at)]);
    else mutated = Buffer.concat(Array.from({ length: 20 }, () => mutated)).subarray(0, 1_048_576);
  }
  return mutated;
}

describe('mutated reports', () => {
  it(`are read without an error and quickly, ${RUNS} of them`, async () => {
    const samples = readdirSync(SAMPLES).map((file) => readFileSync(join(SAMPLES, file)));
    const next = random(20_261_121);
    const pick = () => samples[Math.floor(next() * samples.length)] ?? Buffer.alloc(0);
    let slowest = 0;
    for (let run = 0; run < RUNS; run += 1) {
      const raw = mutate(pick(), pick(), next);
      let took = await cpuOf(raw);
      // Another program may have had the core, or the collector of garbage: what is slow is slow again.
      if (took >= MOST_CPU_MS) took = Math.min(took, await cpuOf(raw), await cpuOf(raw));
      slowest = Math.max(slowest, took);
    }
    expect(slowest).toBeLessThan(MOST_CPU_MS);
  }, 3_600_000);

  it('are of no use without a return path of ours: no mutated one is', () => {
    const paths = new ReturnPaths('a secret of the tests, long enough for it');
    const next = random(7);
    const address = Buffer.from(
      paths.addressOf({ environmentId: 3, deliveryId: newId() }, 'bounces.example'),
    );
    const ours = paths.read(address.toString());
    for (let run = 0; run < RUNS; run += 1) {
      const mutated = mutate(address, address, next).toString('latin1');
      // Only another host, or another case, leaves it what it was.
      const [local = '', ...hosts] = mutated.split('@');
      const isUnchanged =
        hosts.length === 1 && hosts[0] !== '' && local.toLowerCase() === address.toString().split('@')[0];
      expect(paths.read(mutated)).toEqual(isUnchanged ? ours : null);
    }
  });
});

async function cpuOf(raw: Buffer): Promise<number> {
  const before = process.threadCpuUsage();
  const report = await readReport(raw);
  const { user, system } = process.threadCpuUsage(before);
  expect(['bounce', 'complaint', 'nothing']).toContain(report.kind);
  return (user + system) / 1_000;
}
