import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CustomFieldsService } from '#audience';
import { Publisher } from '#platform';
import { WebhookPublisherService } from '#webhooks';
import { AutomationsFixture, chain, delay, rules, trigger, where } from '../automations.fixture.js';

const DAY = 24 * 3_600_000;

interface Told {
  readonly subscriber_id: string;
  readonly data: Readonly<Record<string, unknown>>;
}

describe('what is told of people who come to the end of an automation', () => {
  let fixture: AutomationsFixture;
  beforeAll(async () => {
    fixture = await AutomationsFixture.open({}, 'TEST', WebhookPublisherService);
    const options = ['free', 'pro'].map((value) => ({ value, label: value }));
    await fixture.messaging
      .get(CustomFieldsService)
      .create(fixture.scope, { key: 'plan', displayName: 'Plan', type: 'SELECT', options });
  });
  afterAll(() => fixture?.close());

  const told = () =>
    fixture.messaging.test.query<Told>(
      `select subscriber_id, data from webhooks.events where type = 'automation.completed' order by id`,
    );
  const listen = async () => {
    await fixture.messaging.test.query(
      `insert into webhooks.endpoints (id, environment_id, project_id, url, event_types, secret, status, created_at, updated_at)
       values (gen_random_uuid(), $1, $2, 'https://example.com/hooks', '{automation.completed}', 'sealed', 'ENABLED', now(), now())`,
      [fixture.scope.environmentId, fixture.scope.projectId],
    );
    const publisher = fixture.messaging.get(Publisher);
    if (!(publisher instanceof WebhookPublisherService)) throw new Error('Nobody would be told.');
    await publisher.refresh();
  };

  it('is nothing where nobody listens, and each of them once where somebody does', async () => {
    const isPro = rules(where('custom.plan', 'pro').where);
    const id = await fixture.active(
      chain(
        trigger(),
        { id: 'bought', type: 'goal', config: { name: 'Bought', rules: isPro } },
        delay('wait', 'P1D'),
      ),
    );
    const early = await fixture.person();
    await fixture.enter(id, early.email);
    await fixture.run();
    await fixture.later(DAY);
    expect(await told()).toEqual([]);

    await listen();
    const people = [];
    for (const plan of ['free', 'pro', 'free', 'pro']) {
      const person = await fixture.person({ customFields: { plan } });
      await fixture.enter(id, person.email);
      people.push({ ...person, plan, enteredAt: fixture.messaging.clock.now().toISOString() });
    }
    await fixture.run();
    const converted = fixture.messaging.clock.now().toISOString();
    expect(await told()).toHaveLength(2);
    await fixture.later(DAY);
    const completed = fixture.messaging.clock.now().toISOString();
    const { automationKey } = await fixture.view(id);
    const expected = people.map(({ id: subscriberId, email, plan, enteredAt }) => ({
      subscriber_id: subscriberId,
      data: {
        automationKey,
        metadata: {},
        automationId: id,
        subscriberId,
        email,
        outcome: plan === 'pro' ? 'converted' : 'completed',
        enteredAt,
        completedAt: plan === 'pro' ? converted : completed,
      },
    }));
    const found = await told();
    expect(found).toHaveLength(expected.length);
    expect(found).toEqual(expect.arrayContaining(expected));
  });
});
