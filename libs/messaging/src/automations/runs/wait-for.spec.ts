import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  CustomFieldsService,
  PersonalDataService,
  SubscriberEventsService,
  SubscribersService,
  WaitsService,
} from '#audience';
import { statementText, textsCompiledBy } from '#testing/postgres/statement-text';
import {
  address,
  AutomationsFixture,
  delay,
  type NodeSketch,
  PROOF,
  trigger,
  ways,
  where,
} from '../automations.fixture.js';
import { AutomationRunner } from './automation-runner.job.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const waitFor = (config: object): NodeSketch => ({
  id: 'wait',
  type: 'wait_for',
  config: { timeout: 'P3D', ...config },
});
const order = (tests?: readonly object[]) => ({ event: { type: 'CUSTOM', name: 'order', where: tests } });

describe('a step that waits for something', () => {
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
  const query: AutomationsFixture['messaging']['test']['query'] = (...args) =>
    fixture.messaging.test.query(...args);
  const content = (wait: NodeSketch, start = trigger()) => ({
    nodes: JSON.stringify([start, wait, delay('thanks', 'P1D'), delay('reminder', 'P1D')]),
    edges: ways('start > wait', 'wait > thanks: happened', 'wait > reminder: timeout'),
  });
  const report = (email: string, event: object = {}) =>
    get(SubscriberEventsService).record(fixture.scope, address(email), { name: 'order', ...event });
  const become = (email: string, plan: string) =>
    get(SubscribersService).update(fixture.scope, address(email), { customFields: { plan } }, PROOF);
  const WAITING = ['ACTIVE: start, wait WAITING'];
  const HAPPENED = ['ACTIVE: start, wait, thanks WAITING'];
  const LATE = ['ACTIVE: start, wait, reminder WAITING'];

  async function inside(id: string) {
    const person = await fixture.person();
    await fixture.enter(id, person.email);
    await fixture.run();
    return person;
  }
  const detail = async (id: string) =>
    (await fixture.executions(id))[0]?.steps.find(({ nodeId }) => nodeId === 'wait')?.detail;
  const rest = async () => {
    const [row] = await query<{ waiters: number; fulfilled: number }>(
      `select (select count(*) from audience.waiters)::int as waiters,
        (select count(*) from audience.fulfilled_waiters)::int as fulfilled`,
    );
    return row;
  };

  it('goes on at once by the event of this person that is like that, and by no other', async () => {
    const id = await fixture.active(content(waitFor(order([{ property: 'total', op: 'gte', value: 50 }]))));
    const [ada, bob] = [await inside(id), await inside(id)];
    expect(await detail(id)).toMatch(/^until \d{4}-/);
    await report(ada.email, { properties: { total: 49 } });
    await report(ada.email, { name: 'visit', properties: { total: 60 } });
    await report(bob.email, { properties: { total: 50 } });
    await fixture.run();
    expect(await fixture.paths(id, ada.email)).toEqual(WAITING);
    expect(await fixture.paths(id, bob.email)).toEqual(HAPPENED);
    expect(await detail(id)).toBe('happened');
    await fixture.later(DAY);
    expect(await fixture.paths(id, bob.email)).toEqual(['COMPLETED: start, wait, thanks']);
    await report(ada.email, { properties: { total: 1_000 } });
    await report(ada.email, { properties: { total: 2_000 } });
    await fixture.run();
    expect(await fixture.paths(id, ada.email)).toEqual(HAPPENED);
    expect(await rest()).toEqual({ waiters: 0, fulfilled: 0 });
  });

  it('goes on from one wait only, where two follow each other for the same event', async () => {
    const id = await fixture.active({
      nodes: JSON.stringify([
        trigger(),
        waitFor(order()),
        { ...waitFor(order()), id: 'again' },
        delay('thanks', 'P1D'),
        delay('reminder', 'P1D'),
      ]),
      edges: ways(
        'start > wait',
        'wait > again: happened',
        'wait > reminder: timeout',
        'again > thanks: happened',
        'again > reminder: timeout',
      ),
    });
    const { email } = await inside(id);
    await report(email);
    await fixture.run();
    expect(await fixture.paths(id, email)).toEqual(['ACTIVE: start, wait, again WAITING']);
    await report(email);
    await fixture.run();
    expect(await fixture.paths(id, email)).toEqual(['ACTIVE: start, wait, again, thanks WAITING']);
    expect(await rest()).toEqual({ waiters: 0, fulfilled: 0 });
  });

  it('goes on by the other branch when the time is up', async () => {
    const id = await fixture.active(content(waitFor(order())));
    const { email } = await inside(id);
    await fixture.later(3 * DAY - 1);
    expect(await fixture.paths(id, email)).toEqual(WAITING);
    await fixture.later(1);
    expect(await fixture.paths(id, email)).toEqual(LATE);
    expect(await detail(id)).toBe('timeout');
    await report(email);
    await fixture.run();
    expect(await fixture.paths(id, email)).toEqual(LATE);
    expect(await rest()).toEqual({ waiters: 0, fulfilled: 0 });
    await fixture.later(DAY);
    expect(await fixture.totals(id)).toEqual([1, 1, 0]);
  });

  it('does not count what was before, nor what is reported of a time before, but what is reported late', async () => {
    const id = await fixture.active(content(waitFor(order())));
    const person = await fixture.person();
    await report(person.email);
    await fixture.enter(id, person.email);
    await fixture.run();
    fixture.messaging.clock.advance(HOUR);
    const ago = (milliseconds: number) => ({
      occurredAt: new Date(fixture.messaging.clock.now().getTime() - milliseconds),
    });
    await report(person.email, ago(2 * HOUR));
    await fixture.run();
    expect(await fixture.paths(id, person.email)).toEqual(WAITING);
    await report(person.email, ago(HOUR / 2));
    await fixture.run();
    expect(await fixture.paths(id, person.email)).toEqual(HAPPENED);
  });

  it('counts what happened since a run came to it, though no worker was there, and nothing before', async () => {
    const id = await fixture.active(content(waitFor(order([{ property: 'total', op: 'gte', value: 50 }]))));
    const [ada, bob] = [await fixture.person(), await fixture.person()];
    const { clock } = fixture.messaging;
    await report(bob.email, { properties: { total: 60 } });
    clock.advance(HOUR);
    for (const { email } of [ada, bob]) await fixture.enter(id, email);
    clock.advance(HOUR);
    await report(ada.email, { properties: { total: 60 } });
    await report(bob.email, { properties: { total: 49 } });
    await fixture.run();
    expect(await fixture.paths(id, ada.email)).toEqual(HAPPENED);
    expect(await detail(id)).toMatch(/^until/);
    expect(await fixture.paths(id, bob.email)).toEqual(WAITING);

    const delayed = await fixture.active({
      nodes: JSON.stringify([trigger(), delay('first', 'P1D'), waitFor(order()), delay('thanks', 'P1D')]),
      edges: ways('start > first', 'first > wait', 'wait > thanks: happened', 'wait > thanks: timeout'),
    });
    const [eve, dan] = [await inside(delayed), await inside(delayed)];
    await report(dan.email);
    clock.advance(DAY + HOUR);
    await report(eve.email);
    await fixture.run();
    expect(await fixture.paths(delayed, eve.email)).toEqual(['ACTIVE: start, first, wait, thanks WAITING']);
    expect(await fixture.paths(delayed, dan.email)).toEqual(['ACTIVE: start, first, wait WAITING']);
  });

  it('looks once more at the end: what happened meanwhile counts, though no worker was there', async () => {
    const id = await fixture.active(content(waitFor(order())));
    const { email } = await inside(id);
    await report(email);
    await query('update messaging.automation_runs set wake_at = $1 where is_waiting', [
      fixture.messaging.clock.now(),
    ]);
    // Due at the same time as the event is to be told.
    await fixture.run();
    expect(await fixture.paths(id, email)).toEqual(HAPPENED);
    expect(await rest()).toEqual({ waiters: 0, fulfilled: 0 });
  });

  it('for rules goes on at once where they hold, when an evaluation finds it, or at the end', async () => {
    const id = await fixture.active(content(waitFor({ rules: where('custom.plan', 'pro') })));
    const waits = get(WaitsService);
    const evaluate = async () => {
      for await (const { waitId, ...scope } of waits.due()) await waits.evaluate(scope, { waitId });
    };
    const pro = await fixture.person({ customFields: { plan: 'pro' } });
    await fixture.enter(id, pro.email);
    const [soon, late, never] = [await inside(id), await inside(id), await inside(id)];
    expect(await fixture.paths(id, pro.email)).toEqual(HAPPENED);
    await evaluate();
    await become(soon.email, 'pro');
    await fixture.run();
    expect(await fixture.paths(id, soon.email)).toEqual(WAITING);
    await evaluate();
    await fixture.run();
    expect(await fixture.paths(id, soon.email)).toEqual(WAITING);
    await fixture.later(5 * 60_000);
    await evaluate();
    await become(soon.email, 'free');
    await fixture.run();
    expect(await fixture.paths(id, soon.email)).toEqual(HAPPENED);
    await become(late.email, 'pro');
    await fixture.later(3 * DAY);
    expect(await fixture.paths(id, late.email)).toEqual(HAPPENED);
    expect(await fixture.paths(id, never.email)).toEqual(LATE);
    expect(await rest()).toEqual({ waiters: 0, fulfilled: 0 });
    for await (const due of waits.due()) expect(due).toBeNull();
  });

  it('fails where its rules can no longer be asked, and then waits no longer', async () => {
    const id = await fixture.active(content(waitFor({ rules: where('custom.plan', 'pro') })));
    const { email } = await inside(id);
    const turn = (status: string) =>
      query('update audience.custom_fields set status = $1, archived_at = $2', [
        status,
        status === 'ARCHIVED' ? new Date() : null,
      ]);
    await turn('ARCHIVED');
    await fixture.later(3 * DAY);
    for (let minute = 0; minute < 100; minute += 5) await fixture.later(5 * 60_000);
    expect(await fixture.paths(id, email)).toEqual(['FAILED: start, wait']);
    expect(await rest()).toEqual({ waiters: 0, fulfilled: 0 });
    await turn('ACTIVE');
  });

  it('counts what happens while the automation is paused, and takes it on when it is active again', async () => {
    const id = await fixture.active(content(waitFor(order())));
    const [ada, bob] = [await inside(id), await inside(id)];
    await fixture.automations.pause(fixture.scope, id);
    await report(ada.email);
    await fixture.later(4 * DAY);
    expect([await fixture.paths(id, ada.email), await fixture.paths(id, bob.email)]).toEqual([
      WAITING,
      WAITING,
    ]);
    await fixture.automations.activate(fixture.scope, id);
    await fixture.run();
    expect(await fixture.paths(id, ada.email)).toEqual(HAPPENED);
    expect(await fixture.paths(id, bob.email)).toEqual(LATE);
  });

  it('waits in each version for what it says there, and forgets versions that nobody is in', async () => {
    const id = await fixture.active(content(waitFor(order())));
    const old = await inside(id);
    await fixture.automations.pause(fixture.scope, id);
    const visit = waitFor({ event: { name: 'visit' } });
    await fixture.automations.replaceContent(fixture.scope, id, content(visit));
    await fixture.automations.activate(fixture.scope, id);
    const recent = await inside(id);
    await report(recent.email);
    await report(old.email);
    await fixture.run();
    expect(await fixture.paths(id, old.email)).toEqual(HAPPENED);
    expect(await fixture.paths(id, recent.email)).toEqual(WAITING);
    await fixture.later(DAY);
    const known = () =>
      query<{ name: string }>(
        `select w.event_name as name from audience.waits w join messaging.automation_versions v on w.id = any(v.wait_ids) and w.environment_id = v.environment_id
         where v.automation_id = $1 order by v.version`,
        [id],
      );
    expect(await known()).toEqual([{ name: 'order' }, { name: 'visit' }]);
    await fixture.automations.pause(fixture.scope, id);
    await fixture.automations.replaceContent(
      fixture.scope,
      id,
      content(waitFor({ event: { name: 'call' } })),
    );
    await fixture.automations.activate(fixture.scope, id);
    expect(await known()).toEqual([{ name: 'visit' }, { name: 'call' }]);
    await fixture.automations.pause(fixture.scope, id);
    await fixture.automations.update(fixture.scope, id, { status: 'ARCHIVED' });
    await fixture.run();
    expect(await fixture.paths(id, recent.email)).toEqual(['CANCELLED: start, wait']);
    expect([await known(), await rest()]).toEqual([[], { waiters: 0, fulfilled: 0 }]);
  });

  it('is left by nobody who is erased, and is no step that exitWhen is asked before twice', async () => {
    const leave = trigger({ exitWhen: where('custom.plan', 'free') });
    const id = await fixture.active(content(waitFor(order()), leave));
    const [ada, bob] = [await inside(id), await inside(id)];
    await get(PersonalDataService).erase(fixture.scope, address(ada.email), PROOF);
    expect(await rest()).toEqual({ waiters: 1, fulfilled: 0 });
    await become(bob.email, 'free');
    await report(bob.email);
    await fixture.run();
    expect(await fixture.paths(id, bob.email)).toEqual(['CANCELLED: start, wait, thanks SKIPPED']);
    await fixture.later(3 * DAY);
    expect(await rest()).toEqual({ waiters: 0, fulfilled: 0 });
  });

  it.each(['wake_fulfilled', 'settle_waits'])('is told by one statement (%s)', async (name) => {
    const id = await fixture.active(content(waitFor(order())));
    const { email } = await inside(id);
    const texts = await textsCompiledBy(async () => {
      await report(email);
      await fixture.run();
    });
    const { now, committed } = await statementText(name, texts);
    expect(now).toBe(committed);
  });

  it('lets everybody go by exactly one branch when event and end come at the same moment', async () => {
    const people = 1_000;
    const start = trigger({ eventName: 'begin' });
    const id = await fixture.active(content(waitFor(order()), start), { triggerType: 'custom_event' });
    const rows = await query<{ id: string; email: string }>(
      `insert into audience.subscribers (id, environment_id, subscriber_key, email, email_key, source, status, custom_fields,
         created_at, updated_at)
       select platform.new_id(), $1, 'RACE-' || n, n || '@race.example', n || '@race.example', 'API', 'ACTIVE', '{}', now(), now()
       from generate_series(1, $2::int) n returning id, email`,
      [fixture.scope.environmentId, people],
    );
    const events = get(SubscriberEventsService);
    const batch = (some: readonly { email: string }[], name = 'order') =>
      events.recordAll(
        fixture.scope,
        some.map(({ email }) => ({ address: address(email), name })),
      );
    await batch(rows, 'begin');
    await fixture.run();
    expect(await rest()).toEqual({ waiters: people, fulfilled: 0 });
    const early = rows.slice(0, 100);
    await batch(early);
    fixture.messaging.clock.advance(3 * DAY);
    const racing = rows.slice(100).toSorted((a, b) => (a.id.slice(-4) < b.id.slice(-4) ? -1 : 1));
    const batches = Array.from({ length: 90 }, (_, index) => racing.slice(index * 10, index * 10 + 10));
    await Promise.all([
      ...Array.from({ length: 3 }, () => get(AutomationRunner).pass()),
      (async () => {
        for (const some of batches) await batch(some);
      })(),
    ]);
    await fixture.run();
    const taken = await query<{ runs: number; branch: string; detail: string; early: boolean }>(
      `select count(*)::int as runs, n.position as branch, w.detail, r.subscriber_id = any($2) as early
       from messaging.automation_runs r
       join messaging.automation_versions v on v.id = r.version_id and v.environment_id = r.environment_id
       join messaging.automation_steps w on w.environment_id = r.environment_id and w.run_id = r.id and w.position = 1
       join messaging.automation_steps n on n.environment_id = r.environment_id and n.run_id = r.id and n.position in (2, 3)
       where v.automation_id = $1 group by 2, 3, 4`,
      [id, early.map((one) => one.id)],
    );
    expect(taken.reduce((sum, { runs }) => sum + runs, 0)).toBe(people);
    for (const { branch, detail: told } of taken)
      expect(told).toBe(Number(branch) === 2 ? 'happened' : 'timeout');
    expect(taken.filter((one) => one.early)).toEqual([
      { runs: early.length, branch: 2, detail: 'happened', early: true },
    ]);
    expect(await rest()).toEqual({ waiters: 0, fulfilled: 0 });
  });
});
