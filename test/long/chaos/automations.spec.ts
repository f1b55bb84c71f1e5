import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  contentOf,
  type Kind,
  KINDS,
  type Model,
  models,
  type Surroundings,
} from '#testing/automations/model';
import { type Person, PlainReading } from '#testing/automations/plain-reading';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { runCliForJson } from '#testing/programs/operator-cli';
import { type RunningProgram, startProgram } from '#testing/programs/program';
import * as fc from '#testing/random/properties';
import { type RunningSystem, startSystem } from '#testing/programs/system';
import { WebhookReceiver } from '#testing/servers/webhook-receiver';
import { DEADLINE_MS, inForm, IS_WHOLE } from './campaign-run.fixture.js';

const SEED = Number(process.env['AUTOMATION_MODEL_SEED'] ?? randomInt(2 ** 31));
const AUTOMATIONS = inForm(3, 20);
const PEOPLE = inForm(4, 10);
const KILLS = inForm(2, 10);
/** Kinds that are tried: the short form has no calls, since a worker that dies in one is followed only after the 30 s of its lease. */
const isFor = (kind: Kind) => kind !== 'morning' && (IS_WHOLE || kind !== 'hook');

interface Execution {
  readonly id: string;
  readonly email: string;
  readonly status: string;
  readonly steps: readonly { readonly nodeId: string; readonly status: string }[];
}

interface Tried {
  readonly id: string;
  readonly eventName: string;
  readonly model: Model;
  readonly plain: PlainReading;
  readonly people: readonly Person[];
}

