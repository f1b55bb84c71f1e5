import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { memoryMb } from '../../bench/support/process-usage.js';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import type { SmtpSink } from '#testing/mail/sink-rules';
import { startSmtpSink } from '#testing/mail/smtp-sink';
import { type RunningSystem, startSystem } from '#testing/programs/system';

const itOnLinux = process.platform === 'linux' ? it : it.skip;
const MB = 1_024 * 1_024;
const SIZE = 10 * MB;
/** Memory that a message may take while it is in hand, by the size of its files. */
const MOST_MB = (3 * SIZE) / MB;

describe('messages with files of 10 MB', () => {
  let sink: SmtpSink;
  let system: RunningSystem;
  let client: ApiClient;
  let count = 0;
  const content = Buffer.concat([Buffer.from('%PDF-1.7\n'), randomBytes(SIZE - 9)]).toString('base64');

  beforeAll(async () => {
    sink = await startSmtpSink({ size: 30_000_000 });
    system = await startSystem({ SMTP_URL: sink.url, REQUIRE_VERIFIED_DOMAIN: 'false', BOUNCE_PORT: '0' });
    client = await (await system.project()).client('LIVE');
  });
  afterAll(async () => {
    await system?.stop();
    await sink?.stop();
  });

  /** A request, written beforehand, so that this process is not what others wait for. */
  const requestWith = (file: string) =>
    JSON.stringify({
      to: `large${(count += 1)}@example.com`,
      purpose: 'An order',
      subject: 'Receipt',
      text: 'Thank you.',
      attachments: [{ filename: 'receipt.pdf', contentType: 'application/pdf', content: file }],
    });
  const send = async (body: string) => expect((await client.post('/messages', body)).status).toBe(202);
  const arrived = () => eventually(`${count} mails`, () => sink.count() >= count);
  /** Growth of the resident memory of api and worker in MB, at its most, while `work` runs. */
  async function growth(work: () => Promise<unknown>) {
    const programs = [system.api, system.worker];
    // The most since now (proc(5), clear_refs).
    for (const { pid } of programs) writeFileSync(`/proc/${pid}/clear_refs`, '5');
    const before = programs.map(({ pid }) => memoryMb(pid).now);
    await work();
    const [api, worker] = programs.map(({ pid }, at) => memoryMb(pid).peak - before[at]!);
    return { api: api!, worker: worker! };
  }
  /** The longest that another request waited for its answer while `work` runs, in ms. */
  async function longestWait(work: Promise<unknown>): Promise<number> {
    const over = new AbortController();
    const end = () => over.abort();
    void work.then(end, end);
    let longest = 0;
    while (!over.signal.aborted) {
      const begun = performance.now();
      await fetch(`${system.baseUrl}/api/v1/topics`, { headers: { 'x-api-key': client.key! } });
      longest = Math.max(longest, performance.now() - begun);
      await wait(5);
    }
    await work;
    return longest;
  }

  itOnLinux('take three times the memory of their files at most, and keep nobody waiting', async () => {
    // Programs that have had something to do.
    for (let times = 0; times < 100; times += 1) await send(requestWith(content.slice(0, 200_000)));
    await arrived();
    const atRest = await longestWait(wait(2_000));
    const figures: { readonly api: number; readonly worker: number; readonly waited: number }[] = [];
    for (let times = 0; times < 5; times += 1) {
      const body = requestWith(content);
      let waited = 0;
      const grown = await growth(async () => {
        waited = await longestWait(send(body).then(arrived));
      });
      figures.push({ ...grown, waited: Math.round(waited) });
    }
    const bodies = Array.from({ length: 10 }, () => requestWith(content));
    const together = await growth(() => Promise.all(bodies.map(send)).then(arrived));
    console.log(JSON.stringify({ figures, together, atRest: Math.round(atRest) }));
    // The collector's moment is not that of any one message.
    const median = (of: 'api' | 'worker' | 'waited') =>
      figures.map((one) => one[of]).toSorted((a, b) => a - b)[2];
    expect(median('api')).toBeLessThan(MOST_MB);
    expect(median('worker')).toBeLessThan(MOST_MB);
    expect(median('waited')).toBeLessThan(atRest + 500);
    expect(together.api).toBeLessThan(10 * MOST_MB);
    // One after the other.
    expect(together.worker).toBeLessThan(4 * MOST_MB);
  });
});
