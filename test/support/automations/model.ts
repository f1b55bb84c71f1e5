import * as fc from '#testing/random/properties';
import type { ReEntry } from '../../../libs/messaging/src/automations/graph/node-config.js';
import {
  contentJson,
  type NodeSketch,
  rules,
  trigger,
  where,
} from '../../../libs/messaging/src/automations/automations.fixture.js';

export const KINDS = [
  'mail',
  'wait',
  'morning',
  'hook',
  'isPro',
  'isMember',
  'hasOther',
  'hasDouble',
  'split',
  'becomesPro',
  'join',
  'leave',
  'joinOther',
  'leaveOther',
  'joinDouble',
  'add',
  'remove',
  'setPro',
  'setMissing',
  'awaits',
  'becomes',
] as const;
export type Kind = (typeof KINDS)[number];

const BRANCHES: Partial<Record<Kind, readonly string[]>> = {
  isPro: ['yes', 'no'],
  isMember: ['yes', 'no'],
  hasOther: ['yes', 'no'],
  hasDouble: ['yes', 'no'],
  split: ['a', 'b'],
  awaits: ['happened', 'timeout'],
  becomes: ['happened', 'timeout'],
};

/** Steps whose changes other steps ask for: two runs of one person at once are told apart by who came first. */
const LASTING: ReadonlySet<Kind | 'start'> = new Set([
  'leave',
  'joinOther',
  'leaveOther',
  'add',
  'remove',
  'setPro',
]);

interface ModelNode {
  readonly id: string;
  readonly kind: Kind | 'start';
}

interface Way {
  readonly source: string;
  readonly target: string;
  readonly branch: string;
}

/** The steps of an automation and the ways between them, in our own words. */
export interface Model {
  readonly nodes: readonly ModelNode[];
  readonly ways: readonly Way[];
  readonly reEntry: ReEntry;
  /** Members of the segment take no further step. */
  readonly membersLeave: boolean;
}

/** Names of the things that steps speak of, in the system under test. */
export interface Surroundings {
  readonly newsKey: string;
  readonly otherKey: string;
  readonly doubleKey: string;
  readonly segmentKey: string;
  readonly eventName: string;
  readonly hookUrl: string;
  /** Duration of a `wait`. */
  readonly wait: string;
}

interface Drawn {
  readonly kind: Kind;
  readonly hooks: readonly number[];
}

/** Any automation of these kinds of steps, with any rule of re-entry that lets its reading be plain. */
export function models(kinds: readonly Kind[] = KINDS, maxLength = 12): fc.Arbitrary<Model> {
  const drawn = fc.record({
    kind: fc.constantFrom(...kinds),
    hooks: fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
  });
  const reEntry = fc.constantFrom<ReEntry>('ONCE', 'AFTER_EXIT', 'ALWAYS');
  const membersLeave = fc.boolean();
  const drawing = fc.tuple(fc.array(drawn, { minLength: 1, maxLength }), reEntry, membersLeave);
  return drawing.map(([nodes, rule, leave]) => {
    const isPlain = rule !== 'ALWAYS' || nodes.every(({ kind }) => !LASTING.has(kind));
    const plainRule = isPlain ? rule : 'AFTER_EXIT';
    // The event that lets somebody go on may end the run, and so let them in again, or come first.
    const isOnce = plainRule === 'AFTER_EXIT' && nodes.some(({ kind }) => kind === 'awaits');
    return { ...modelOf(nodes, isOnce ? 'ONCE' : plainRule), membersLeave: leave };
  });
}

/** Steps one behind the other, called `prefix0`, `prefix1` …. */
export function modelChain(prefix: string, reEntry: ReEntry, ...kinds: readonly Kind[]): Model {
  return modelOf(
    kinds.map((kind) => ({ kind, hooks: [0] })),
    reEntry,
    prefix,
  );
}

