import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EmailQuotaService } from '#billing';
import { AutomationsFixture, chain, mail, trigger } from '../automations.fixture.js';

const QUARTER_OF_AN_HOUR = 15 * 60_000;

describe('live mails of automations', () => {
  let fixture: AutomationsFixture;
  beforeAll(async () => {
    fixture = await AutomationsFixture.open({}, 'LIVE');
  });
  afterAll(() => fixture?.close());

  it('count against the plan; when the month has none left, people wait at the step until there are', async () => {
    const { scope, messaging } = fixture;
    const quota = messaging.get(EmailQuotaService);
    // Behind the moment at which the subscription began, which the database's own clock tells.
    messaging.clock.advance(QUARTER_OF_AN_HOUR);
    const now = messaging.clock.now();
    const id = await fixture.active(chain(trigger(), mail('hello')));
    const { periodStart } = await quota.reserve(scope, (await quota.remaining(scope, now)) - 2, now);
    const people = [await fixture.person(), await fixture.person(), await fixture.person()];
    for (const { email } of people) await fixture.enter(id, email);
    await fixture.run();
    expect(await fixture.totals(id)).toEqual([3, 2, 1]);
    expect(await quota.remaining(scope, now)).toBe(0);
    await fixture.later(QUARTER_OF_AN_HOUR);
    expect(await fixture.totals(id)).toEqual([3, 2, 1]);
    await quota.settle(scope, periodStart, { used: 0, released: 1 });
    await fixture.later(QUARTER_OF_AN_HOUR);
    expect(await fixture.totals(id)).toEqual([3, 3, 0]);
    const mails = await Promise.all(people.map(({ id: person }) => fixture.mails(person)));
    expect(mails.map(({ length }) => length)).toEqual([1, 1, 1]);
  });
});
