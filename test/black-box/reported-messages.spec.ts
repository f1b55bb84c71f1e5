import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { EnvironmentsQuery } from '#access';
import { addressMark, FeedbackEventsService, ReportsService, ReturnPaths } from '#deliverability';
import { newId, type ProjectScope } from '#kernel';
import { DeliveryFeedbackService, DeliveryPacingService, MailPagesService } from '#messaging';
import { Database, done } from '#platform';
import { Registry } from 'prom-client';
import { FeedbackMetrics } from '../../libs/deliverability/src/relays/feedback-events.service.js';
import { MessagingFixture } from '../../libs/messaging/src/messaging.fixture.js';
import { BounceJobs } from '../../apps/worker/src/deliverability/bounce-processor.js';

const MINUTE = 60_000;

describe('mails that a provider names by ids that nobody here gave', () => {
  let fixture: MessagingFixture;
  let scope: ProjectScope;
  let jobs: BounceJobs;
  const lines: Record<string, unknown>[] = [];

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
    scope = await fixture.scope();
    const database = fixture.get(Database);
    const reports = new ReportsService(database, new EnvironmentsQuery(database), fixture.clock);
    const paths = new ReturnPaths('a secret of the tests, long enough for it');
    const metrics = new FeedbackMetrics(new Registry());
    const feedback = new FeedbackEventsService(database, reports, paths, metrics);
    const log = new Writable({
      write(chunk, _encoding, written) {
        lines.push(JSON.parse(String(chunk)) as Record<string, unknown>);
        written();
      },
    });
    jobs = new BounceJobs(
      database,
      fixture.get(DeliveryFeedbackService),
      fixture.get(DeliveryPacingService),
      fixture.get(MailPagesService),
      feedback,
      fixture.clock,
      pino(log),
    );
  });
  afterAll(() => fixture?.close());

  const report = { messageId: newId(), addressMark: addressMark('ada@example.com'), facts: null };
  const reportedAgo = (ms: number) => ({
    kind: 'POSTMARK' as const,
    receivedAt: new Date(fixture.clock.now().getTime() - ms).toISOString(),
    reports: [report, { ...report, messageId: newId() }],
  });
  /** In a transaction, as its runner does. */
  const handle = (reported: Parameters<BounceJobs['find']>[1]) =>
    fixture.get(Database).transaction(scope, () => jobs.find(scope, reported));
  const written = async () => {
    const [row] = await fixture.test.query<{ count: number }>(
      `select count(*)::int as count from platform.jobs where environment_id = $1`,
      [scope.environmentId],
    );
    return row?.count;
  };

  it('are looked for again while their delivery may still be written', async () => {
    expect(await handle(reportedAgo(MINUTE))).toEqual(done);
    expect([await written(), lines]).toEqual([1, []]);
  });

  it('are given up after five minutes with their number and the provider in the log, and no address', async () => {
    const before = await written();
    expect(await handle(reportedAgo(5 * MINUTE))).toEqual(done);
    expect(await written()).toBe(before);
    expect(lines).toEqual([
      expect.objectContaining({
        level: 40,
        environmentId: scope.environmentId,
        kind: 'POSTMARK',
        missing: 2,
      }),
    ]);
    expect(JSON.stringify(lines)).not.toContain('example.com');
  });
});
