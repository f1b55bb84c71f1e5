import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EnvironmentsQuery } from '#access';
import { newId, type ProjectScope } from '#kernel';
import { ManualClock } from '#testing/time/clocks';
import { Database } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { createProject } from '#testing/fixtures/fixtures';
import type { Report } from './report.js';
import { ReportsService } from './reports.service.js';

const BOUNCE: Report = {
  kind: 'bounce',
  class: 'hard',
  refusal: {
    code: 550,
    enhancedCode: '5.1.1',
    text: 'unknown user: "Lovelace" <ada.Lovelace@example.com> lovelace',
  },
  recipient: 'lovelace@example.com',
  originalMessageId: null,
};
const COMPLAINT: Report = { kind: 'complaint', originalMessageId: null };

describe('reports', () => {
  let test: TestDatabase;
  let database: Database;
  let scope: ProjectScope;
  let reports: ReportsService;
  const clock = new ManualClock(new Date('2026-11-21T06:00:00Z'));

  beforeAll(async () => {
    test = await createTestDatabase();
    database = await Database.connect({ url: test.url, poolSize: 8, applicationName: 'spec', entities: [] });
    scope = (await createProject(test)).live;
    reports = new ReportsService(database, new EnvironmentsQuery(database), clock);
  });
  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  const claims = (deliveryId = newId()) => ({ environmentId: scope.environmentId, deliveryId });
  const jobsOf = (deliveryId: string) =>
    test.query<{ name: string }>('select name from platform.jobs where payload::text like $1 order by name', [
      `%${deliveryId}%`,
    ]);

  it('count once of each kind, also when many come at once', async () => {
    const of = claims();
    const taken = await Promise.all(
      Array.from({ length: 12 }, (_, n) => reports.take(of, n % 2 === 0 ? BOUNCE : COMPLAINT)),
    );
    expect(taken.filter(Boolean)).toHaveLength(2);
    expect((await jobsOf(of.deliveryId)).map(({ name }) => name)).toEqual([
      'bounces.complaint',
      'bounces.record',
    ]);
  });

  it.each([
    ['policy', '550 5.7.1 Blocked for your reputation', { isDistrust: true }],
    ['policy', '550 5.7.1 Greylisted, come back later', {}],
    ['network', '550 5.4.7 Delivery expired', {}],
  ] as const)('of the class %s with the words "%s" tell %j', async (bounceClass, text, told) => {
    const of = claims();
    await reports.take(of, { ...BOUNCE, class: bounceClass, refusal: { ...BOUNCE.refusal, text } });
    const jobs = await test.query('select payload from platform.jobs where payload::text like $1', [
      `%${of.deliveryId}%`,
    ]);
    expect(jobs).toEqual([{ payload: { bounces: [{ deliveryId: of.deliveryId, bounceClass, ...told }] } }]);
  });

  it('of an environment that is not there, or that say nothing, are nothing', async () => {
    expect(await reports.take({ ...claims(), environmentId: 999_999 }, BOUNCE)).toBe(false);
    expect(await reports.take(claims(), { kind: 'nothing', why: 'no-report' })).toBe(false);
  });

  it('keep neither an address nor the name of a mailbox, and say whether the mail was ours', async () => {
    const of = claims();
    const originalMessageId = `<${of.deliveryId.toUpperCase()}@shop.example>`;
    await reports.take(of, { ...BOUNCE, originalMessageId });
    await reports.take(of, { ...COMPLAINT, originalMessageId: '<other@shop.example>' });
    const kept = await test.query(
      'select kind, excerpt, names_message from deliverability.reports where delivery_id = $1 order by kind',
      [of.deliveryId],
    );
    expect(kept).toEqual([
      { kind: 'BOUNCE', excerpt: 'unknown user: "[name]" <[address]> [name]', names_message: true },
      { kind: 'COMPLAINT', excerpt: null, names_message: false },
    ]);
  });

  it('are kept for 180 days', async () => {
    const of = claims();
    await reports.take(of, BOUNCE);
    clock.advance(179 * 24 * 60 * 60_000);
    await reports.removeOld();
    const count = async () =>
      (await test.query('select 1 from deliverability.reports where delivery_id = $1', [of.deliveryId]))
        .length;
    expect(await count()).toBe(1);
    clock.advance(2 * 24 * 60 * 60_000);
    await reports.removeOld();
    expect(await count()).toBe(0);
  });
});
