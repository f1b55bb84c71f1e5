import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AutomationsFixture, chain, delay, trigger } from '../automations.fixture.js';

describe('a plan without automations', () => {
  let fixture: AutomationsFixture;
  beforeAll(async () => {
    fixture = await AutomationsFixture.open();
  });
  afterAll(() => fixture?.close());

  const include = (included: boolean) =>
    fixture.messaging.test.query(
      `update billing.plan_versions set limits = limits || jsonb_build_object('automationsEnabled', $1::boolean)
       where tier = 'FREE'`,
      [included],
    );
  const refused = expect.objectContaining({ errors: { plan: 'the plan does not include automations' } });
  const waiting = chain(trigger(), delay('wait', 'P1D'));

  it('lets none be made or activated; those that run go on, and can be paused', async () => {
    const running = await fixture.active(waiting);
    const resting = await fixture.active(waiting);
    await fixture.automations.pause(fixture.scope, resting);
    const { email } = await fixture.person();
    await fixture.enter(running, email);
    await include(false);
    const draft = { name: 'New', description: null, triggerType: null, triggerTopicId: null };
    await expect(fixture.editor.create(fixture.scope, draft)).rejects.toEqual(refused);
    await expect(fixture.automations.activate(fixture.scope, resting)).rejects.toEqual(refused);
    await expect(fixture.automations.update(fixture.scope, resting, { status: 'ACTIVE' })).rejects.toEqual(
      refused,
    );
    await fixture.later(24 * 3_600_000);
    expect(await fixture.totals(running)).toEqual([1, 1, 0]);
    await fixture.automations.pause(fixture.scope, running);

    await include(true);
    expect((await fixture.automations.activate(fixture.scope, resting)).status).toBe('ACTIVE');
  });
});
