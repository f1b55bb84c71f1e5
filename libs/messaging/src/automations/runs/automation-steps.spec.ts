import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '#platform';
import { WebhookReceiver } from '#testing/servers/webhook-receiver';
import { AutomationsFixture, chain, delay, mail, trigger } from '../automations.fixture.js';
import { automationDiscrepancies } from '../../reports/statistics/automation-check.query.js';
import { Backoffs } from './automation-runner.job.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const PEOPLE = 40;

/** The database refuses whatever is written of this person's mail, as a fault of ours would. */
const POISON = `
  create function messaging.poison() returns trigger language plpgsql as $$
  begin
    if exists (select 1 from messaging.poisoned p where p.id = new.subscriber_id) then raise exception 'no mail for this one'; end if;
    return new;
  end $$;
  create table messaging.poisoned (id uuid primary key);
  grant select on messaging.poisoned to public;
  create trigger poison before insert on messaging.deliveries for each row execute function messaging.poison()`;

describe('somebody whose step fails', () => {
  let fixture: AutomationsFixture;
  beforeAll(async () => {
    fixture = await AutomationsFixture.open({ OUTGOING_PRIVATE_ADDRESSES: 'true' });
    await fixture.messaging.test.query(POISON);
  });
  afterAll(() => fixture?.close());

  const poison = (id: string) =>
    fixture.messaging.test.query('insert into messaging.poisoned values ($1)', [id]);
  const cure = () => fixture.messaging.test.query('truncate messaging.poisoned');

  async function crowd(automationId: string, size: number) {
    const people = [];
    for (let index = 0; index < size; index += 1) {
      const person = await fixture.person();
      await fixture.enter(automationId, person.email);
      people.push(person);
    }
    return people;
  }

  it('holds up nobody else, is tried again later, and at last fails with the reason', async () => {
    const id = await fixture.active(chain(trigger(), mail('first'), delay('wait', 'P1D'), mail('second')));
    const people = await crowd(id, PEOPLE);
    const sick = people[17]!;
    await poison(sick.id);
    await fixture.run();
    for (const { email } of people) {
      const expected = email === sick.email ? 'ACTIVE: start' : 'ACTIVE: start, first, wait WAITING';
      expect(await fixture.paths(id, email)).toEqual([expected]);
    }
    for (const rest of [MINUTE / 6, MINUTE, 10 * MINUTE]) {
      await fixture.later(rest);
      expect(await fixture.paths(id, sick.email)).toEqual(['ACTIVE: start']);
    }
    await fixture.later(HOUR);
    expect(await fixture.paths(id, sick.email)).toEqual(['FAILED: start, first FAILED']);
    const executions = await fixture.executions(id);
    const failed = executions.find(({ status }) => status === 'FAILED');
    expect(failed?.steps.at(-1)?.detail).toContain('no mail for this one');
    expect(failed?.completedAt).not.toBeNull();
    expect(await fixture.totals(id)).toEqual([PEOPLE, 0, PEOPLE - 1]);
    await fixture.later(24 * HOUR);
    expect(await fixture.totals(id)).toEqual([PEOPLE, PEOPLE - 1, 0]);
    expect(await automationDiscrepancies(fixture.messaging.get(Database))).toEqual([]);
    await cure();
  });

  it('goes on as if nothing had been once the fault is mended', async () => {
    const id = await fixture.active(chain(trigger(), mail('first'), delay('wait', 'P1D')));
    const [sick, well] = await crowd(id, 2);
    await poison(sick!.id);
    await fixture.run();
    await cure();
    await fixture.later(MINUTE / 6);
    for (const { id: personId, email } of [sick!, well!]) {
      expect(await fixture.paths(id, email)).toEqual(['ACTIVE: start, first, wait WAITING']);
      expect(await fixture.mails(personId)).toHaveLength(1);
    }
  });

  it('keeps the steps that were taken before the one that fails', async () => {
    const id = await fixture.active(
      chain(
        trigger(),
        {
          id: 'join',
          type: 'topic_action',
          config: { action: 'subscribe', topicKey: fixture.topic.topicKey },
        },
        mail('first'),
      ),
    );
    const [sick] = await crowd(id, 1);
    await poison(sick!.id);
    await fixture.run();
    expect(await fixture.paths(id, sick!.email)).toEqual(['ACTIVE: start, join']);
    await cure();
  });

  it('does not lose their way because everybody fails: then the automation rests, longer each time', async () => {
    const id = await fixture.active(chain(trigger(), mail('first')));
    const people = await crowd(id, 12);
    for (const person of people) await poison(person.id);
    for (let second = 0; second < 120; second += 1) await fixture.later(1_000);
    // Every second for two minutes would have set each of them aside several times.
    const [row] = await fixture.messaging.test.query<{ tries: number }>(
      `select sum(attempts)::int as tries from messaging.automation_runs r
       join messaging.automations a on a.number = r.automation_number where a.id = $1`,
      [id],
    );
    expect(row?.tries).toBeGreaterThanOrEqual(5);
    expect(row?.tries).toBeLessThanOrEqual(16);
    await cure();
    for (let minute = 0; minute < 12; minute += 1) await fixture.later(MINUTE);
    expect(await fixture.totals(id)).toEqual([12, 12, 0]);
  });

  it('where somebody outside is called, neither, and others are called meanwhile', async () => {
    const receiver = await WebhookReceiver.open();
    try {
      const hook = { id: 'hook', type: 'webhook', config: { url: receiver.url } };
      const id = await fixture.active(chain(trigger(), hook, delay('wait', 'P1D')));
      const people = [];
      for (let index = 0; index < PEOPLE; index += 1) {
        const person = await fixture.person();
        people.push({ ...person, run: await fixture.enter(id, person.email) });
      }
      const sick = people[3]!;
      await fixture.messaging.test.query(`
        create function messaging.poison_step() returns trigger language plpgsql as $$
        begin raise exception 'nothing is written of this one'; end $$;
        create trigger poison_step before insert on messaging.automation_steps for each row
          when (new.run_id = '${sick.run}' and new.position = 1 and new.status <> 'FAILED')
          execute function messaging.poison_step()`);
      await fixture.run();
      for (const { email } of people) {
        const expected = email === sick.email ? 'ACTIVE: start' : 'ACTIVE: start, hook, wait WAITING';
        expect(await fixture.paths(id, email)).toEqual([expected]);
      }
      for (const rest of [MINUTE / 6, MINUTE, 10 * MINUTE]) {
        await fixture.later(rest);
        expect(await fixture.paths(id, sick.email)).toEqual(['ACTIVE: start']);
      }
      await fixture.later(HOUR);
      expect(await fixture.paths(id, sick.email)).toEqual(['FAILED: start, hook FAILED']);
      await fixture.later(HOUR);
      const ofSick = receiver.posts.filter(({ body }) => body.includes(sick.email));
      expect([ofSick.length, new Set(ofSick.map(({ headers }) => headers['webhook-id'])).size]).toEqual([
        5, 1,
      ]);
      expect(await fixture.totals(id)).toEqual([PEOPLE, 0, PEOPLE - 1]);
    } finally {
      await fixture.messaging.test.query('drop function if exists messaging.poison_step cascade');
      receiver.close();
    }
  });
});

describe('the backoff of what failed', () => {
  it('is twice as long after each failure, a minute at most, and over when it works again', () => {
    const backoffs = new Backoffs();
    const begin = new Date('2026-03-01T12:00:00Z');
    const lengths = Array.from({ length: 10 }, () => backoffs.failed('steps', begin));
    expect(lengths).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    expect(backoffs.isWaiting('steps', new Date(begin.getTime() + 59_999))).toBe(true);
    expect(backoffs.isWaiting('steps', new Date(begin.getTime() + 60_000))).toBe(false);
    expect(backoffs.isWaiting('others', begin)).toBe(false);
    backoffs.succeeded('steps');
    expect(backoffs.failed('steps', begin)).toBe(500);
  });
});
