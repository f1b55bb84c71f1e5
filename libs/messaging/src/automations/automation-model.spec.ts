import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  AddressDigestsService,
  ConsentsService,
  CustomFieldsService,
  PersonalDataService,
  SegmentsService,
  SubscriberEventsService,
  TopicsService,
} from '#audience';
import { Database, isUnavailability } from '#platform';
import * as fc from '#testing/random/properties';
import { WebhookReceiver } from '#testing/servers/webhook-receiver';
import { MailPersonalDataService } from '../mail-personal-data.service.js';
import { automationDiscrepancies } from '../reports/statistics/automation-check.query.js';
import { address, AutomationsFixture, PROOF } from './automations.fixture.js';
import type { Execution } from './runs/executions.query.js';
import { contentOf, type Model, modelChain, models, type Surroundings } from '#testing/automations/model';
import { DyingWorker, type Moment } from '#testing/automations/dying-worker';
import { type Person, PlainReading } from '#testing/automations/plain-reading';
import { AutomationRunner } from './runs/automation-runner.job.js';
import { WebhookCaller } from './runs/webhook-caller.job.js';

/** The large form: `AUTOMATION_MODEL_RUNS=200 npm run jest -- automation-model`. */
const RUNS = Number(process.env['AUTOMATION_MODEL_RUNS'] ?? fc.runs(8));
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** So many statements has a pass at most that anybody dies in here. */
const STATEMENTS = 60;
const EVENT = 'looked';

/** One day: what happens to people, and to workers. */
interface Day {
  /** Places in the crowd; who is named twice does it twice. */
  readonly events: readonly number[];
  readonly erased: number | null;
  readonly interruption: 'none' | 'pause' | 'revision' | 'kill';
  readonly death: { readonly statement: number; readonly moment: Moment };
}

interface Newcomer {
  readonly isPro: boolean;
  readonly hasLeft: boolean;
  readonly isRefused: boolean;
}

const days = fc.array(
  fc.record<Day>({
    events: fc.array(fc.nat({ max: 9 }), { maxLength: 6 }),
    erased: fc.option(fc.nat({ max: 9 }), { freq: 8 }),
    interruption: fc.oneof(
      { weight: 2, arbitrary: fc.constant('kill' as const) },
      { weight: 3, arbitrary: fc.constantFrom('none' as const, 'pause' as const, 'revision' as const) },
    ),
    death: fc.record({
      statement: fc.integer({ min: 1, max: STATEMENTS }),
      moment: fc.constantFrom<Moment>('before', 'after'),
    }),
  }),
  { minLength: 3, maxLength: 6 },
);
const crowds = fc.array(
  fc.record<Newcomer>({ isPro: fc.boolean(), hasLeft: fc.boolean(), isRefused: fc.boolean() }),
  { minLength: 1, maxLength: 5 },
);

/** The pool finds out that a connection was cut when it is used. */
function unlessUnavailable(error: unknown): void {
  if (!isUnavailability(error)) throw error;
}

