import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId, type ProjectScope } from '#kernel';
import { PostgresNotifications } from '#platform';
import { eventually } from '#testing/time/eventually';
import { address, AudienceFixture } from './audience.fixture.js';
import { SubscriberEventsService } from './subscribers/subscriber-events.service.js';
import { SegmentMembersService } from './segments/segment-members.service.js';
import { SegmentsService } from './segments/segments.service.js';
import { TriggersService, TRIGGERS_CHANNEL } from './triggers.service.js';

const ADA = 'ada@example.com';

describe('an automation that waits', () => {
  let audience: AudienceFixture;
  let notifications: PostgresNotifications;
  let scope: ProjectScope;
  /** Number of recorded triggers at each wake-up. */
  const recorded: number[] = [];

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    notifications = new PostgresNotifications(audience.test.url);
    await notifications.start();
    scope = await audience.scope();
    notifications.listen(TRIGGERS_CHANNEL, () => void count());
  });
  afterAll(async () => {
    await notifications?.stop();
    await audience?.close();
  });

  async function count(): Promise<void> {
    const rows = await audience.test.query('select 1 from audience.recorded_triggers');
    recorded.push(rows.length);
  }

  const watch = (kind: 'SUBSCRIBED' | 'SEGMENT_ENTERED' | 'CUSTOM_EVENT', subject: string) =>
    audience.database.transaction(scope, () =>
      audience.get(TriggersService).watch(scope, newId(), { kind, subject }),
    );

  it('is woken once what it waits for is recorded: who subscribes, an event, who enters a segment', async () => {
    const topic = await audience.topic(scope);
    const segment = await audience.get(SegmentsService).create(scope, { name: 'Friends', type: 'STATIC' });
    await watch('SUBSCRIBED', topic.id);
    await watch('CUSTOM_EVENT', 'order.paid');
    await watch('SEGMENT_ENTERED', segment.id);
    const causes = [
      () => audience.subscribe(scope, ADA, topic),
      () => audience.get(SubscriberEventsService).record(scope, address(ADA), { name: 'order.paid' }),
      () => audience.get(SegmentMembersService).add(scope, segment.id, { emails: [address(ADA)] }),
    ];
    for (const [before, cause] of causes.entries()) {
      await cause();
      await eventually('it is woken', () => Promise.resolve(recorded.includes(before + 1)));
    }
    expect(recorded).toEqual([1, 2, 3]);
  });
});
