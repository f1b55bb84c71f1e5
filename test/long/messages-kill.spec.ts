import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { startRawSmtpSink } from '#testing/mail/raw-smtp-sink';
import { type RunningProgram, startProgram } from '#testing/programs/program';
import type { SmtpSink } from '#testing/mail/sink-rules';
import { addKey, type RunningSystem, startSystem, type SystemProject } from '#testing/programs/system';

/** The whole: 5 000 messages and 20 kills. */
const MESSAGES = Number(process.env['MESSAGES_KILL_MESSAGES'] ?? 1_500);
const KILLS = Number(process.env['MESSAGES_KILL_KILLS'] ?? 6);
const CONNECTIONS = 5;
/** Every third request is a batch of so many. */
const OF_A_BATCH = 20;
const CLIENTS = 6;
const DEADLINE_MS = 600_000;

interface Row {
  readonly to: string;
  readonly status: string;
  readonly ambiguous: 'RESEND' | 'HOLD';
  readonly failureReason: string | null;
  readonly messageId: string;
  readonly possibleDuplicate: boolean;
}

describe('messages while apis and workers are killed', () => {
  let sink: SmtpSink;
  let system: RunningSystem;
  let project: SystemProject;
  let api: RunningProgram;
  let rows: readonly Row[];
  let accepted: ReadonlySet<string>;
  let killedWorkers = 0;
  const received = new Map<string, number>();

  beforeAll(async () => {
    sink = await startRawSmtpSink({ keep: 'index' });
    system = await startSystem({
      SMTP_URL: sink.url,
      SMTP_CONNECTIONS: String(CONNECTIONS),
      REQUIRE_VERIFIED_DOMAIN: 'false',
    });
    project = await system.project();
    api = await startProgram('api', system.variables);
    const ended = { isSent: false };
    const sending = sendAll().finally(() => {
      ended.isSent = true;
    });
    await killAtRandom(ended);
    accepted = await sending;
    await eventually(
      'all mails have ended',
      async () => {
        const open = await system.database.query(
          `select 1 from messaging.deliveries where kind = 'MESSAGE' and finished_at is null limit 1`,
        );
        return open.length === 0;
      },
      DEADLINE_MS,
    );
    rows = await system.database.query<Row>(
      `select m.to_email as "to", m.status, m.ambiguous, m.failure_reason as "failureReason", d.message_id as "messageId",
         d.possible_duplicate as "possibleDuplicate"
       from messaging.messages m join messaging.deliveries d on d.source_id = m.id and d.kind = 'MESSAGE'`,
    );
    for (const { messageId } of sink.messages)
      if (messageId !== null) received.set(messageId, (received.get(messageId) ?? 0) + 1);
  }, DEADLINE_MS * 2);

  afterAll(async () => {
    await api?.stop();
    await system?.stop();
    await sink?.stop();
  });

  const messageTo = (number: number) => ({
    to: `person-${number}@example.com`,
    purpose: 'The person asked to reset their password.',
    subject: 'Your code: {{ data.code }}',
    text: 'Your code is {{ data.code }}.',
    data: { code: number },
    ambiguous: number % 2 === 0 ? 'RESEND' : 'HOLD',
  });

  /** Sends all, each request with a key that is sent again until it is answered. Returns whom the answers name. */
  async function sendAll(): Promise<ReadonlySet<string>> {
    const told = new Set<string>();
    let next = 0;
    const client = async (): Promise<void> => {
      let key = await addKey(system.database, project.live);
      let left = 600;
      while (next < MESSAGES) {
        const size = next % 3 === 0 ? Math.min(OF_A_BATCH, MESSAGES - next) : 1;
        const messages = Array.from({ length: size }, (_, place) => messageTo(next + place));
        next += size;
        // The limit is one of keys; a request that is repeated counts again.
        if ((left -= size * 3) < 0) {
          key = await addKey(system.database, project.live);
          left = 600;
        }
        const idempotencyKey = `from-${messages[0]!.to}`;
        const views = await untilAnswered(key, idempotencyKey, messages);
        for (const to of views) told.add(to);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    return told;
  }

  /** Repeats a request whose answer was lost, or whose first one is still under way, for as long as it takes. */
  function untilAnswered(key: string, idempotencyKey: string, messages: readonly object[]) {
    return eventually(
      'the request is answered',
      async () => {
        const client = new ApiClient(`http://127.0.0.1:${api.port}`, key);
        const options = { headers: { 'Idempotency-Key': idempotencyKey } };
        const answer = await (
          messages.length === 1
            ? client.post('/messages', messages[0], options)
            : client.post('/messages/batch', { messages }, options)
        ).catch((error: unknown) => {
          if (error instanceof TypeError) return null;
          throw error;
        });
        // In flight: the lock of the killed api's request has to run out.
        if (answer === null || [409, 503].includes(answer.status)) return null;
        if (answer.status !== 202) {
          const told = api
            .output()
            .split('\n')
            .filter((line) => line.includes('"level":"error"'));
          throw new Error([answer.text, ...told].join('\n'));
        }
        return messages.length === 1
          ? [answer.at('to')]
          : answer.at<{ message: { to: string } }[]>('results').map(({ message }) => message.to);
      },
      DEADLINE_MS,
    );
  }

  /** An api or a worker in turn, when some more are sent, nobody knows how many. */
  async function killAtRandom(ended: { readonly isSent: boolean }): Promise<void> {
    for (let left = KILLS; left > 0; left -= 1) {
      const open = MESSAGES - CONNECTIONS * KILLS - sink.count();
      const mark = sink.count() + randomInt(1, Math.max(2, Math.floor(open / (left + 1))));
      await eventually('some more are sent', () => ended.isSent || sink.count() >= mark, DEADLINE_MS);
      if (left % 2 === 0) {
        await api.kill();
        api = await startProgram('api', system.variables);
      } else {
        killedWorkers += 1;
        await system.worker.kill();
        system.worker = await startProgram('worker', system.variables);
      }
    }
  }

  it('lose nobody, and accept nobody twice', () => {
    const people = rows.map(({ to }) => to);
    expect(people).toHaveLength(MESSAGES);
    expect(new Set(people)).toEqual(accepted);
    const lost = rows.filter(
      ({ ambiguous, messageId }) => ambiguous === 'RESEND' && !received.has(messageId),
    );
    expect(lost).toEqual([]);
    // In doubt it is sent once more, and not a third time: whose sender died twice ends FAILED, and is told as such.
    const unsure = rows.filter(({ ambiguous, status }) => ambiguous === 'RESEND' && status !== 'SENT');
    for (const { status, failureReason, possibleDuplicate } of unsure)
      expect([status, failureReason, possibleDuplicate]).toEqual([
        'FAILED',
        expect.stringMatching(/reply/),
        true,
      ]);
  });

  it('repeat at most what was on the connections of a killed worker, and say so', () => {
    const repeated = rows.filter(({ messageId }) => (received.get(messageId) ?? 0) > 1);
    expect(repeated.length).toBeLessThanOrEqual(CONNECTIONS * killedWorkers);
    expect(Math.max(...received.values())).toBeLessThanOrEqual(2);
    expect(repeated.filter(({ possibleDuplicate }) => !possibleDuplicate)).toEqual([]);
    const marked = rows.filter(({ possibleDuplicate }) => possibleDuplicate);
    expect(marked.length).toBeLessThanOrEqual(CONNECTIONS * killedWorkers);
  });

  it('never repeat what is to be held, but let it fail and say why', () => {
    const held = rows.filter(({ ambiguous }) => ambiguous === 'HOLD');
    expect(held.filter(({ messageId }) => (received.get(messageId) ?? 0) > 1)).toEqual([]);
    const sent = held.filter(({ status }) => status === 'SENT');
    expect(sent.filter(({ messageId }) => !received.has(messageId))).toEqual([]);
    const failed = held.filter(({ status }) => status !== 'SENT');
    expect(failed.length).toBeLessThanOrEqual(CONNECTIONS * killedWorkers);
    for (const { status, failureReason } of failed)
      expect([status, failureReason]).toEqual(['FAILED', expect.stringMatching(/reply/)]);
  });

  it('take each mail from the plan once', async () => {
    const [usage] = await system.database.query(
      `select (u.used + coalesce(sum(s.used), 0))::int as used,
         (u.reserved - coalesce(sum(s.used + s.released - s.reserved), 0))::int as reserved
       from billing.email_usage u left join billing.email_settlements s using (tenant_id, period_start)
       where u.tenant_id = $1 group by u.used, u.reserved`,
      [project.live.tenantId],
    );
    expect(usage).toEqual({ used: MESSAGES, reserved: 0 });
    process.stderr.write(
      `${MESSAGES} messages, ${KILLS} kills, ${killedWorkers} of workers: ` +
        `${rows.filter(({ messageId }) => (received.get(messageId) ?? 0) > 1).length} twice, ` +
        `${rows.filter(({ possibleDuplicate }) => possibleDuplicate).length} marked, ` +
        `${rows.filter(({ status }) => status === 'FAILED').length} held\n`,
    );
  });
});
