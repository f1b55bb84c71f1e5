import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { MessagingFixture } from '../../messaging.fixture.js';
import { OptInMailQueue } from './opt-in-mails.service.js';

describe('the mail that asks to confirm a sign-up', () => {
  let fixture: MessagingFixture;
  let scope: ProjectScope;

  beforeAll(async () => {
    fixture = await MessagingFixture.open({ DEFAULT_FROM_EMAIL: 'news@host.example' });
  });
  afterAll(() => fixture.close());
  beforeEach(async () => {
    await fixture.clear();
    scope = await fixture.scope();
  });

  it('is queued with the sign-up, for the requests of many at once', async () => {
    await fixture.asksToConfirm(scope, 'ada@example.com');
    await fixture.asksToConfirm(scope, 'Grace@example.com');
    const rows = await fixture.deliveries();
    expect(rows.map(({ address, state, attempt }) => [address, state, attempt])).toEqual([
      ['Grace@example.com', 'PENDING', 0],
      ['ada@example.com', 'PENDING', 0],
    ]);
    const requests = await fixture.test.query<{ id: string }>('select id from audience.confirmations');
    await fixture.clear();
    const dueAt = new Date(fixture.clock.now().getTime() + 60_000);
    const ids = requests.map(({ id }) => id);
    const database = fixture.get(Database);
    await database.transaction(scope, async () => {
      const queueing = await fixture.get(OptInMailQueue).queueing(scope, ids, dueAt);
      await queueing.execute(database.tables());
    });
    const queued = await fixture.deliveries();
    expect(queued.map((row) => [row.address, row.next_attempt_at])).toEqual([
      ['Grace@example.com', dueAt],
      ['ada@example.com', dueAt],
    ]);
  });

  it('is gone with a sign-up that is undone', async () => {
    const signUp = fixture.get(Database).transaction(scope, async () => {
      await fixture.asksToConfirm(scope, 'ada@example.com');
      throw new Error('The connection is lost.');
    });
    await expect(signUp).rejects.toThrow('The connection is lost.');
    expect(await fixture.deliveries()).toEqual([]);
  });

  it('has its Message-ID from the installation’s sender while the project names none', async () => {
    await fixture.asksToConfirm(scope, 'ada@example.com');
    const [queued] = await fixture.deliveries();
    expect(queued?.message_id).toBe(`<${queued?.id}@host.example>`);
  });
});
