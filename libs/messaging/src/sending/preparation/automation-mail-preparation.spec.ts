import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AutomationsFixture, chain, mail, trigger } from '../../automations/automations.fixture.js';

describe('a mail of an automation', () => {
  let fixture: AutomationsFixture;
  beforeAll(async () => {
    fixture = await AutomationsFixture.open();
  });
  afterAll(() => fixture?.close());

  it('that may have arrived twice is not sent again, though its run is gone by then', async () => {
    const { messaging } = fixture;
    const id = await fixture.active(chain(trigger(), mail('hello')));
    await fixture.enter(id, (await fixture.person()).email);
    await fixture.run();
    await messaging.test.query(
      `update messaging.deliveries set state = 'SENDING', attempt = 2, possible_duplicate = true,
         lease_token = gen_random_uuid(), lease_until = '-infinity'`,
    );
    await messaging.test.query('delete from messaging.automation_runs');
    messaging.engine.start();
    const [row] = await messaging.settled(
      'it is decided',
      ({ state }) => state !== 'SENDING' && state !== 'CLAIMED',
    );
    expect(row).toMatchObject({ state: 'AMBIGUOUS', reason: 'no-reply' });
  });
});
