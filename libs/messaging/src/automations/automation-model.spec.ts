import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ConsentsService, CustomFieldsService, SegmentsService, TopicsService } from '#audience';
import {
  address,
  AutomationsFixture,
  contentJson,
  type NodeSketch,
  PROOF,
  rules,
  trigger,
  where,
} from './automations.fixture.js';
import { splitSide } from './nodes/split-side.js';
import { AutomationRunner } from './runs/automation-runner.js';

const RUNS = Number(process.env['AUTOMATION_MODEL_RUNS'] ?? 8);
const DAY = 24 * 3_600_000;

const KINDS = [
  'mail',
  'wait',
  'isPro',
  'isMember',
  'hasOther',
  'split',
  'becomesPro',
  'join',
  'leave',
  'joinOther',
  'leaveOther',
  'add',
  'remove',
] as const;
type Kind = (typeof KINDS)[number];
const BRANCHES: Partial<Record<Kind, readonly string[]>> = {
  isPro: ['yes', 'no'],
  isMember: ['yes', 'no'],
  hasOther: ['yes', 'no'],
  split: ['a', 'b'],
};

interface ModelNode {
  readonly id: string;
  readonly kind: Kind | 'start';
}

interface Way {
  readonly source: string;
  readonly target: string;
  readonly branch: string;
}

interface Model {
  readonly nodes: readonly ModelNode[];
  readonly ways: readonly Way[];
}

/** Whatever is drawn: each node hangs on ways that are open by then, and no branch is left open at the end. */
function modelOf(drawn: readonly { readonly kind: Kind; readonly hooks: readonly number[] }[]): Model {
  const nodes: ModelNode[] = [{ id: 'start', kind: 'start' }];
  const ways: Way[] = [];
  let open = [{ source: 'start', branch: '' }];
  const hang = (id: string, hooks: readonly number[]) => {
    const chosen = new Set(hooks.map((hook) => hook % open.length));
    ways.push(...open.filter((_, index) => chosen.has(index)).map((exit) => ({ ...exit, target: id })));
    open = open.filter((_, index) => !chosen.has(index));
  };
  for (const [index, { kind, hooks }] of drawn.entries()) {
    const id = `n${index}`;
    hang(id, hooks);
    nodes.push({ id, kind });
    open.push(...(BRANCHES[kind] ?? ['']).map((branch) => ({ source: id, branch })));
  }
  if (open.some(({ branch }) => branch !== '')) {
    hang(
      'end',
      open.map((_, index) => index),
    );
    nodes.push({ id: 'end', kind: 'wait' });
  }
  return { nodes, ways };
}

