import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId, type ProjectScope } from '#kernel';
import { address, AudienceFixture } from './audience.fixture.js';
import { CustomField } from './custom-fields/custom-field.js';
import { CustomFieldsService } from './custom-fields/custom-fields.service.js';
import { Segment } from './segments/segment.js';
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
        { id: newId(), environmentId, topicKey: 'APIT-1' },
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
      const ada = { ...address('Ada@example.com') };
      await isReadAsWritten(Suppression, new Suppression(scope, ada, 'HARD_BOUNCE', NOW));
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
});
