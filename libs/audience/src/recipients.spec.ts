import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { newId, type ProjectScope } from '#kernel';
import { address, AudienceFixture, HOUR, PROOF } from './audience.fixture.js';
import { RecipientsQuery } from './recipients.query.js';
import { ConsentsService } from './sign-up/consents.service.js';
import { SuppressionsService } from './suppressions/suppressions.service.js';

describe('recipients', () => {
  let audience: AudienceFixture;
  let query: RecipientsQuery;

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    query = audience.get(RecipientsQuery);
  });
  afterAll(() => audience.close());

  interface Step {
    readonly found: { readonly address: string; readonly address_key: string }[];
    readonly last: string | null;
  }

  /** Looks at two people after the other, as a campaign expands its audience. */
  async function expand(scope: ProjectScope, topicIds: readonly string[], asOf: Date): Promise<string[]> {
    const found: string[] = [];
    for (let after: string | undefined; ;) {
      const step = query.audience(scope, topicIds, asOf, { after, size: 2 });
      const { rows } = await audience.database.transaction(scope, () =>
        sql<Step>`
          with ${step} select (select coalesce(jsonb_agg(a order by a.subscriber_id), '[]') from audience a) as found,
            (select subscriber_id from candidates order by 1 desc limit 1) as last`.execute(
          audience.database.tables(),
        ),
      );
      const last = rows[0]?.last ?? null;
      if (last === null) return found;
      for (const { address: written, address_key: key } of rows[0]?.found ?? []) {
        expect(key).toBe(address(written).key);
        found.push(written);
      }
      after = last;
    }
  }

  async function town() {
    const { test: scope, live } = await audience.project();
    const news = await audience.topic(scope);
    const offers = await audience.topic(scope);
    const slow = await audience.topic(scope, { doubleOptInEnabled: true });
    const people = {
      both: await audience.subscribe(scope, 'Both@example.com', news, offers),
      news: await audience.subscribe(scope, 'news@example.com', news),
      offers: await audience.subscribe(scope, 'offers@example.com', offers),
      pending: await audience.subscribe(scope, 'pending@example.com', slow),
      revoked: await audience.subscribe(scope, 'revoked@example.com', news, offers),
      bounced: await audience.subscribe(scope, 'bounced@example.com', news),
      paused: await audience.subscribe(scope, 'paused@example.com', news),
    };
    await audience.get(ConsentsService).revoke(scope, address('revoked@example.com'), news.topicKey, PROOF);
    await audience
      .get(SuppressionsService)
      .suppress(scope, address('bounced@example.com'), 'HARD_BOUNCE', PROOF);
    await audience.test.query('update audience.subscribers set paused_until = $1 where id = $2', [
      new Date(audience.clock.now().getTime() + HOUR),
      people.paused.id,
    ]);
    return { scope, live, news, offers, slow, people, now: audience.clock.now() };
  }

  it('are who is subscribed to a topic, not suppressed and not paused', async () => {
    const { scope, news, slow, now } = await town();
    expect(await expand(scope, [news.id], now)).toEqual(['Both@example.com', 'news@example.com']);
    expect(await query.count(scope, { topicIds: [news.id], segmentIds: [] }, now)).toBe(2);
    expect(await query.count(scope, { topicIds: [slow.id], segmentIds: [] }, now)).toBe(0);
    expect(await query.count(scope, { topicIds: [], segmentIds: [] }, now)).toBe(0);
  });

  it('get one mail however many of the topics they are subscribed to', async () => {
    const { scope, news, offers, slow, now } = await town();
    const topicIds = [news.id, offers.id, slow.id];
    expect(await expand(scope, topicIds, now)).toEqual([
      'Both@example.com',
      'news@example.com',
      'offers@example.com',
      'revoked@example.com',
    ]);
    expect(await query.count(scope, { topicIds, segmentIds: [] }, now)).toBe(4);
  });

  it('are as they stood at the moment asked for, less those who left since', async () => {
    const { scope, news, now } = await town();
    audience.clock.advance(1_000);
    await audience.subscribe(scope, 'late@example.com', news);
    await audience.get(ConsentsService).revoke(scope, address('news@example.com'), news.topicKey, PROOF);
    expect(await expand(scope, [news.id], now)).toEqual(['Both@example.com']);
    expect(await expand(scope, [news.id], audience.clock.now())).toEqual([
      'Both@example.com',
      'late@example.com',
    ]);
  });

  it('come back when their pause is over', async () => {
    const { scope, news } = await town();
    audience.clock.advance(HOUR);
    expect(await expand(scope, [news.id], audience.clock.now())).toContain('paused@example.com');
  });

  it('are never those of another project or environment', async () => {
    const { scope, live, news, people, now } = await town();
    for (const stranger of [live, await audience.scope()]) {
      expect(await query.count(stranger, { topicIds: [news.id], segmentIds: [] }, now)).toBe(0);
      expect((await query.lookUp(stranger, [news.id], [people.news.id], now)).size).toBe(0);
    }
    expect(
      await query.count(scope, { topicIds: [(await audience.topic(live)).id], segmentIds: [] }, now),
    ).toBe(0);
  });

  it('are looked up with what their mail needs and why it may not go', async () => {
    const { scope, news, offers, people, now } = await town();
    const ids = Object.values(people).map(({ id }) => id);
    const found = await query.lookUp(scope, [news.id], [...ids, newId()], now);
    const obstacles = Object.entries(people).map(([name, { id }]) => [name, found.get(id)?.obstacle]);
    expect(Object.fromEntries(obstacles)).toEqual({
      both: null,
      news: null,
      offers: 'unsubscribed',
      pending: 'unsubscribed',
      revoked: 'unsubscribed',
      bounced: 'suppressed',
      paused: 'paused',
    });
    expect(found.size).toBe(7);
    expect((await query.lookUp(scope, [news.id, offers.id], ids, now)).get(people.both.id)).toEqual({
      subscriberId: people.both.id,
      email: 'Both@example.com',
      externalId: null,
      firstName: null,
      lastName: null,
      phone: null,
      locale: null,
      timeZone: null,
      customFields: {},
      topicNames: ['News', 'News'],
      obstacle: null,
      pausedUntil: null,
    });
  });

  it('are counted beside those who are left out, each once', async () => {
    const { scope, news, offers, slow, now } = await town();
    const breakdown = async (topicIds: readonly string[]) =>
      (await query.survey(scope, { topicIds, segmentIds: [] }, [], now)).breakdown;
    const nobody = { matched: 0, bounced: 0, suppressed: 0, unconfirmed: 0, capped: 0, willReceive: 0 };
    expect(await breakdown([])).toEqual(nobody);
    expect(await breakdown([slow.id])).toEqual({
      ...nobody,
      matched: 1,
      unconfirmed: 1,
    });
    expect(await breakdown([news.id])).toEqual({
      ...nobody,
      matched: 4,
      bounced: 1,
      capped: 1,
      willReceive: 2,
    });
    for (const topicIds of [[news.id], [offers.id], [news.id, offers.id, slow.id]]) {
      const { matched, willReceive, ...out } = await breakdown(topicIds);
      expect(willReceive).toBe(await query.count(scope, { topicIds, segmentIds: [] }, now));
      expect(matched).toBe(willReceive + out.bounced + out.suppressed + out.unconfirmed + out.capped);
    }
  });

  it('are told from others by a condition that agrees with looking each of them up', async () => {
    const { scope, news, offers, people, now } = await town();
    const ids = [...Object.values(people).map(({ id }) => id), newId()];
    for (const topicIds of [[news.id], [news.id, offers.id], []]) {
      const found = await query.lookUp(scope, topicIds, ids, now);
      const condition = query.mayReceive(scope, sql`i.id`, sql`${topicIds}::uuid[]`, now);
      const wanted = await audience.database.transaction(scope, async () => {
        const { rows } = await sql<{
          id: string;
        }>`select i.id from unnest(${ids}::uuid[]) i(id) where ${condition}`.execute(
          audience.database.tables(),
        );
        return rows.map(({ id }) => id);
      });
      const unhindered = ids.filter((id) => found.get(id)?.obstacle === null);
      expect(wanted.toSorted()).toEqual(unhindered.toSorted());
    }
  });
});