const models = fc
  .array(
    fc.record({
      kind: fc.constantFrom(...KINDS),
      hooks: fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map(modelOf);

/** What an automation can know of a person, and change. */
interface Person {
  readonly id: string;
  readonly isPro: boolean;
  news: 'SUBSCRIBED' | 'UNSUBSCRIBED';
  other: 'none' | 'SUBSCRIBED' | 'UNSUBSCRIBED';
  isMember: boolean;
}

/** The way of one person, told plainly. */
function interpret({ nodes, ways }: Model, automationId: string, person: Person): string {
  const steps: string[] = [];
  let at = nodes[0];
  while (at !== undefined) {
    const { result, branch } = take(at, automationId, person);
    if (result === 'CONVERTED') return `CONVERTED: ${[...steps, at.id].join(', ')}`;
    steps.push(`${at.id}${result}`);
    const way = ways.find(({ source, branch: named }) => source === at?.id && named === branch);
    at = nodes.find(({ id }) => id === way?.target);
  }
  return `COMPLETED: ${steps.join(', ')}`;
}

function take(
  { id, kind }: ModelNode,
  automationId: string,
  person: Person,
): { readonly result: '' | ' SKIPPED' | 'CONVERTED'; readonly branch: string } {
  const done = { result: '', branch: '' } as const;
  const skipped = { result: ' SKIPPED', branch: '' } as const;
  const asked = (holds: boolean) => ({ result: '', branch: holds ? 'yes' : 'no' }) as const;
  switch (kind) {
    case 'mail':
      return person.news === 'SUBSCRIBED' ? done : skipped;
    case 'isPro':
      return asked(person.isPro);
    case 'isMember':
      return asked(person.isMember);
    case 'hasOther':
      return asked(person.other === 'SUBSCRIBED');
    case 'split':
      return { result: '', branch: splitSide({ a: 50, b: 50 }, person.id, `${automationId}/${id}`) };
    case 'becomesPro':
      return person.isPro && person.isMember ? { result: 'CONVERTED', branch: '' } : done;
    case 'join':
      return person.news === 'UNSUBSCRIBED' ? skipped : done;
    case 'leave':
      person.news = 'UNSUBSCRIBED';
      return done;
    case 'joinOther':
      if (person.other === 'UNSUBSCRIBED') return skipped;
      person.other = 'SUBSCRIBED';
      return done;
    case 'leaveOther':
      if (person.other === 'SUBSCRIBED') person.other = 'UNSUBSCRIBED';
      return done;
    case 'add':
      person.isMember = true;
      return done;
    case 'remove':
      person.isMember = false;
      return done;
    case 'start':
    case 'wait':
      return done;
  }
}

describe('any automation', () => {
  let fixture: AutomationsFixture;
  beforeAll(async () => {
    fixture = await AutomationsFixture.open();
    const options = ['free', 'pro'].map((value) => ({ value, label: value }));
    await fixture.messaging
      .get(CustomFieldsService)
      .create(fixture.scope, { key: 'plan', displayName: 'Plan', type: 'SELECT', options });
  });
  afterAll(() => fixture?.close());

  interface Surroundings {
    readonly otherKey: string;
    readonly segmentKey: string;
  }

  async function surroundings(): Promise<Surroundings> {
    const { scope, messaging } = fixture;
    const other = await messaging
      .get(TopicsService)
      .create(scope, { name: 'Other', doubleOptInEnabled: false });
    const segment = await messaging.get(SegmentsService).create(scope, { name: 'Members' });
    return { otherKey: other.topicKey, segmentKey: segment.segmentKey };
  }

  function sketch({ id, kind }: ModelNode, { otherKey, segmentKey }: Surroundings): NodeSketch {
    const member = { segment: { segmentKey, member: true } };
    const topic = (action: string, topicKey: string) => ({
      id,
      type: 'topic_action',
      config: { action, topicKey },
    });
    const segment = (action: string) => ({ id, type: 'segment_action', config: { action, segmentKey } });
    const ask = (config: object) => ({ id, type: 'condition', config: { rules: config } });
    switch (kind) {
      case 'start':
        return trigger();
      case 'mail':
        return { id, type: 'email', config: { subject: id, contentJson } };
      case 'wait':
        return { id, type: 'delay', config: { duration: 'PT12H' } };
      case 'isPro':
        return ask(where('custom.plan', 'pro'));
      case 'isMember':
        return ask(rules(member));
      case 'hasOther':
        return ask(rules({ consent: { topicKey: otherKey, status: ['SUBSCRIBED'] } }));
      case 'split':
        return { id, type: 'ab_split', config: { weights: { a: 50, b: 50 } } };
      case 'becomesPro': {
        const reached = rules({ and: [{ field: 'custom.plan', op: 'eq', value: 'pro' }, member] });
        return { id, type: 'goal', config: { name: 'Pro', rules: reached } };
      }
      case 'join':
        return topic('subscribe', fixture.topic.topicKey);
      case 'leave':
        return topic('unsubscribe', fixture.topic.topicKey);
      case 'joinOther':
        return topic('subscribe', otherKey);
      case 'leaveOther':
        return topic('unsubscribe', otherKey);
      case 'add':
      case 'remove':
        return segment(kind);
    }
  }

  async function activate({ nodes, ways }: Model): Promise<string> {
    const around = await surroundings();
    return fixture.active({
      nodes: JSON.stringify(nodes.map((node) => sketch(node, around))),
      edges: JSON.stringify(
        ways.map(({ branch, ...way }, index) => ({
          id: `e${index}`,
          ...way,
          ...(branch === '' ? {} : { branch }),
        })),
      ),
    });
  }

  /** Several workers at once, and now and then a pause. */
  async function walkAll(automationId: string, pauses: readonly boolean[]): Promise<void> {
    const workers = () =>
      Promise.all(Array.from({ length: 3 }, () => fixture.messaging.get(AutomationRunner).pass()));
    for (const pause of pauses) {
      await workers();
      if (pause) {
        await fixture.automations.pause(fixture.scope, automationId);
        const before = await fixture.executions(automationId);
        fixture.messaging.clock.advance(DAY);
        await workers();
        expect(await fixture.executions(automationId)).toEqual(before);
        await fixture.automations.activate(fixture.scope, automationId);
      }
      fixture.messaging.clock.advance(DAY);
    }
    await workers();
  }

  it('takes each person the way that a plain reading of it says, each step once', async () => {
    const people = fc.array(fc.record({ isPro: fc.boolean(), hasLeft: fc.boolean() }), {
      minLength: 1,
      maxLength: 6,
    });
    const pauses = fc
      .array(fc.boolean(), { minLength: 15, maxLength: 15 })
      .map((flips) => flips.map((flip, index) => flip && index % 3 === 0));
    await fc.assert(
      fc.asyncProperty(models, people, pauses, async (model, crowd, interruptions) => {
        const id = await activate(model);
        const entered: { readonly email: string; readonly person: Person }[] = [];
        for (const { isPro, hasLeft } of crowd) {
          const { id: personId, email } = await fixture.person({
            customFields: { plan: isPro ? 'pro' : 'free' },
          });
          if (hasLeft)
            await fixture.messaging
              .get(ConsentsService)
              .revoke(fixture.scope, address(email), fixture.topic.topicKey, PROOF);
          await fixture.enter(id, email);
          const news = hasLeft ? 'UNSUBSCRIBED' : 'SUBSCRIBED';
          entered.push({ email, person: { id: personId, isPro, news, other: 'none', isMember: false } });
        }
        await walkAll(id, interruptions);
        let completed = 0;
        for (const { email, person } of entered) {
          const expected = interpret(model, id, person);
          expect(await fixture.paths(id, email)).toEqual([expected]);
          const mailed = model.nodes.flatMap(({ id: node, kind }, place) =>
            kind === 'mail' && new RegExp(`[ ,]${node}(,|$)`).test(expected) ? [place] : [],
          );
          const mails = (await fixture.mails(person.id)).map(({ node }) => node);
          expect(new Set(mails)).toEqual(new Set(mailed));
          expect(mails).toHaveLength(mailed.length);
          completed += 1;
        }
        expect(await fixture.totals(id)).toEqual([completed, completed, 0]);
      }),
      { numRuns: RUNS },
    );
  }, 300_000);
});