describe('random automations whose workers are killed', () => {
  let system: RunningSystem;
  let receiver: WebhookReceiver;
  let client: ApiClient;
  let workers: RunningProgram[];
  const automations: Tried[] = [];

  beforeAll(async () => {
    receiver = await WebhookReceiver.open();
    receiver.answer = ({ body }) => (body.includes('"email":"refused') ? 410 : 204);
    system = await startSystem({ OUTGOING_PRIVATE_ADDRESSES: 'true' });
    workers = [system.worker, await startProgram('worker', system.variables)];
    client = await (await system.project()).client('TEST');
    const options = ['free', 'pro'].map((value) => ({ value, label: value }));
    await posted('/custom-fields', { key: 'plan', displayName: 'Plan', type: 'SELECT', options });
    const drawn = fc.sample(models(KINDS.filter(isFor), 8), { numRuns: AUTOMATIONS, seed: SEED });
    for (const [index, model] of drawn.entries()) automations.push(await activated(model, `looked${index}`));
  }, DEADLINE_MS);
  afterAll(async () => {
    await Promise.all(workers?.map((worker) => worker.stop()) ?? []);
    await system?.stop();
    receiver?.close();
  });

  async function posted(path: string, body: object) {
    const answer = await client.post(path, body);
    if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`);
    return answer;
  }

  async function activated(model: Model, eventName: string): Promise<Tried> {
    const topic = async (name: string, doubleOptInEnabled: boolean) =>
      (await posted('/topics', { name, doubleOptInEnabled })).at('topicKey');
    const around: Surroundings = {
      newsKey: await topic('News', false),
      otherKey: await topic('Other', false),
      doubleKey: await topic('Double', true),
      segmentKey: (await posted('/segments', { name: 'Members' })).at('segmentKey'),
      eventName,
      hookUrl: receiver.url,
      wait: 'PT1S',
    };
    const id = (await posted('/automations', { name: eventName, triggerType: 'custom_event' })).at('id');
    await client.patch(`/automations/${id}/content`, contentOf(model, around));
    await posted(`/automations/${id}/activate`, {});
    const people: Person[] = [];
    for (let index = 0; index < PEOPLE; index += 1)
      people.push(await newcomer(index, eventName, around.newsKey));
    return { id, eventName, model, people, plain: new PlainReading(id, model) };
  }

  async function newcomer(index: number, eventName: string, newsKey: string): Promise<Person> {
    const [isPro, isRefused] = [index % 2 === 0, index % 3 === 0];
    const email = `${isRefused ? 'refused' : 'taken'}-${index}-${eventName}@example.com`;
    const id = (
      await posted('/subscribers', {
        email,
        topicKeys: [newsKey],
        consent: { source: 'signup-form' },
        customFields: { plan: isPro ? 'pro' : 'free' },
      })
    ).at('id');
    return { id, email, isPro, isRefused, news: 'SUBSCRIBED', other: 'none', isMember: false };
  }

  const count = async (statement: string): Promise<number> =>
    (await system.database.query<{ n: number }>(statement))[0]?.n ?? 0;
  const takenSteps = () => count('select count(*)::int as n from messaging.automation_steps');
  const inside = () =>
    count(`select (count(*) filter (where wake_at is not null) + (select count(*) from audience.recorded_triggers))::int as n
           from messaging.automation_runs`);

  /** Kills one of the workers whenever some more steps have been taken, until nobody is left inside. */
  async function killAtRandom(): Promise<void> {
    for (let kills = 0; kills < KILLS; kills += 1) {
      const wanted = (await takenSteps()) + randomInt(1, AUTOMATIONS * PEOPLE);
      await eventually(
        'some more steps are taken',
        async () => (await takenSteps()) >= wanted || (await inside()) === 0,
        DEADLINE_MS,
      );
      const place = randomInt(workers.length);
      await workers[place]?.kill();
      workers[place] = await startProgram('worker', system.variables);
    }
    await eventually('nobody is inside', async () => (await inside()) === 0, DEADLINE_MS);
  }

  async function happensToAll(): Promise<void> {
    for (const { plain, people, eventName } of automations) {
      for (const person of people) {
        await posted(`/subscribers/${encodeURIComponent(person.email)}/events`, { name: eventName });
        plain.happens(person);
      }
      while (plain.readings.some(({ status }) => status === 'ACTIVE')) plain.wake();
    }
  }

  async function executionsOf({ id }: Tried): Promise<readonly Execution[]> {
    return (await client.get(`/automations/${id}/executions?size=100`)).at('data');
  }

  const stepsWith = (
    kind: Kind,
    status: readonly string[],
    { model }: Tried,
    executions: readonly Execution[],
  ) =>
    executions.flatMap(({ id, steps }) =>
      steps.flatMap((step) => {
        const place = model.nodes.findIndex((node) => node.id === step.nodeId);
        const isOne = model.nodes[place]?.kind === kind && status.includes(step.status);
        return isOne ? [id.slice(0, -2) + (place + 1).toString(16).padStart(2, '0')] : [];
      }),
    );

  async function compare(): Promise<void> {
    const wanted = { mails: [] as string[], calls: [] as string[] };
    for (const automation of automations) {
      const executions = await executionsOf(automation);
      const found = executions.map(({ email, status, steps }) => {
        const taken = steps.map((step) => step.nodeId + (step.status === 'DONE' ? '' : ` ${step.status}`));
        return `${email} ${status}: ${taken.join(', ')}`;
      });
      const told = automation.plain.readings.map(({ person, path }) => `${person.email} ${path}`);
      expect({ seed: SEED, paths: found.toSorted() }).toEqual({ seed: SEED, paths: told.toSorted() });
      wanted.mails.push(...stepsWith('mail', ['DONE'], automation, executions));
      wanted.calls.push(...stepsWith('hook', ['DONE', 'FAILED'], automation, executions));
      const totals = (await client.get(`/automations/${automation.id}`)).body;
      const [totalEntered, totalCompleted, currentlyActive] = automation.plain.totals;
      expect(totals).toMatchObject({ totalEntered, totalCompleted, currentlyActive });
    }
    const mails = await system.database.query<{ step: string }>(
      `select source_id as step from messaging.deliveries where kind = 'AUTOMATION'`,
    );
    expect(mails.map(({ step }) => step).toSorted()).toEqual(wanted.mails.toSorted());
    expect([...new Set(receiver.ids)].toSorted()).toEqual(wanted.calls.toSorted());
    const variables = { ...system.variables, PATH: process.env['PATH'] ?? '' };
    expect(await runCliForJson(variables, ['check:automations'])).toEqual({ discrepancies: [] });
  }

  it(
    'take each person the way that a plain reading says, each step, mail and call once, whoever is killed when',
    async () => {
      for (let round = 0; round < 2; round += 1) {
        await happensToAll();
        await killAtRandom();
        await compare();
      }
    },
    DEADLINE_MS * 2,
  );
});
