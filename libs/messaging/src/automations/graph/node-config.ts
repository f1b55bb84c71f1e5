import { parseDuration, type RuleDuration } from '#audience';
import { parseEmailAddress } from '#kernel';
import type { AutomationNode, NodeType } from './automation-graph.js';
import { ConfigReader } from './config-reader.js';
import { type DelayUntil, readUntil } from './delay-until.js';
import { GraphFaults } from './graph-faults.js';
import { readWebhook, type WebhookConfig } from './webhook-config.js';

export const RE_ENTRIES = ['ONCE', 'AFTER_EXIT', 'ALWAYS'] as const;
/** How often a subscriber may enter: once ever, again after the run has ended, or any number of times at once. */
export type ReEntry = (typeof RE_ENTRIES)[number];

export interface TriggerConfig {
  readonly segmentKey: string | null;
  readonly eventName: string | null;
  readonly reEntry: ReEntry;
}

export interface EmailConfig {
  readonly subject: string;
  readonly previewText: string | null;
  readonly contentJson: string;
  readonly contentText: string | null;
  readonly fromEmail: string | null;
  readonly fromName: string | null;
  /** Null: the trigger's topic. */
  readonly topicKey: string | null;
}

export type DelayConfig = { readonly duration: RuleDuration } | { readonly until: DelayUntil };

/** The valid config of each type of step. `rules` is JSON text. */
export interface NodeConfigs {
  readonly trigger: TriggerConfig;
  readonly email: EmailConfig;
  readonly delay: DelayConfig;
  readonly condition: { readonly rules: string };
  readonly ab_split: { readonly weights: { readonly a: number; readonly b: number } };
  readonly goal: { readonly name: string; readonly rules: string };
  readonly webhook: WebhookConfig;
  readonly topic_action: { readonly action: 'subscribe' | 'unsubscribe'; readonly topicKey: string };
  readonly segment_action: { readonly action: 'add' | 'remove'; readonly segmentKey: string };
}

type Readers = {
  readonly [Type in NodeType]: {
    readonly members: readonly string[];
    read(config: ConfigReader): NodeConfigs[Type] | null;
  };
};

const MAX_KEY = 40;
const MAX_EVENT_NAME = 64;
const MAX_SUBJECT = 500;
const MAX_WEIGHT = 1_000_000;
const EVENT_NAME = /^[a-z][a-z0-9_.]{0,63}$/;

const READERS: Readers = {
  trigger: { members: ['segmentKey', 'eventName', 'reEntry'], read: readTrigger },
  email: {
    members: ['subject', 'previewText', 'contentJson', 'contentText', 'fromEmail', 'fromName', 'topicKey'],
    read: readEmail,
  },
  delay: { members: ['duration', 'until'], read: readDelay },
  condition: { members: ['rules'], read: (config) => withRules(config, {}) },
  ab_split: { members: ['weights'], read: readSplit },
  goal: {
    members: ['name', 'rules'],
    read: (config) => {
      const name = config.required('name', { max: 200 });
      const rules = config.json('rules');
      return name === null || rules === null ? null : { name, rules };
    },
  },
  webhook: { members: ['url', 'headers', 'body'], read: readWebhook },
  topic_action: {
    members: ['action', 'topicKey'],
    read: (config) => {
      const action = config.oneOf('action', ['subscribe', 'unsubscribe']);
      const topicKey = config.required('topicKey', { max: MAX_KEY });
      return action === null || topicKey === null ? null : { action, topicKey };
    },
  },
  segment_action: {
    members: ['action', 'segmentKey'],
    read: (config) => {
      const action = config.oneOf('action', ['add', 'remove']);
      const segmentKey = config.required('segmentKey', { max: MAX_KEY });
      return action === null || segmentKey === null ? null : { action, segmentKey };
    },
  },
};

