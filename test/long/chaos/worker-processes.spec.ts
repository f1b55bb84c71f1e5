import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { CampaignRun, DEADLINE_MS, inForm } from './campaign-run.fixture.js';

const CONNECTIONS = 3;
const PROCESSES = 2;
const RECIPIENTS = inForm(600, 20_000);

describe('a worker of two processes', () => {
  let run: CampaignRun;

  beforeAll(async () => {
    run = await CampaignRun.open(CONNECTIONS, {
      WORKER_PROCESSES: String(PROCESSES),
      BOUNCE_PORT: '0',
    });
  });

  afterAll(() => run?.close());

  async function processIds(): Promise<number[]> {
    const { pid } = run.system.worker;
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return children.trim().split(' ').map(Number);
  }

  async function operations(path: string): Promise<{ status: number; text: string }> {
    const answer = await fetch(`http://127.0.0.1:${run.system.worker.port}${path}`);
    return { status: answer.status, text: await answer.text() };
  }

  it('sends with both, and starts one that was killed again', async () => {
    const [first = 0] = await processIds();
    // One of them could have sent all before the other one looked.
    const unanswered: (() => void)[] = [];
    const endHold = run.sink.behave({
      at: 'body',
      action: { hold: (answer) => unanswered.push(answer) },
    });
    const campaign = await run.send('NEWS', RECIPIENTS);
    await eventually('both send', () => unanswered.length === PROCESSES * CONNECTIONS, DEADLINE_MS);
    process.kill(first, 'SIGKILL');
    endHold();
    for (const answer of unanswered) answer();
    await campaign.isSent();
    const received = await campaign.received();
    expect(received.size).toBe(RECIPIENTS);
    expect(run.sink.count() - RECIPIENTS).toBeLessThanOrEqual(CONNECTIONS);
    await eventually('another one runs in its place', async () => {
      const now = await processIds();
      return now.length === PROCESSES && !now.includes(first);
    });
  });

  it('is one program to those who ask: its health, what it counted, its bounce server', async () => {
    await eventually('both are ready', async () => (await operations('/health/ready')).status === 200);
    const ready = await operations('/health/ready');
    expect(JSON.parse(ready.text)).toEqual({
      status: 'ok',
      checks: { 'worker-1': 'ok', 'worker-2': 'ok' },
    });
    const metrics = await operations('/metrics');
    // Since it runs: what the first one had counted is gone with it.
    expect(metrics.text).toMatch(/^mailwright_mails_total\{kind="CAMPAIGN",outcome="SENT"\} [1-9]/m);
    expect(metrics.text.match(/^mailwright_mails_total\{kind="CAMPAIGN",outcome="SENT"\}/gm)).toHaveLength(1);
    const client = connect(run.system.worker.bouncePort ?? 0, '127.0.0.1');
    const [greeting] = (await once(client, 'data')) as [Buffer];
    expect(greeting.toString()).toMatch(/^220 /);
    client.destroy();
  });

  it('ends with all of its processes', async () => {
    const pids = await processIds();
    expect(pids).toHaveLength(PROCESSES);
    expect(await run.system.worker.stop()).toBe(0);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});
