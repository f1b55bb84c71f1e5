import { evaluateDueSegments } from '#testing/time/due-segments';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  ConsentsService,
  CustomFieldsService,
  PreferencesService,
  PersonalDataService,
  SegmentsService,
  SubscribersQuery,
  SubscriberEventsService,
  SubscribersService,
  SuppressionsService,
  TopicsService,
  UnsubscribeService,
} from '#audience';
import {
  address,
  AutomationsFixture,
  chain,
  delay,
  mail,
  type NodeSketch,
  PROOF,
  rules,
  trigger,
  ways,
  where,
} from '../automations.fixture.js';
import { DeliveryFeedbackService } from '../../engagement/delivery-feedback.service.js';
import { automationDiscrepancies } from '../../reports/statistics/automation-check.query.js';
import { MailPersonalDataService } from '../../mail-personal-data.service.js';
import { Database } from '#platform';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe('people in automations', () => {
  let fixture: AutomationsFixture;

  beforeAll(async () => {
    fixture = await AutomationsFixture.open();
    const options = ['free', 'pro'].map((value) => ({ value, label: value }));
    await fixture.messaging
      .get(CustomFieldsService)
      .create(fixture.scope, { key: 'plan', displayName: 'Plan', type: 'SELECT', options });
  });
  afterAll(() => fixture?.close());

  const get: AutomationsFixture['messaging']['get'] = (type) => fixture.messaging.get(type);
  const refused = (code: string) => expect.objectContaining({ code });
  const content = (nodes: readonly NodeSketch[], ...edges: readonly string[]) => ({
    nodes: JSON.stringify(nodes),
    edges: ways(...edges),
  });

  describe('come in', () => {
    const waiting = (config: object = {}) => chain(trigger(config), delay('wait', 'P1D'));

    it('when they subscribe to the topic, and not before', async () => {
      const early = await fixture.person();
      const id = await fixture.active(waiting(), { triggerType: 'subscriber_joins_list' });
      const ada = await fixture.person();
      const other = await get(TopicsService).create(fixture.scope, {
        name: 'Other',
        doubleOptInEnabled: false,
      });
      const bob = await fixture.person({ topicKeys: [other.topicKey] });
      await fixture.run();
      expect(await fixture.paths(id, ada.email)).toEqual(['ACTIVE: start, wait WAITING']);
      expect(await fixture.paths(id, early.email)).toEqual([]);
      await get(ConsentsService).grant(fixture.scope, address(bob.email), fixture.topic.topicKey, PROOF);
      await fixture.run();
      expect(await fixture.totals(id)).toEqual([2, 0, 2]);
    });

    it('when they enter or leave a segment', async () => {
      const segment = await get(SegmentsService).create(fixture.scope, {
        name: 'Pros',
        rules: JSON.stringify(where('custom.plan', 'pro')),
      });
      const config = { segmentKey: segment.segmentKey };
      const entered = await fixture.active(waiting(config), { triggerType: 'segment_entered' });
      const left = await fixture.active(waiting(config), { triggerType: 'segment_left' });
      const ada = await fixture.person();
      const turn = async (plan: string) => {
        await get(SubscribersService).update(
          fixture.scope,
          address(ada.email),
          { customFields: { plan } },
          PROOF,
        );
        fixture.messaging.clock.advance(6 * 60_000);
        await evaluateDueSegments(get);
        await fixture.run();
      };
      await turn('pro');
      expect([await fixture.totals(entered), await fixture.totals(left)]).toEqual([
        [1, 0, 1],
        [0, 0, 0],
      ]);
      await turn('free');
      expect([await fixture.totals(entered), await fixture.totals(left)]).toEqual([
        [1, 0, 1],
        [1, 0, 1],
      ]);
      await expect(get(SegmentsService).delete(fixture.scope, segment.id)).rejects.toEqual(refused('in-use'));
    });

    it('when they enter or leave a segment after it was activated, not between that and the last look', async () => {
      const { segmentKey } = await get(SegmentsService).create(fixture.scope, {
        name: 'Pros',
        rules: JSON.stringify(where('custom.plan', 'pro')),
      });
      const early = await fixture.person({ customFields: { plan: 'pro' } });
      const entered = await fixture.active(waiting({ segmentKey }), { triggerType: 'segment_entered' });
      const left = await fixture.active(waiting({ segmentKey }), { triggerType: 'segment_left' });
      const late = await fixture.person({ customFields: { plan: 'pro' } });
      await get(SubscribersService).update(
        fixture.scope,
        address(early.email),
        {
          customFields: { plan: 'free' },
        },
        PROOF,
      );
      fixture.messaging.clock.advance(6 * 60_000);
      await evaluateDueSegments(get);
      await fixture.run();
      expect(await fixture.paths(entered, early.email)).toEqual([]);
      expect(await fixture.paths(entered, late.email)).toEqual(['ACTIVE: start, wait WAITING']);
      expect(await fixture.paths(left, early.email)).toEqual(['ACTIVE: start, wait WAITING']);
      expect(await fixture.totals(left)).toEqual([1, 0, 1]);
    });

    it('when the client reports an event of that name', async () => {
      const id = await fixture.active(waiting({ eventName: 'order.completed', reEntry: 'ALWAYS' }), {
        triggerType: 'custom_event',
      });
      const ada = await fixture.person();
      const report = (name: string) =>
        get(SubscriberEventsService).record(fixture.scope, address(ada.email), { name });
      for (const name of ['order.completed', 'order.opened', 'order.completed']) await report(name);
      await fixture.run();
      expect(await fixture.totals(id)).toEqual([2, 0, 2]);
    });

    it('unless they were erased meanwhile', async () => {
      const id = await fixture.active(waiting({ eventName: 'seen' }), { triggerType: 'custom_event' });
      const ada = await fixture.person();
      await get(SubscriberEventsService).record(fixture.scope, address(ada.email), { name: 'seen' });
      await get(PersonalDataService).erase(fixture.scope, address(ada.email), PROOF);
      expect(await fixture.messaging.test.query('select 1 from audience.recorded_triggers')).toEqual([]);
      await fixture.run();
      expect(await fixture.totals(id)).toEqual([0, 0, 0]);
    });

    it('once ever, again after they left, or any number at once', async () => {
      const ada = await fixture.person();
      const enter = (id: string) =>
        fixture.enter(id, ada.email).then(
          () => 'in',
          (error: { code: string }) => error.code,
        );
      const outcomes: Record<string, string[]> = {};
      for (const reEntry of ['ONCE', 'AFTER_EXIT', 'ALWAYS']) {
        const id = await fixture.active(waiting({ reEntry }));
        const first = await enter(id);
        const second = await enter(id);
        await fixture.run();
        await fixture.later(DAY);
        outcomes[reEntry] = [first, second, await enter(id)];
      }
      expect(outcomes).toEqual({
        ONCE: ['in', 'already-exists', 'already-exists'],
        AFTER_EXIT: ['in', 'already-exists', 'in'],
        ALWAYS: ['in', 'in', 'in'],
      });
    });

    it('not again when they undo an unsubscription, but when they subscribe anew', async () => {
      const { email, id: subscriberId } = await fixture.person();
      const always = waiting({ reEntry: 'ALWAYS' });
      const id = await fixture.active(always, { triggerType: 'subscriber_joins_list' });
      const leaving = get(UnsubscribeService);
      const { scope, topic } = fixture;
      for (const leave of [
        () => leaving.leave(scope, subscriberId, topic.topicKey, PROOF),
        () => leaving.leaveEverything(scope, subscriberId, PROOF),
      ]) {
        const undoId = await leave();
        await leaving.undo(scope, subscriberId, undoId!, { ...PROOF, source: 'undo' });
      }
      await fixture.run();
      expect(await fixture.totals(id)).toEqual([0, 0, 0]);
      await leaving.leave(scope, subscriberId, topic.topicKey, PROOF);
      fixture.messaging.clock.advance(1000);
      await get(ConsentsService).grant(scope, address(email), topic.topicKey, PROOF);
      await fixture.run();
      expect(await fixture.totals(id)).toEqual([1, 0, 1]);
    });

    it('not by an event from before the automation was activated', async () => {
      const config = { eventName: 'order.old' };
      const id = await fixture.active(waiting(config), { triggerType: 'custom_event' });
      const now = () => fixture.messaging.clock.now().getTime();
      const activated = now();
      const occurred = async (at: number) => {
        const { email } = await fixture.person();
        const event = { name: 'order.old', occurredAt: new Date(at) };
        await get(SubscriberEventsService).record(fixture.scope, address(email), event);
      };
      fixture.messaging.clock.advance(HOUR);
      await occurred(activated - 2 * DAY);
      await occurred(activated - 6 * 60_000);
      await fixture.run();
      expect(await fixture.totals(id)).toEqual([0, 0, 0]);
      // The clock of whoever reports may be behind.
      await occurred(activated - 4 * 60_000);
      await occurred(activated + 1);
      await occurred(now());
      await fixture.run();
      expect(await fixture.totals(id)).toEqual([3, 0, 3]);
    });

    it('only once when many ask at the same time', async () => {
      const id = await fixture.active(waiting());
      const { email } = await fixture.person();
      const results = await Promise.allSettled(Array.from({ length: 8 }, () => fixture.enter(id, email)));
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await fixture.totals(id)).toEqual([1, 0, 1]);
    });

    it('not while it is paused, nor as somebody unknown', async () => {
      const id = await fixture.active(waiting(), { triggerType: 'subscriber_joins_list' });
      await expect(fixture.enter(id, 'nobody@example.com')).rejects.toEqual(refused('domain-validation'));
      await fixture.automations.pause(fixture.scope, id);
      const { email } = await fixture.person();
      await expect(fixture.enter(id, email)).rejects.toEqual(refused('invalid-state'));
      await fixture.run();
      expect(await fixture.totals(id)).toEqual([0, 0, 0]);
    });
  });

  describe('take a step', () => {
    it('that waits for so long', async () => {
      const id = await fixture.active(chain(trigger(), delay('wait', 'P3D'), mail('hello')));
      const { email, id: person } = await fixture.person();
      await fixture.enter(id, email);
      await fixture.run();
      await fixture.later(3 * DAY - 1_000);
      expect(await fixture.paths(id, email)).toEqual(['ACTIVE: start, wait WAITING']);
      await fixture.later(1_000);
      expect(await fixture.paths(id, email)).toEqual(['COMPLETED: start, wait, hello']);
      expect(await fixture.mails(person)).toEqual([{ node: 2, state: 'PENDING' }]);
      expect(await fixture.totals(id)).toEqual([1, 1, 0]);
    });

    it('that waits until a time of day somewhere', async () => {
      const until = { time: '09:00', timezone: 'Europe/Berlin', daysOfWeek: [1] };
      const id = await fixture.active(chain(trigger(), { id: 'monday', type: 'delay', config: { until } }));
      const { email } = await fixture.person();
      await fixture.enter(id, email);
      await fixture.run();
      const [execution] = await fixture.executions(id);
      const detail = execution?.steps[1]?.detail ?? '';
      const moment = new Date(detail.replace('until ', ''));
      const shown = new Intl.DateTimeFormat('en-GB', {
        timeZone: 'Europe/Berlin',
        weekday: 'short',
        hour: '2-digit',
        minute: '2-digit',
      }).format(moment);
      expect(shown).toBe('Mon 09:00');
      await fixture.later(moment.getTime() - fixture.messaging.clock.now().getTime());
      expect(await fixture.paths(id, email)).toEqual(['COMPLETED: start, monday']);
    });

    it('that asks whether rules hold, and one that is a goal', async () => {
      const nodes = [
        trigger(),
        { id: 'if', type: 'condition', config: { rules: where('custom.plan', 'pro') } },
        {
          id: 'paid',
          type: 'goal',
          config: { name: 'Paid', rules: rules({ not: { field: 'custom.plan', op: 'eq', value: 'free' } }) },
        },
        delay('wait', 'P1D'),
      ];
      const id = await fixture.active(
        content(nodes, 'start > if', 'if > paid: yes', 'if > wait: no', 'paid > wait'),
      );
      const [pro, free] = [
        await fixture.person({ customFields: { plan: 'pro' } }),
        await fixture.person({ customFields: { plan: 'free' } }),
      ];
      for (const { email } of [pro, free]) await fixture.enter(id, email);
      await fixture.run();
      expect(await fixture.paths(id, pro.email)).toEqual(['CONVERTED: start, if, paid']);
      expect(await fixture.paths(id, free.email)).toEqual(['ACTIVE: start, if, wait WAITING']);
      expect(await fixture.totals(id)).toEqual([2, 1, 1]);
    });

    it('to one of two sides, always the same, in proportion', async () => {
      const nodes = [
        trigger({ reEntry: 'ALWAYS' }),
        { id: 'split', type: 'ab_split', config: { weights: { a: 50, b: 50 } } },
        delay('left', 'PT1S'),
        delay('right', 'PT1S'),
      ];
      const id = await fixture.active(content(nodes, 'start > split', 'split > left: a', 'split > right: b'));
      const people = await Promise.all(Array.from({ length: 20 }, () => fixture.person()));
      for (const { email } of [...people, ...people]) await fixture.enter(id, email);
      await fixture.run();
      await fixture.later(1_000);
      const paths = await Promise.all(people.map(({ email }) => fixture.paths(id, email)));
      for (const path of paths) expect(path).toEqual([path[0], path[0]]);
      expect(new Set(paths.flat())).toEqual(
        new Set(['COMPLETED: start, split, left', 'COMPLETED: start, split, right']),
      );
    });

    it('that subscribes as the topic demands it, or unsubscribes', async () => {
      const double = await get(TopicsService).create(fixture.scope, {
        name: 'Double',
        doubleOptInEnabled: true,
      });
      const act = (action: string, topicKey: string): NodeSketch => ({
        id: action,
        type: 'topic_action',
        config: { action, topicKey },
      });
      const id = await fixture.active(
        chain(trigger(), act('subscribe', double.topicKey), act('unsubscribe', fixture.topic.topicKey)),
      );
      const { email } = await fixture.person();
      await fixture.enter(id, email);
      await fixture.run();
      const { consents } = await get(ConsentsService).preferences(fixture.scope, address(email));
      expect(new Map(consents.map(({ topicKey, status }) => [topicKey, status]))).toEqual(
        new Map([
          [fixture.topic.topicKey, 'UNSUBSCRIBED'],
          [double.topicKey, 'PENDING_CONFIRMATION'],
        ]),
      );
      const again = await fixture.active(chain(trigger(), act('subscribe', fixture.topic.topicKey)));
      await fixture.enter(again, email);
      await fixture.run();
      // Nobody but the person lifts their "no".
      expect(await fixture.paths(again, email)).toEqual(['COMPLETED: start, subscribe SKIPPED']);
    });

    it.each([
      ['sets a field that it may show', { type: 'update_field', config: { key: 'plan', value: 'pro' } }],
      ['unsubscribes from its topic', { type: 'topic_action', config: { action: 'unsubscribe' } }],
    ])('that %s only once their own mail has left', async (_, { type, config }) => {
      const { topicKey } = fixture.topic;
      const change = { id: 'change', type, config: 'action' in config ? { ...config, topicKey } : config };
      const id = await fixture.active(chain(trigger(), mail('hello'), change));
      const [waiting, gone] = [await fixture.person(), await fixture.person()];
      await fixture.enter(id, gone.email);
      await fixture.run();
      await fixture.endMails();
      await fixture.enter(id, waiting.email);
      await fixture.later(1000);
      for (const seconds of [1, 600, 3600]) {
        expect(await fixture.paths(id, gone.email)).toEqual(['COMPLETED: start, hello, change']);
        expect(await fixture.paths(id, waiting.email)).toEqual(['ACTIVE: start, hello']);
        expect(await fixture.totals(id)).toEqual([2, 1, 1]);
        await fixture.later(seconds * 1000);
      }
      await fixture.endMails();
      await fixture.later(HOUR);
      expect(await fixture.paths(id, waiting.email)).toEqual(['COMPLETED: start, hello, change']);
    });

    it('that changes them a day after a mail that does not leave', async () => {
      const change = { id: 'change', type: 'update_field', config: { key: 'plan', value: 'pro' } };
      const id = await fixture.active(chain(trigger(), mail('hello'), change));
      const { email } = await fixture.person();
      await fixture.enter(id, email);
      await fixture.run();
      await fixture.later(DAY - HOUR);
      expect(await fixture.paths(id, email)).toEqual(['ACTIVE: start, hello']);
      await fixture.later(HOUR);
      expect(await fixture.paths(id, email)).toEqual(['COMPLETED: start, hello, change']);
    });

    it('that mails once their pause is over, or ended by them', async () => {
      const id = await fixture.active(chain(trigger(), mail('hello')));
      const [patient, early] = [await fixture.person(), await fixture.person()];
      const preferences = get(PreferencesService);
      for (const { id: subscriberId, email } of [patient, early]) {
        await preferences.pause(fixture.scope, subscriberId, 7);
        await fixture.enter(id, email);
      }
      await fixture.run();
      await fixture.later(6 * DAY);
      await preferences.resume(fixture.scope, early.id);
      await fixture.later(HOUR);
      expect(await fixture.paths(id, patient.email)).toEqual(['ACTIVE: start']);
      expect(await fixture.paths(id, early.email)).toEqual(['COMPLETED: start, hello']);
      await fixture.later(DAY - HOUR);
      expect(await fixture.paths(id, patient.email)).toEqual(['COMPLETED: start, hello']);
      expect(await fixture.mails(patient.id)).toHaveLength(1);
    });

    it('that puts them into a static segment, and takes them out', async () => {
      const segment = await get(SegmentsService).create(fixture.scope, { name: 'Friends' });
      const act = (action: string): NodeSketch => ({
        id: action,
        type: 'segment_action',
        config: { action, segmentKey: segment.segmentKey },
      });
      const id = await fixture.active(chain(trigger(), act('add'), delay('wait', 'P1D'), act('remove')));
      const { email } = await fixture.person();
      const members = async () =>
        (
          await fixture.messaging.test.query('select 1 from audience.segment_members where segment_id = $1', [
            segment.id,
          ])
        ).length;
      await fixture.enter(id, email);
      await fixture.run();
      expect(await members()).toBe(1);
      await fixture.later(DAY);
      expect([await members(), await fixture.paths(id, email)]).toEqual([
        0,
        ['COMPLETED: start, add, wait, remove'],
      ]);
    });

    it('until exitWhen holds, which is seen before each step', async () => {
      const exitWhen = where('custom.plan', 'pro');
      const id = await fixture.active(chain(trigger({ exitWhen }), delay('wait', 'P1D'), mail('offer')));
      const [buyer, early, other] = [
        await fixture.person(),
        await fixture.person({ customFields: { plan: 'pro' } }),
        await fixture.person(),
      ];
      for (const { email } of [buyer, early, other]) await fixture.enter(id, email);
      await fixture.run();
      expect(await fixture.paths(id, early.email)).toEqual(['CANCELLED: start, wait SKIPPED']);
      await get(SubscribersService).update(
        fixture.scope,
        address(buyer.email),
        {
          customFields: { plan: 'pro' },
        },
        PROOF,
      );
      await fixture.later(DAY);
      expect(await fixture.paths(id, buyer.email)).toEqual(['CANCELLED: start, wait, offer SKIPPED']);
      expect(await fixture.paths(id, other.email)).toEqual(['COMPLETED: start, wait, offer']);
      expect(await fixture.mails(buyer.id)).toEqual([]);
      const [left] = (await fixture.executions(id)).filter(({ email }) => email === buyer.email);
      expect(left?.steps.at(-1)?.detail).toBe('exitWhen holds');
      expect(await fixture.totals(id)).toEqual([3, 1, 0]);
    });

    it('that mails nobody who left the topic or is suppressed', async () => {
      const id = await fixture.active(chain(trigger(), mail('hello')));
      const [gone, silent, ada] = [await fixture.person(), await fixture.person(), await fixture.person()];
      await get(ConsentsService).revoke(fixture.scope, address(gone.email), fixture.topic.topicKey, PROOF);
      await get(SuppressionsService).suppress(fixture.scope, address(silent.email), 'SPAM_COMPLAINT', PROOF);
      for (const { email } of [gone, silent, ada]) await fixture.enter(id, email);
      await fixture.run();
      const details = (await fixture.executions(id)).map(({ email, steps }) => [
        email,
        steps[1]?.status,
        steps[1]?.detail,
      ]);
      expect(new Map(details.map(([email, ...rest]) => [email, rest]))).toEqual(
        new Map([
          [gone.email, ['SKIPPED', 'unsubscribed']],
          [silent.email, ['SKIPPED', 'suppressed']],
          [ada.email, ['DONE', null]],
        ]),
      );
      expect([await fixture.mails(gone.id), await fixture.mails(ada.id)]).toEqual([
        [],
        [{ node: 1, state: 'PENDING' }],
      ]);
    });
  });

  it('are suppressed when a mail comes back for good, which counts for no campaign', async () => {
    const id = await fixture.active(chain(trigger(), mail('hello')));
    const { email, id: person } = await fixture.person();
    await fixture.enter(id, email);
    await fixture.run();
    const [delivery] = await fixture.messaging.test.query<{ id: string }>(
      `update messaging.deliveries set state = 'SENT', sent_at = now(), finished_at = now()
       where subscriber_id = $1 returning id`,
      [person],
    );
    for (let time = 1; time <= 2; time += 1)
      await get(DeliveryFeedbackService).bounced(fixture.scope, delivery!.id, 'hard');
    const events = await fixture.messaging.test.query(
      'select type, campaign_id from messaging.delivery_events where subscriber_id = $1',
      [person],
    );
    expect(events).toEqual([{ type: 'BOUNCED', campaign_id: null }]);
    const { status } = await get(SubscribersQuery).get(fixture.scope, address(email));
    expect(status).toBe('BOUNCED');
  });

  describe('stay', () => {
    it('where they are while it is paused, and go on after', async () => {
      const id = await fixture.active(chain(trigger(), delay('wait', 'P1D'), delay('again', 'P1D')));
      const { email } = await fixture.person();
      await fixture.enter(id, email);
      await fixture.run();
      await fixture.automations.pause(fixture.scope, id);
      await fixture.later(2 * DAY);
      expect(await fixture.paths(id, email)).toEqual(['ACTIVE: start, wait WAITING']);
      await fixture.automations.activate(fixture.scope, id);
      await fixture.run();
      expect(await fixture.paths(id, email)).toEqual(['ACTIVE: start, wait, again WAITING']);
      await fixture.later(DAY);
      expect(await fixture.totals(id)).toEqual([1, 1, 0]);
    });

    it('in the steps that they began with when those are changed', async () => {
      const id = await fixture.active(chain(trigger(), delay('wait', 'P1D'), mail('old')));
      const [before, after] = [await fixture.person(), await fixture.person()];
      await fixture.enter(id, before.email);
      await fixture.run();
      await fixture.automations.pause(fixture.scope, id);
      await fixture.automations.replaceContent(
        fixture.scope,
        id,
        chain(trigger(), mail('new'), delay('wait', 'P1D')),
      );
      await fixture.automations.activate(fixture.scope, id);
      await fixture.enter(id, after.email);
      await fixture.run();
      await fixture.later(DAY);
      expect(await fixture.paths(id, before.email)).toEqual(['COMPLETED: start, wait, old']);
      expect(await fixture.paths(id, after.email)).toEqual(['COMPLETED: start, new, wait']);
    });

    it('until it is archived, and so long it cannot be deleted', async () => {
      const id = await fixture.active(chain(trigger(), delay('wait', 'P1D')));
      const { email } = await fixture.person();
      await fixture.enter(id, email);
      await fixture.run();
      await fixture.automations.pause(fixture.scope, id);
      await expect(fixture.automations.delete(fixture.scope, id)).rejects.toEqual(refused('invalid-state'));
      await fixture.automations.update(fixture.scope, id, { status: 'ARCHIVED' });
      await fixture.run();
      expect(await fixture.paths(id, email)).toEqual(['CANCELLED: start, wait']);
      expect(await fixture.totals(id)).toEqual([1, 0, 0]);
      await fixture.automations.delete(fixture.scope, id);
      await expect(fixture.view(id)).rejects.toEqual(refused('not-found'));
    });

    it('no longer than they are known: an erased person goes no further', async () => {
      const id = await fixture.active(chain(trigger(), delay('wait', 'P1D'), mail('hello')));
      const ada = await fixture.person();
      await fixture.enter(id, ada.email, { order: 17 });
      await fixture.run();
      await get(Database).transaction(fixture.scope, () =>
        get(MailPersonalDataService).erase(fixture.scope, { subscriberId: ada.id, addressDigest: '00' }),
      );
      await fixture.later(DAY);
      const [execution] = await fixture.executions(id);
      expect(execution).toMatchObject({ email: null, status: 'CANCELLED', currentNodeId: null });
      expect(await fixture.totals(id)).toEqual([1, 0, 0]);
      expect(await fixture.messaging.test.query('select 1 from messaging.automation_run_data')).toEqual([]);
    });
  });

  it('are counted exactly: the counters are what counting them again gives', async () => {
    const counted = await fixture.messaging.test.query(
      `select automation_number::int as automation, count(*)::int as entered,
         (count(*) filter (where status in ('COMPLETED', 'CONVERTED')))::int as completed,
         (count(*) filter (where status = 'ACTIVE'))::int as inside
       from messaging.automation_runs group by 1 order by 1`,
    );
    const counters = await fixture.messaging.test.query(
      `select automation_number::int as automation, sum(entered)::int as entered, sum(completed)::int as completed,
         sum(entered - completed - ended)::int as inside
       from messaging.automation_counters group by 1 order by 1`,
    );
    expect(counted.length).toBeGreaterThan(10);
    expect(counters).toEqual(counted);
    // A test above says itself that a mail was sent.
    const traffic = (await automationDiscrepancies(get(Database))).filter(({ counter }) =>
      ['entered', 'departed'].includes(counter),
    );
    expect(traffic).toEqual([]);
  });
});
