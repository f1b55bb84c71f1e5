import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId, NotFoundError, type ProjectScope } from '#kernel';
import { prepareProject } from '#testing/programs/system';
import { MessagingFixture } from '../messaging.fixture.js';
import { TestInboxService } from './test-inbox.service.js';

const DAY = 24 * 60 * 60_000;
const page = { page: 0, size: 20 };

describe('the test inbox', () => {
  let fixture: MessagingFixture;

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
  });

  afterAll(() => fixture.close());

  const scopes = () => prepareProject(fixture.test, '');
  const receive = (scope: ProjectScope, count: number, ageMs = 0) =>
    fixture.test.query(
      `insert into messaging.test_inbox_messages
         (id, environment_id, delivery_id, kind, to_address, to_key, from_address, subject, links, raw, received_at)
       select platform.new_id(), $1, platform.new_id(), 'CAMPAIGN', 'Ada@example.com', 'ada@example.com', 'news@example.com',
         'No. ' || n, '{}', convert_to(E'Subject: =?UTF-8?B?SGkh?=\\r\\nX-Long: a\\r\\n b\\r\\n\\r\\nHello', 'UTF8'), $2::timestamptz + n * interval '1 ms'
       from generate_series(1, $3::int) n`,
      [scope.environmentId, new Date(fixture.clock.now().getTime() - ageMs), count],
    );

  it('lists the newest first and opens one with its headers unfolded', async () => {
    const { test } = await scopes();
    await receive(test, 3);
    const list = await fixture.get(TestInboxService).list(test, page, { toKey: 'ada@example.com' });
    expect(list.items.map(({ subject }) => subject)).toEqual(['No. 3', 'No. 2', 'No. 1']);
    const opened = await fixture.get(TestInboxService).open(test, list.items[0]?.id ?? '');
    expect(opened.headers).toEqual({ Subject: '=?UTF-8?B?SGkh?=', 'X-Long': 'a b' });
    expect(opened.text.trim()).toBe('Hello');
  });

  it('is not there for the live environment, nor for another project', async () => {
    const { test, live } = await scopes();
    const other = await scopes();
    await receive(test, 1);
    const inbox = fixture.get(TestInboxService);
    const [message] = (await inbox.list(test, page, {})).items;
    await expect(inbox.list(live, page, {})).rejects.toBeInstanceOf(NotFoundError);
    await expect(inbox.open(other.test, message?.id ?? '')).rejects.toBeInstanceOf(NotFoundError);
    await expect(inbox.raw(test, newId())).rejects.toBeInstanceOf(NotFoundError);
    expect((await inbox.list(other.test, page, {})).totalElements).toBe(0);
  });

  it('keeps 30 days, and the newest 10 000 of each project', async () => {
    const { test } = await scopes();
    const { test: full } = await scopes();
    await receive(test, 2, 31 * DAY);
    await receive(test, 1, 29 * DAY);
    await receive(full, 10_005);
    await fixture.get(TestInboxService).trim();
    const inbox = fixture.get(TestInboxService);
    expect((await inbox.list(test, page, {})).totalElements).toBe(1);
    const kept = await inbox.list(full, page, {});
    expect([kept.totalElements, kept.items[0]?.subject]).toEqual([10_000, 'No. 10005']);
  });
});