describe('any automation', () => {
  let fixture: AutomationsFixture;
  let receiver: WebhookReceiver;
  let worker: DyingWorker;
  let count = 0;

  beforeAll(async () => {
    receiver = await WebhookReceiver.open();
    // Each call is asked for once more, but for those that are refused for good.
    receiver.answer = ({ body, headers }) => {
      if (body.includes('"email":"refused')) return 410;
      return receiver.ids.filter((id) => id === headers['webhook-id']).length > 1 ? 204 : 503;
    };
    fixture = await AutomationsFixture.open({ OUTGOING_PRIVATE_ADDRESSES: 'true' });
    const cut = (pid: number) => fixture.messaging.test.query('select pg_terminate_backend($1)', [pid]);
    worker = new DyingWorker(fixture.messaging.get(Database).pool, cut);
    const options = ['free', 'pro'].map((value) => ({ value, label: value }));
    await fixture.messaging
      .get(CustomFieldsService)
      .create(fixture.scope, { key: 'plan', displayName: 'Plan', type: 'SELECT', options });
  });
  afterAll(async () => {
    await fixture?.close();
    receiver?.close();
  });

  async function surroundings(): Promise<Surroundings> {
    const { scope, messaging, topic } = fixture;
    const topics = messaging.get(TopicsService);
    const other = await topics.create(scope, { name: 'Other', doubleOptInEnabled: false });
    const double = await topics.create(scope, { name: 'Double', doubleOptInEnabled: true });
    const { segmentKey } = await messaging.get(SegmentsService).create(scope, { name: 'Members' });
    const keys = {
      newsKey: topic.topicKey,
      otherKey: other.topicKey,
      doubleKey: double.topicKey,
      segmentKey,
    };
    return { ...keys, eventName: EVENT, hookUrl: receiver.url, wait: 'PT12H' };
  }

  async function newcomer({ isPro, hasLeft, isRefused }: Newcomer): Promise<Person> {
    count += 1;
    const { id, email } = await fixture.person({
      email: `${isRefused ? 'refused' : 'taken'}${count}@example.com`,
      customFields: { plan: isPro ? 'pro' : 'free' },
    });
    const { scope, topic } = fixture;
    if (hasLeft)
      await fixture.messaging.get(ConsentsService).revoke(scope, address(email), topic.topicKey, PROOF);
    const news = hasLeft ? 'UNSUBSCRIBED' : 'SUBSCRIBED';
    return { id, email, isPro, isRefused, news, other: 'none', isMember: false };
  }

  const report = ({ email }: Person) =>
    fixture.messaging.get(SubscriberEventsService).record(fixture.scope, address(email), { name: EVENT });
  /** With what a job does about it. */
  const erase = async ({ id, email }: Person) => {
    const { scope, messaging } = fixture;
    const addressDigest = messaging.get(AddressDigestsService).of(scope, address(email).key).toString('hex');
    await messaging.get(PersonalDataService).erase(scope, address(email), PROOF);
    await messaging
      .get(Database)
      .transaction(scope, () =>
        messaging.get(MailPersonalDataService).erase(scope, { subscriberId: id, addressDigest }),
      );
  };
  const walk = async () => {
    const passes = Array.from({ length: 3 }, () => fixture.messaging.get(AutomationRunner).pass());
    await Promise.allSettled(passes);
    await Promise.all(passes);
  };
  /** All that workers do now; several at once. */
  const work = async () => {
    await walk();
    await fixture.messaging.get(WebhookCaller).pass();
    await walk();
  };
  const isBusy = async (id: string) => {
    const [row] = await fixture.messaging.test.query<{ busy: boolean }>(
      `select exists (
         select 1 from messaging.automation_versions v join messaging.automation_runs r on r.version_id = v.id
         where v.automation_id = $1 and (r.status = 'ACTIVE' and not r.is_waiting or r.wake_at <= $2)
       ) or exists (select 1 from audience.recorded_triggers where watcher_id = $1)
         or exists (select 1 from audience.fulfilled_waiters) as busy`,
      [id, fixture.messaging.clock.now()],
    );
    return row?.busy === true;
  };
  /** All that is to be done today, with what rests, is leased to the dead, or is asked for again. */
  const settle = async (id: string) => {
    await work().catch(unlessUnavailable);
    for (let times = 0; times < 60 && (await isBusy(id)); times += 1) {
      await fixture.endMails();
      fixture.messaging.clock.advance(2 * MINUTE);
      await work().catch(unlessUnavailable);
    }
  };
  /** Late enough in the morning that every wait is over, and early enough that none that begins now is over today. */
  const nextDay = () => {
    const now = fixture.messaging.clock.now().getTime();
    fixture.messaging.clock.advance(DAY - ((now - 10 * HOUR) % DAY));
  };

  async function interrupted(id: string, day: Day, plain: PlainReading, around: Surroundings): Promise<void> {
    const { automations, scope } = fixture;
    if (day.interruption === 'kill') await worker.dies(work, day.death);
    await settle(id);
    if (day.interruption !== 'pause' && day.interruption !== 'revision') return;
    await automations.pause(scope, id);
    const before = await fixture.executions(id);
    if (day.interruption === 'revision') {
      plain.model = modelChain('r', plain.model.reEntry, 'mail', 'wait');
      await automations.replaceContent(scope, id, contentOf(plain.model, around));
    }
    nextDay();
    await work();
    expect(await fixture.executions(id)).toEqual(before);
    await automations.activate(scope, id);
    await settle(id);
    plain.wake();
  }

  /** Each as it is written down and as it is told plainly. */
  async function compare(id: string, plain: PlainReading, gone: ReadonlySet<Person>): Promise<void> {
    const found = (await fixture.executions(id)).map(
      ({ email, status, steps }) =>
        `${email} ${status}: ${steps.map((step) => step.nodeId + (step.status === 'DONE' ? '' : ` ${step.status}`)).join(', ')}`,
    );
    const told = plain.readings.map(
      ({ person, path }) => `${gone.has(person) ? null : person.email} ${path}`,
    );
    expect(found.toSorted()).toEqual(told.toSorted());
    expect(await fixture.totals(id)).toEqual(plain.totals);
  }

  /** One mail for each step that sends one, one call (however often it is repeated) for each that calls; none for who leaves at it. */
  async function compareEffects(id: string, versions: readonly Model[]): Promise<void> {
    const executions = await fixture.executions(id);
    const ids = executions.map((execution) => execution.id);
    const mails = await fixture.messaging.test.query<{ step: string }>(
      `select source_id as step from messaging.deliveries
       where kind = 'AUTOMATION' and messaging.run_of_step(source_id) = any($1)`,
      [ids],
    );
    const wanted = executions.flatMap((execution) => stepsOf(execution, versions));
    expect(mails.map(({ step }) => step).toSorted()).toEqual(
      wanted
        .flatMap(({ kind, status, step }) => (kind === 'mail' && status === 'DONE' ? step : []))
        .toSorted(),
    );
    expect([...new Set(receiver.ids)].toSorted()).toEqual(
      wanted
        .flatMap(({ kind, status, step }) => (kind === 'hook' && status !== 'SKIPPED' ? step : []))
        .toSorted(),
    );
  }

  function stepsOf({ id, steps }: Execution, versions: readonly Model[]) {
    return steps.map(({ nodeId, status }) => {
      const model = versions.find(({ nodes }) => nodes.some((node) => node.id === nodeId));
      const place = model?.nodes.findIndex((node) => node.id === nodeId) ?? -1;
      const step = id.slice(0, -2) + (place + 1).toString(16).padStart(2, '0');
      return { kind: model?.nodes[place]?.kind, status, step };
    });
  }

  async function live(model: Model, crowd: readonly Newcomer[], happenings: readonly Day[]): Promise<void> {
    receiver.posts.length = 0;
    const around = await surroundings();
    const id = await fixture.active(contentOf(model, around), { triggerType: 'custom_event' });
    const people: Person[] = [];
    for (const one of crowd) people.push(await newcomer(one));
    const plain = new PlainReading(id, model);
    nextDay();
    const gone = new Set<Person>();
    for (const day of happenings) {
      const there = day.events.flatMap((place) => people[place % people.length] ?? []);
      const acting = there.filter((person) => !gone.has(person));
      for (const person of acting) await report(person);
      for (const person of new Set(acting))
        plain.happens(person, acting.filter((one) => one === person).length);
      await interrupted(id, day, plain, around);
      await compare(id, plain, gone);
      const leaving = day.erased === null ? undefined : people[day.erased % people.length];
      if (leaving !== undefined && !gone.has(leaving)) {
        await erase(leaving);
        plain.erase(leaving);
        gone.add(leaving);
      }
      nextDay();
      plain.wake();
      if (day.interruption === 'kill') await worker.dies(work, day.death);
      await settle(id);
      await compare(id, plain, gone);
    }
    await compareEffects(id, [model, plain.model]);
    expect(await automationDiscrepancies(fixture.messaging.get(Database))).toEqual([]);
    await fixture.automations.pause(fixture.scope, id);
  }

  it(
    'takes each person the way that a plain reading of it says, each step once, whoever dies where',
    async () => {
      // One run alone takes long.
      const interruptAfterTimeLimit = 60_000;
      await fc.assert(fc.asyncProperty(models(), crowds, days, live), {
        numRuns: RUNS,
        endOnFailure: true,
        includeErrorInReport: true,
        interruptAfterTimeLimit,
      });
    },
    300_000 + RUNS * 60_000,
  );
});
