import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { address, AudienceFixture } from '../audience.fixture.js';
import { changesBetween, FieldChangesService } from './field-changes.service.js';
import { SubscribersService } from './subscribers.service.js';

const DAY_MS = 86_400_000;
const BY = { actor: 'API_KEY', actorId: 'a-key' } as const;

describe('changes of fields', () => {
  let audience: AudienceFixture;

  beforeAll(async () => {
    audience = await AudienceFixture.open();
  });
  afterAll(() => audience.close());

  it('are told one by one, in custom fields and metadata too; what only one state names was null', () => {
    const earlier = { firstName: 'Ada', customFields: { plan: 'free', tags: ['a'] }, metadata: { crm: '1' } };
    const later = { firstName: 'Ada', customFields: { plan: 'pro', tags: ['a'], vip: true }, metadata: {} };
    expect(changesBetween(earlier, later)).toEqual({
      'customFields.plan': { from: 'free', to: 'pro' },
      'customFields.vip': { from: null, to: true },
      'metadata.crm': { from: '1', to: null },
    });
    expect(changesBetween(earlier, earlier)).toEqual({});
  });

  it('are recorded with who made them, where something changed, and removed after a year', async () => {
    const scope = await audience.scope();
    const topic = await audience.topic(scope);
    await audience.subscribe(scope, 'ada@example.com', topic);
    const update = (firstName: string) =>
      audience.get(SubscribersService).update(scope, address('ada@example.com'), { firstName }, BY);
    const kept = () =>
      audience.test.query<{ changes: unknown; actorId: string }>(
        'select changes, actor_id as "actorId" from audience.field_changes order by occurred_at, id',
      );
    await update('Ada');
    await update('Ada');
    audience.clock.advance(DAY_MS);
    await update('Grace');
    const changes = [
      { changes: { firstName: { from: null, to: 'Ada' } }, actorId: 'a-key' },
      { changes: { firstName: { from: 'Ada', to: 'Grace' } }, actorId: 'a-key' },
    ];
    expect(await kept()).toEqual(changes);
    audience.clock.advance(364 * DAY_MS + 1);
    await audience.get(FieldChangesService).trim();
    expect(await kept()).toEqual(changes.slice(1));
  });
});
