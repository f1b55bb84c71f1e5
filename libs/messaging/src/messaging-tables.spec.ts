import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { Automation } from './automations/automation.js';
import { MessagingFixture } from './messaging.fixture.js';

const NOW = new Date('2026-03-01T10:20:30.456Z');
const LATER = new Date('2027-03-01T10:20:30.456Z');

describe('What is written of messaging is read as it was', () => {
  let fixture: MessagingFixture;
  let scope: ProjectScope;

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
    scope = await fixture.scope();
  });
  afterAll(() => fixture?.close());

  /** Also after what `change` does to it. */
  const isReadAsWritten = async <Entity extends object>(
    type: new (...given: never[]) => Entity,
    entity: Entity,
    change: () => unknown,
  ) => {
    const { em } = fixture.get(Database);
    await em.persist(entity).flush();
    change();
    await em.flush();
    em.clear();
    expect(await em.find(type, {})).toEqual([entity]);
  };

  it('an automation', () =>
    fixture.get(Database).transaction(scope, async () => {
      const identity = { id: newId(), environmentId: scope.environmentId, automationKey: 'APIT-1' };
      const fields = { name: 'Welcome', description: null, triggerType: null, triggerTopicId: null };
      const automation = new Automation(identity, fields, NOW);
      await isReadAsWritten(Automation, automation, () => {
        automation.describe({ description: 'Hello', triggerType: 'manual', triggerTopicId: newId() }, LATER);
        automation.replaceContent({ nodes: '[{}]', edges: '[]', nodeCount: 1 }, LATER);
        automation.activate(5_000_000_000, LATER);
        automation.pause(LATER);
        automation.archive(LATER);
        automation.delete(0, LATER);
      });
      expect(automation.number).toBeGreaterThan(0);
    }));
});
