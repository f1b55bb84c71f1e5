import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AutomationsFixture, chain, mail, trigger } from '../../automations/automations.fixture.js';

describe('a mail of an automation', () => {
  let fixture: AutomationsFixture;
  beforeEach(async () => {
    fixture = await AutomationsFixture.open();
  });
  afterEach(() => fixture?.close());

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

  it('has its footer in the language of its reader', async () => {
    const { messaging, scope } = fixture;
    await messaging.test.query(
      `insert into access.project_texts (project_id, locale, version, texts, created_at)
       values ($1, 'fr', 1, '{"footer.unsubscribe": "Se désabonner"}', now())`,
      [scope.projectId],
    );
    const id = await fixture.active(chain(trigger(), mail('hello')));
    const people = [await fixture.person(), await fixture.person()];
    await messaging.test.query(`update audience.subscribers set locale = 'fr-CA' where email_key = $1`, [
      people[0]!.email,
    ]);
    for (const { email } of people) await fixture.enter(id, email);
    await fixture.run();
    messaging.engine.start();
    await messaging.settled('both are sent', ({ state }) => state === 'SENT');
    const found = await messaging.test.query<{ to_address: string; is_french: boolean }>(
      `select to_address, convert_from(raw, 'UTF8') ~ 'Se d(=C3=A9|é)sabonner' as is_french from messaging.test_inbox_messages
       order by to_address`,
    );
    expect(found.map(({ is_french: isFrench }) => isFrench)).toEqual([true, false]);
  });
});