/** Model of what was drawn: each node hangs on ways that are open by then, and no branch is left open at the end. */
function modelOf(drawn: readonly Drawn[], reEntry: ReEntry, prefix = 'n'): Model {
  const nodes: ModelNode[] = [{ id: 'start', kind: 'start' }];
  const ways: Way[] = [];
  let open = [{ source: 'start', branch: '' }];
  const hang = (id: string, hooks: readonly number[]) => {
    const chosen = new Set(hooks.map((hook) => hook % open.length));
    ways.push(...open.filter((_, index) => chosen.has(index)).map((exit) => ({ ...exit, target: id })));
    open = open.filter((_, index) => !chosen.has(index));
  };
  for (const [index, { kind, hooks }] of drawn.entries()) {
    const id = `${prefix}${index}`;
    hang(id, hooks);
    nodes.push({ id, kind });
    open.push(...(BRANCHES[kind] ?? ['']).map((branch) => ({ source: id, branch })));
  }
  if (open.some(({ branch }) => branch !== '')) {
    hang('end', [...open.keys()]);
    nodes.push({ id: 'end', kind: 'wait' });
  }
  return { nodes, ways, reEntry, membersLeave: false };
}

/** The same as clients write it. */
export function contentOf({ nodes, ways, reEntry, membersLeave }: Model, around: Surroundings) {
  const { eventName, segmentKey } = around;
  const exitWhen = membersLeave ? rules({ segment: { segmentKey, member: true } }) : null;
  const start = trigger({ eventName, reEntry, exitWhen });
  return {
    nodes: JSON.stringify(nodes.map(({ id, kind }) => (kind === 'start' ? start : sketch(id, kind, around)))),
    edges: JSON.stringify(
      ways.map(({ branch, ...way }, index) => ({ id: `e${index}`, ...way, ...(branch && { branch }) })),
    ),
  };
}

function sketch(id: string, kind: Kind, around: Surroundings): NodeSketch {
  const { newsKey, otherKey, doubleKey, segmentKey } = around;
  const member = { segment: { segmentKey, member: true } };
  const topic = (action: string, topicKey: string) => ({
    id,
    type: 'topic_action',
    config: { action, topicKey },
  });
  const segment = (action: string) => ({ id, type: 'segment_action', config: { action, segmentKey } });
  const ask = (config: object) => ({ id, type: 'condition', config: { rules: config } });
  const subscribedTo = (topicKey: string) => ask(rules({ consent: { topicKey, status: ['SUBSCRIBED'] } }));
  const pro = where('custom.plan', 'pro');
  const sketches: Record<Kind, () => NodeSketch> = {
    mail: () => ({ id, type: 'email', config: { subject: id, contentJson, topicKey: newsKey } }),
    wait: () => ({ id, type: 'delay', config: { duration: around.wait } }),
    morning: () => ({
      id,
      type: 'delay',
      config: { until: { time: '09:00', timezone: 'Europe/Berlin' } },
    }),
    hook: () => ({ id, type: 'webhook', config: { url: around.hookUrl } }),
    isPro: () => ask(pro),
    isMember: () => ask(rules(member)),
    hasOther: () => subscribedTo(otherKey),
    hasDouble: () => subscribedTo(doubleKey),
    split: () => ({ id, type: 'ab_split', config: { weights: { a: 50, b: 50 } } }),
    becomesPro: () => ({
      id,
      type: 'goal',
      config: { name: 'Pro', rules: rules({ and: [pro.where, member] }) },
    }),
    join: () => topic('subscribe', newsKey),
    leave: () => topic('unsubscribe', newsKey),
    joinOther: () => topic('subscribe', otherKey),
    leaveOther: () => topic('unsubscribe', otherKey),
    joinDouble: () => topic('subscribe', doubleKey),
    add: () => segment('add'),
    remove: () => segment('remove'),
    setPro: () => ({ id, type: 'update_field', config: { key: 'plan', value: 'pro' } }),
    awaits: () => ({
      id,
      type: 'wait_for',
      config: { event: { type: 'CUSTOM', name: around.eventName }, timeout: around.wait },
    }),
    becomes: () => ({ id, type: 'wait_for', config: { rules: pro, timeout: around.wait } }),
    setMissing: () => ({ id, type: 'update_field', config: { key: 'plan', value: '{{ event.plan }}' } }),
  };
  return sketches[kind]();
}
