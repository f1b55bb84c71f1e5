import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId, type ProjectScope } from '#kernel';
import { AudienceFixture, PROOF } from './audience.fixture.js';
import { CustomFieldsService } from './custom-fields/custom-fields.service.js';
import { Import } from './imports/import.js';
import { SubscribersService } from './subscribers/subscribers.service.js';
import { Subscriber } from './subscribers/subscriber.js';
import { SubscribersQuery } from './subscribers/subscribers.query.js';
import { address } from './audience.fixture.js';

const LATER = new Date('2027-03-01T10:20:30.456Z');

describe('What is written of the audience is read as it was', () => {
  let audience: AudienceFixture;
  let scope: ProjectScope;

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    scope = await audience.scope();
  });
  afterAll(() => audience.close());

  const readAgain = async <Entity extends object>(
    type: new (...given: never[]) => Entity,
    of: object,
  ): Promise<Entity> => {
    audience.database.em.clear();
    return audience.database.em.findOneOrFail(type, of);
  };

  it('an import', () =>
    audience.database.transaction(scope, async () => {
      const { em } = audience.database;
      const { environmentId } = scope;
      const added = new Import(newId(), environmentId, 'SKIP', ['APIT-1', 'APIT-2'], PROOF, LATER);
      await em.persist(added).flush();
      expect(await readAgain(Import, { id: added.id })).toEqual(added);
      const found = await readAgain(Import, { id: added.id });
      const columns = ['email', null, 'customFields.plan'];
      found.queue({ columns, definitionsDigest: 'digest', total: 3_000_000_000 });
      found.begin(7);
      found.end('It failed again and again.', LATER);
      await em.flush();
      const again = await readAgain(Import, { id: added.id });
      expect(again).toEqual(found);
      expect(again.columns).toEqual(columns);
      expect(again.counts).toMatchObject({ total: 3_000_000_000, skipped: 7 });
    }));

  it('a subscriber, as clients see it and with the values of archived fields', async () => {
    const fields = audience.get(CustomFieldsService);
    for (const key of ['plan', 'shoe_size'])
      await fields.create(scope, { key, type: 'TEXT', displayName: key, isRequired: false });
    const { id } = await audience.subscribe(scope, 'Ada@Example.com', await audience.topic(scope));
    const ofAda = address('ada@example.com');
    const subscribers = audience.get(SubscribersService);
    await subscribers.update(scope, ofAda, { customFields: { plan: 'pro', shoe_size: '38' } });
    await fields.archive(scope, 'shoe_size');
    audience.clock.advance(1_000);
    const updated = await subscribers.update(scope, ofAda, {
      firstName: 'Ada',
      lastName: "O'Hara",
      phone: '+44 1234',
      customFields: { plan: 'free' },
    });
    expect(updated).toMatchObject({ lastName: "O'Hara", customFields: { plan: 'free' } });
    expect(await audience.get(SubscribersQuery).byAddress(scope, ofAda)).toEqual(updated);
    await audience.database.transaction(scope, async () => {
      const subscriber = await readAgain(Subscriber, { id });
      expect(subscriber.toView()).toEqual(updated);
      expect(subscriber.customFields).toEqual({ plan: 'free', shoe_size: '38' });
    });
  });
});
