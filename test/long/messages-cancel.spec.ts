import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import type { SmtpSink } from '#testing/mail/sink-rules';
import { startSmtpSink } from '#testing/mail/smtp-sink';
import { type RunningSystem, startSystem, type SystemProject } from '#testing/programs/system';

const MESSAGES = Number(process.env['MESSAGES_CANCEL_MESSAGES'] ?? 400);
const CLIENTS = 20;
/** Requests between a message and its end, a moment each: some come before a sender has it, some behind. */
const MOST_MOMENTS = 8;
const HOUR = 3_600_000;

interface Tried {
  readonly id: string;
  readonly to: string;
  readonly change: 'cancel' | 'reschedule';
  readonly status: number;
}

describe('messages that are cancelled or put off at random moments', () => {
  let sink: SmtpSink;
  let system: RunningSystem;
  let project: SystemProject;
  const tried: Tried[] = [];

  beforeAll(async () => {
    sink = await startSmtpSink({ keep: 'index' });
    system = await startSystem({ SMTP_URL: sink.url, REQUIRE_VERIFIED_DOMAIN: 'false' });
    project = await system.project();
    let next = 0;
    const tryNext = async (): Promise<void> => {
      const client = await project.client('LIVE');
      while (next < MESSAGES) {
        const to = `person-${(next += 1)}@example.com`;
        const message = { to, purpose: 'An order', subject: 'Receipt', text: 'Thank you.' };
        const id: string = (await client.post('/messages', message)).at('id');
        for (let left = randomInt(MOST_MOMENTS); left > 0; left -= 1) await client.get(`/messages/${id}`);
        const change = next % 2 === 0 ? 'cancel' : 'reschedule';
        const later = { scheduledAt: new Date(Date.now() + HOUR) };
        const { status } =
          change === 'cancel'
            ? await client.post(`/messages/${id}/cancel`)
            : await client.patch(`/messages/${id}`, later);
        tried.push({ id, to, change, status });
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, tryNext));
    await eventually('what was not changed is sent', async () => {
      const [row] = await system.database.query<{ left: number }>(
        `select count(*)::int as left from messaging.messages where status in ('SCHEDULED', 'QUEUED') and not (id = any($1))`,
        [tried.flatMap(({ id, change, status }) => (change === 'reschedule' && status === 200 ? [id] : []))],
      );
      return row?.left === 0;
    });
  }, 600_000);

  afterAll(async () => {
    await system?.stop();
    await sink?.stop();
  });

  it('are changed and not on the wire, or answered with 409 and sent once', async () => {
    const mails = new Map<string, number>();
    for (const { to } of sink.messages) mails.set(to[0]!, (mails.get(to[0]!) ?? 0) + 1);
    const rows = await system.database.query<{ id: string; status: string }>(
      'select id, status from messaging.messages',
    );
    const states = new Map(rows.map(({ id, status }) => [id, status]));
    const found = tried.map(({ id, to, change, status }) => ({
      change,
      status,
      state: states.get(id),
      mails: mails.get(to) ?? 0,
    }));
    const expected = tried.map(({ change, status }) => {
      if (status !== 200) return { change, status: 409, state: 'SENT', mails: 1 };
      return { change, status, state: change === 'cancel' ? 'CANCELLED' : 'SCHEDULED', mails: 0 };
    });
    expect(found).toEqual(expected);
    expect(found).toHaveLength(MESSAGES);
    // Both came to pass, or no moment was a random one.
    const changed = found.filter(({ status }) => status === 200).length;
    expect(changed).toBeGreaterThan(0);
    expect(changed).toBeLessThan(MESSAGES);
  });

  it('are taken from the plan as far as they are sent, or will be', async () => {
    const sent = sink.count();
    const waiting = tried.filter(({ change, status }) => change === 'reschedule' && status === 200).length;
    const [usage] = await system.database.query(
      `select (u.used + coalesce(sum(s.used), 0))::int as used,
         (u.reserved - coalesce(sum(s.used + s.released - s.reserved), 0))::int as reserved
       from billing.email_usage u left join billing.email_settlements s using (tenant_id, period_start)
       where u.tenant_id = $1 group by u.used, u.reserved`,
      [project.live.tenantId],
    );
    expect(usage).toEqual({ used: sent, reserved: waiting });
  });
});
