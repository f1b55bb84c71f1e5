import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '#kernel';
import { Database } from '#platform';
import { MessagingFixture, MINUTE } from '../../messaging.fixture.js';
import { DeliverySourcesService } from './delivery-sources.service.js';
import type { DeliverySource } from '../delivery-work.js';

const QUIET = 25;

describe('campaigns of which all mails wait', () => {
  let fixture: MessagingFixture;
  let source: DeliverySource;

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
    for (let campaigns = 0; campaigns < QUIET; campaigns += 1)
      await fixture.queuedCampaign(await fixture.scope(), 1);
    await fixture.test.query(
      `update messaging.deliveries set state = 'DEFERRED', attempt = 1, next_attempt_at = $1`,
      [new Date(fixture.clock.now().getTime() + 10 * MINUTE)],
    );
    const found = fixture.get(DeliverySourcesService).of('LIVE').at(-1);
    if (found === undefined) throw new Error('There are no sources.');
    source = found;
  });
  afterAll(() => fixture.close());

  /** Number of transactions that `work` began, and its result. */
  async function counted<T>(work: () => Promise<T>): Promise<{ transactions: number; result: T }> {
    let transactions = 0;
    const { pool } = fixture.get(Database);
    const count = () => (transactions += 1);
    pool.on('acquire', count);
    const result = await work();
    pool.off('acquire', count);
    return { transactions, result };
  }

  it('cost a sender at rest no transaction', async () => {
    const { transactions, result } = await counted(() => source.claim(10, newId()));
    expect({ transactions, result }).toEqual({ transactions: 0, result: [] });
  });

  it('cost a claim for others no transaction', async () => {
    await fixture.queuedCampaign(await fixture.scope(), 40);
    for (let claims = 0; claims < 4; claims += 1) {
      const { transactions, result } = await counted(() => source.claim(10, newId()));
      expect([transactions, result.length]).toEqual([1, 10]);
    }
  });

  it('are found when their time has come, each in turn, and ended when all is sent', async () => {
    fixture.later(11 * MINUTE);
    const claimed = new Set<number>();
    for (;;) {
      const works = await source.claim(10, newId());
      if (works.length === 0) break;
      for (const { scope } of works) claimed.add(scope.environmentId);
    }
    expect(claimed.size).toBe(QUIET + 1);
    await fixture.test.query(
      `update messaging.deliveries set state = 'SENT', sent_at = $1, finished_at = $1`,
      [fixture.clock.now()],
    );
    await source.claim(10, newId());
    const open = await fixture.test.query(`select 1 from messaging.campaigns where status <> 'SENT'`);
    expect(open).toEqual([]);
  });
});