/** The config of a node; null when it has faults, which are added below `path`. What it refers to is not looked up. */
export function readConfig<Type extends NodeType>(
  node: AutomationNode & { readonly type: Type },
  path: string,
  faults: GraphFaults,
): NodeConfigs[Type] | null {
  const reader: Readers[Type] = READERS[node.type];
  return reader.read(new ConfigReader(node.config, path, faults, reader.members));
}

/** What a node refers to or contains, as far as it can be read despite its faults. */
export function namedIn({ config }: AutomationNode) {
  const reader = new ConfigReader(config, '', new GraphFaults(), Object.keys(config));
  return {
    topicKey: reader.text('topicKey', { max: MAX_KEY }),
    segmentKey: reader.text('segmentKey', { max: MAX_KEY }),
    eventName: reader.text('eventName', { max: MAX_EVENT_NAME }),
    rules: reader.json('rules'),
    body: reader.value('body'),
    mail: mailIn(reader),
  };
}

function mailIn(reader: ConfigReader): EmailConfig | null {
  const contentJson = reader.json('contentJson');
  const subject = reader.text('subject', { max: MAX_SUBJECT }) ?? '';
  return contentJson === null ? null : { subject, contentJson, ...partsOfMail(reader) };
}

function readTrigger(config: ConfigReader): TriggerConfig | null {
  const reEntry = config.has('reEntry') ? config.oneOf('reEntry', RE_ENTRIES) : 'ONCE';
  const segmentKey = config.text('segmentKey', { max: MAX_KEY });
  const eventName = config.text('eventName', { max: MAX_EVENT_NAME });
  if (eventName !== null && !EVENT_NAME.test(eventName))
    return config.fault('eventName', 'must be like order.completed');
  return reEntry === null ? null : { segmentKey, eventName, reEntry };
}

function readEmail(config: ConfigReader): EmailConfig | null {
  const subject = config.required('subject', { max: MAX_SUBJECT });
  const contentJson = config.json('contentJson');
  const rest = partsOfMail(config);
  return subject === null || contentJson === null ? null : { subject, contentJson, ...rest };
}

function partsOfMail(config: ConfigReader): Omit<EmailConfig, 'subject' | 'contentJson'> {
  const fromEmail = config.text('fromEmail', { max: 320 });
  const parsed = fromEmail === null ? null : parseEmailAddress(fromEmail);
  if (parsed !== null && 'fault' in parsed) config.fault('fromEmail', parsed.fault);
  return {
    previewText: config.text('previewText', { max: 500 }),
    contentText: config.text('contentText', { max: 500_000, oneLine: false }),
    fromEmail,
    fromName: config.text('fromName', { max: 100 }),
    topicKey: config.text('topicKey', { max: MAX_KEY }),
  };
}

function readDelay(config: ConfigReader): DelayConfig | null {
  if (config.has('duration') && config.has('until'))
    return config.fault('until', 'must be left out beside duration');
  if (config.has('until')) {
    const until = readUntil(config);
    return until === null ? null : { until };
  }
  const text = config.required('duration', { max: 100 });
  if (text === null) return null;
  const parsed = parseDuration(text);
  return 'fault' in parsed ? config.fault('duration', parsed.fault) : parsed;
}

function readSplit(config: ConfigReader): NodeConfigs['ab_split'] | null {
  const weights = config.inner('weights', ['a', 'b']);
  if (weights === null) return config.has('weights') ? null : config.fault('weights', 'is required');
  const [a, b] = (['a', 'b'] as const).map((side) => {
    const value = weights.value(side);
    if (value === null) return weights.fault(side, 'is required');
    const isWeight = typeof value === 'number' && value >= 0 && value <= MAX_WEIGHT;
    return isWeight ? value : weights.fault(side, `must be a number from 0 to ${MAX_WEIGHT}`);
  });
  if (a == null || b == null) return null;
  return a + b > 0 ? { weights: { a, b } } : config.fault('weights', 'must not both be 0');
}

function withRules<Rest extends object>(
  config: ConfigReader,
  rest: Rest,
): (Rest & { readonly rules: string }) | null {
  const rules = config.json('rules');
  return rules === null ? null : { ...rest, rules };
}
