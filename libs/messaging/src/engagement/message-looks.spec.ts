import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseEmailAddress, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { eventually } from '#testing/time/eventually';
import * as fc from '#testing/random/properties';
import { type Act, acts, expectedTotals, linkedContent, READERS } from '#testing/fixtures/reader-acts';
import { prepareProject } from '#testing/programs/system';
import { MailPersonalDataService } from '../mail-personal-data.service.js';
import { MessageAcceptanceService } from '../messages/message-acceptance.service.js';
import { MessagingFixture } from '../messaging.fixture.js';
import { MailStatisticsQuery } from '../reports/statistics/mail-statistics.query.js';
import type { TrackedEvent } from './event-batch.query.js';
import { TrackedEventsService } from './tracked-events.service.js';

const RUNS = fc.runs(40);

interface SentMessage {
  readonly id: string;
  readonly day: string;
  readonly sentAt: Date;
  readonly linkSet: number;
  readonly digest: Buffer;
}

describe('opens and clicks of messages', () => {
  let messaging: MessagingFixture;
  let scope: ProjectScope;
  let messages: readonly SentMessage[];

  beforeAll(async () => {
    messaging = await MessagingFixture.open();
    scope = (await prepareProject(messaging.test, '')).test;
    for (let reader = 0; reader < READERS; reader += 1) await send(`reader${reader}@example.com`);
    messaging.engine.start();
    messages = await eventually('all are sent', async () => {
      const rows = await messaging.test.query<SentMessage & { linkSet: string }>(
        `select m.id, m.queued_on::text as day, m.sent_at as "sentAt", s.id as "linkSet", m.to_digest as digest
         from messaging.messages m join messaging.link_sets s on s.message_id = m.id where m.sent_at is not null order by m.id`,
      );
      return rows.length === READERS ? rows.map((row) => ({ ...row, linkSet: Number(row.linkSet) })) : null;
    });
  });
  afterAll(async () => {
    await messaging?.close();
  });

  function send(email: string) {
    const parsed = parseEmailAddress(email);
    if ('fault' in parsed) throw new Error(parsed.fault);
    return messaging.get(MessageAcceptanceService).send(scope, {
      to: { address: parsed.address, name: null },
      cc: [],
      bcc: [],
      purpose: 'An order',
      topicKey: null,
      subject: 'Receipt',
      contentJson: linkedContent,
      text: null,
      data: {},
      headers: {},
      fromName: null,
      fromEmail: null,
      replyTo: [],
      tags: ['a', 'b'],
      locale: null,
      scheduledAt: null,
      expiresAt: null,
      keep: 'CONTENT',
      track: { opens: true, clicks: true },
      ambiguous: 'RESEND',
    });
  }

  const eventOf = ({ reader, ms, place, known }: Act): TrackedEvent => {
    const { id, day, sentAt, linkSet } = messages[reader]!;
    return {
      environmentId: scope.environmentId,
      campaignId: null,
      messageId: id,
      queuedOn: day,
      deliveryId: id,
      linkSet,
      type: place === 0 ? 'OPENED' : 'CLICKED',
      linkNumber: place === 0 ? null : place,
      url: place === 0 ? null : `https://acme.example/${place}`,
      at: new Date(sentAt.getTime() + ms),
      known,
      agent: 'other',
    };
  };
  const write = (made: readonly Act[]) => messaging.get(TrackedEventsService).write(made.map(eventOf));
  const forgetAll = () =>
    messaging.test.query(`delete from messaging.message_events where type in ('OPENED', 'CLICKED')`);

  /** Figures under the names that campaigns have for them. */
  async function totals() {
    const to = new Date(messages[0]!.sentAt.getTime() + 86_400_000);
    const request = { interval: 'hour', by: 'tag', to } as const;
    const { totals: found } = await messaging.get(MailStatisticsQuery).of(scope, request);
    const { opened: totalOpened, uniqueOpens, clicked: totalClicked, uniqueClicks } = found;
    return { totalOpened, uniqueOpens, totalClicked, uniqueClicks };
  }

  it('are counted the same in whatever batches they come', async () => {
    await fc.assert(
      fc.asyncProperty(acts, fc.integer({ min: 1, max: 10 }), async (made, size) => {
        await forgetAll();
        for (let begin = 0; begin < made.length; begin += size) await write(made.slice(begin, begin + size));
        expect(await totals()).toEqual(expectedTotals(made));
      }),
      { numRuns: RUNS },
    );
  });

  it('are counted the same when several processes write them at once', async () => {
    await fc.assert(
      fc.asyncProperty(acts, async (made) => {
        await forgetAll();
        const shares = [0, 1, 2, 3].map((share) => made.filter((_, index) => index % 4 === share));
        await Promise.all(shares.map(write));
        expect(await totals()).toEqual(expectedTotals(made));
      }),
      { numRuns: RUNS },
    );
  });

  it('leave no address behind that is written while their reader is erased', async () => {
    await forgetAll();
    const click = (ms: number): Act => ({ reader: 0, ms, place: 1, known: null });
    await write([click(10_000)]);
    const { id: subscriberId, digest } = messages[0]!;
    const erased = { subscriberId, addressDigest: digest.toString('hex') };
    const begun = Promise.withResolvers<void>();
    const committed = Promise.withResolvers<void>();
    const erasing = messaging.get(Database).transaction(scope, async () => {
      await messaging.get(MailPersonalDataService).erase(scope, erased);
      begun.resolve();
      await committed.promise;
    });
    await begun.promise;
    let isWritten = false;
    const writing = write([click(20_000)]).then(() => (isWritten = true));
    await eventually('the other click waits for it, or is written', async () => {
      const waiting = await messaging.test.query('select 1 from pg_locks where not granted');
      return isWritten || waiting.length > 0;
    });
    committed.resolve();
    await Promise.all([erasing, writing]);
    await write([click(30_000)]);
    const left = await messaging.test.query(
      `select 1 from messaging.message_events where message_id = $1 and url is not null
       union all select 1 from messaging.link_sets where message_id = $1`,
      [subscriberId],
    );
    expect(left).toEqual([]);
  });
});
