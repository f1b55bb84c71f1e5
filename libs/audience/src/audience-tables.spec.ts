import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId, type ProjectScope } from '#kernel';
import { address, AudienceFixture, PROOF } from './audience.fixture.js';
import { CustomField } from './custom-fields/custom-field.js';
import { CustomFieldsService } from './custom-fields/custom-fields.service.js';
import { Import } from './imports/import.js';
import { Segment } from './segments/segment.js';
import { SubscriberRepository } from './subscribers/subscriber.repository.js';
import { SubscribersQuery } from './subscribers/subscribers.query.js';
import { SubscribersService } from './subscribers/subscribers.service.js';
import { Suppression } from './suppressions/suppression.js';
import { Topic } from './topics/topic.js';

const NOW = new Date('2026-03-01T10:20:30.456Z');
const LATER = new Date('2027-03-01T10:20:30.456Z');

describe('What is written of the audience is read as it was', () => {
  let audience: AudienceFixture;
  let scope: ProjectScope;

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    scope = await audience.scope();
  });
  afterAll(() => audience.close());

  /** Also after what `change` does to it. */
  const isReadAsWritten = async <Entity extends object>(
    type: new (...given: never[]) => Entity,
    entity: Entity,
    change: () => unknown = () => undefined,
  ) => {
    const { em } = audience.database;
    await em.persist(entity).flush();
    change();
    await em.flush();
    em.clear();
    expect(await em.find(type, {})).toEqual([entity]);
  };

  it('a topic, a segment and a suppression', () =>
    audience.database.transaction(scope, async () => {
      const { environmentId } = scope;
      const fields = {
        description: 'Monthly',
        visibility: 'PRIVATE',
        priority: 'HIGH',
        icon: 'star',
      } as const;
      const topic = new Topic(
        { id: newId(), environmentId, topicKey: 'APIT-900' },
        { name: 'News', ...fields },
        NOW,
      );
      await isReadAsWritten(Topic, topic, () => {
        topic.change({ status: 'ARCHIVED', doubleOptInEnabled: false }, LATER);
        topic.delete(LATER);
      });
      const rules = '{"version":1}';
      const identity = { id: newId(), environmentId, segmentKey: 'APIT-2' };
      const segment = new Segment(identity, { name: 'Friends', description: 'All', rules }, NOW);
      await isReadAsWritten(Segment, segment, () => {
        segment.change({ status: 'INACTIVE', rules: '{}' }, LATER);
        segment.conditionCount = 3;
        segment.evaluate(5_000_000_000, LATER);
      });
      const grace = address('Grace@example.com');
      await isReadAsWritten(Suppression, new Suppression(scope, grace, 'HARD_BOUNCE', NOW));
    }));

  it('a custom field', async () => {
    const options = [
      { value: 'pro', label: 'Pro' },
      { value: 'free', label: 'Free' },
    ];
    const service = audience.get(CustomFieldsService);
    await service.create(scope, { key: 'plan', type: 'SELECT', displayName: 'Plan', options });
    await audience.database.transaction(scope, async () => {
      const field = await audience.database.em.findOneOrFail(CustomField, { key: 'plan' });
      await isReadAsWritten(CustomField, field, () => {
        field.change(
          { description: 'Paid', isRequired: true, defaultValue: 'pro', options: options.toReversed() },
          NOW,
        );
        field.archive(LATER);
      });
      expect(field.options).toEqual(options.toReversed());
    });
  });

  it('an import', () =>
    audience.database.transaction(scope, async () => {
      const columns = ['email', null, 'customFields.plan'];
      const { environmentId } = scope;
      const order = {
        onConflict: 'SKIP',
        topicKeys: ['APIT-1', 'APIT-2'],
        resubscribe: true,
        proof: PROOF,
        suppressionReason: 'HARD_BOUNCE',
      } as const;
      const added = new Import(newId(), environmentId, order, LATER);
      await isReadAsWritten(Import, added, () => {
        added.queue({ columns, definitionsDigest: 'digest', total: 3_000_000_000 });
        added.begin(7);
        added.end('It failed again and again.', LATER);
      });
      expect(added.counts).toMatchObject({ total: 3_000_000_000, skipped: 7 });
    }));

  it('a subscriber, as clients see it and with the values of archived fields', async () => {
    const fields = audience.get(CustomFieldsService);
    for (const key of ['plan', 'shoe_size'])
      await fields.create(scope, { key, type: 'TEXT', displayName: key, isRequired: false });
    await audience.subscribe(scope, 'Ada@Example.com', await audience.topic(scope));
    const ofAda = address('ada@example.com');
    const subscribers = audience.get(SubscribersService);
    await subscribers.update(scope, ofAda, { customFields: { plan: 'pro', shoe_size: '38' } }, PROOF);
    await audience.get(CustomFieldsService).archive(scope, 'shoe_size');
    audience.clock.advance(1_000);
    const updated = await subscribers.update(
      scope,
      ofAda,
      {
        firstName: 'Ada',
        lastName: "O'Hara",
        phone: '+44 1234',
        customFields: { plan: 'free' },
      },
      PROOF,
    );
    expect(updated).toMatchObject({ lastName: "O'Hara", customFields: { plan: 'free' } });
    expect(await audience.get(SubscribersQuery).get(scope, ofAda)).toEqual(updated);
    await audience.get(SubscriberRepository).edit(scope, ofAda, PROOF, (subscriber) => {
      expect(subscriber.toView()).toEqual(updated);
      expect(subscriber.customFields).toEqual({ plan: 'free', shoe_size: '38' });
      return Promise.resolve();
    });
  });
});
