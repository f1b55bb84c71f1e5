import type { PropertyTest } from '#audience';
import { parseEmailAddress } from '#kernel';
import type { AutomationNode, NodeType } from './automation-graph.js';
import { ConfigReader, GraphFaults, isObject, isText } from './config-reader.js';
import { type DelayConfig, readDelay } from './delay.js';
import { readUpdateField, type UpdateFieldConfig } from './update-field.js';
import { readEventName, readWaitFor, readWhere, type WaitForConfig } from './wait-for.js';

export const RE_ENTRIES = ['ONCE', 'AFTER_EXIT', 'ALWAYS'] as const;
/** Limit of a subscriber's runs: one ever, one at a time, or none. */
export type ReEntry = (typeof RE_ENTRIES)[number];

export interface TriggerConfig {
  readonly segmentKey: string | null;
  readonly eventName: string | null;
  /** Conditions on the event's properties. */
  readonly where: readonly PropertyTest[];
  readonly reEntry: ReEntry;
  /** Rules, as JSON text: whom they hold for before a step takes no further one. */
  readonly exitWhen: string | null;
}

export interface EmailConfig {
  /** Null: the template's. */
  readonly subject: string | null;
  readonly previewText: string | null;
  readonly contentJson: string | null;
  readonly contentText: string | null;
  /** The template that its content is from, in place of its own. */
  readonly templateKey: string | null;
  /** Null: the one in use when the run began. */
  readonly templateVersion: number | null;
  readonly fromEmail: string | null;
  readonly fromName: string | null;
  /** Null: the trigger's topic. */
  readonly topicKey: string | null;
}

/** The request of a webhook step. */
export interface WebhookConfig {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The author's own body, JSON; null for the default. */
  readonly body: unknown;
}

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
  readonly update_field: UpdateFieldConfig;
  readonly wait_for: WaitForConfig;
}

type Readers = {
  readonly [Type in NodeType]: {
    readonly members: readonly string[];
    read(config: ConfigReader): NodeConfigs[Type] | null;
  };
};

const MAX_KEY = 40;
const MAX_FIELD = 80;
const MAX_EVENT_NAME = 64;
const MAX_SUBJECT = 500;
const MAX_WEIGHT = 1_000_000;
const MAX_URL = 2_000;
const MAX_HEADERS = 20;
const MAX_BODY = 32 * 1024;
/** RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~\da-z-]{1,100}$/i;
/** Visible ASCII, with spaces inside (RFC 9110 §5.5). */
const HEADER_VALUE = /^[!-~]([ -~]{0,998}[!-~])?$/;
/** Headers that the service sets itself. */
const OURS =
  /^(host|content-.*|connection|transfer-encoding|webhook-.*|user-agent|expect|upgrade|te|trailer|keep-alive|proxy-.*)$/i;

const READERS: Readers = {
  trigger: { members: ['segmentKey', 'eventName', 'where', 'reEntry', 'exitWhen'], read: readTrigger },
  email: {
    members: [
      'subject',
      'previewText',
      'contentJson',
      'contentText',
      'templateKey',
      'templateVersion',
      'fromEmail',
      'fromName',
      'topicKey',
    ],
    read: readEmail,
  },
  delay: { members: ['duration', 'until'], read: readDelay },
  condition: {
    members: ['rules'],
    read: (config) => {
      const rules = config.json('rules');
      return rules === null ? null : { rules };
    },
  },
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
  update_field: { members: ['key', 'value'], read: readUpdateField },
  wait_for: { members: ['event', 'rules', 'timeout'], read: readWaitFor },
};

/** The config of a node; null when it has faults, which are added below `path`. Names are not looked up. */
export function readConfig<Type extends NodeType>(
  node: AutomationNode & { readonly type: Type },
  path: string,
  faults: GraphFaults,
): NodeConfigs[Type] | null {
  const reader: Readers[Type] = READERS[node.type];
  return reader.read(new ConfigReader(node.config, path, faults, reader.members));
}

/** The names and contents in a config, as far as they can be read despite its faults. */
export function namedIn({ config }: AutomationNode) {
  const reader = new ConfigReader(config, '', new GraphFaults(), Object.keys(config));
  return {
    topicKey: reader.text('topicKey', { max: MAX_KEY }),
    segmentKey: reader.text('segmentKey', { max: MAX_KEY }),
    eventName: reader.text('eventName', { max: MAX_EVENT_NAME }),
    rules: reader.json('rules'),
    exitWhen: reader.json('exitWhen'),
    body: reader.value('body'),
    /** The field that an update_field changes, and what to. */
    key: reader.text('key', { max: MAX_FIELD }),
    value: reader.value('value'),
    mail: mailIn(reader),
  };
}

function mailIn(reader: ConfigReader): EmailConfig | null {
  const contentJson = reader.json('contentJson');
  const subject = reader.text('subject', { max: MAX_SUBJECT });
  const mail = { subject, contentJson, ...partsOfMail(reader) };
  return contentJson === null && mail.templateKey === null ? null : mail;
}

function readTrigger(config: ConfigReader): TriggerConfig | null {
  const reEntry = config.has('reEntry') ? config.oneOf('reEntry', RE_ENTRIES) : 'ONCE';
  const segmentKey = config.text('segmentKey', { max: MAX_KEY });
  const eventName = readEventName(config, 'eventName');
  const where = readWhere(config);
  const exitWhen = config.has('exitWhen') ? config.json('exitWhen') : null;
  return reEntry === null || where === null ? null : { segmentKey, eventName, where, reEntry, exitWhen };
}

function readEmail(config: ConfigReader): EmailConfig | null {
  const rest = partsOfMail(config);
  if (config.has('templateKey')) {
    for (const part of ['contentJson', 'contentText'])
      if (config.has(part)) config.fault(part, 'must not be given together with templateKey');
    const subject = config.text('subject', { max: MAX_SUBJECT });
    return rest.templateKey === null ? null : { ...rest, subject, contentJson: null, contentText: null };
  }
  const subject = config.required('subject', { max: MAX_SUBJECT });
  const contentJson = config.json('contentJson');
  return subject === null || contentJson === null ? null : { subject, contentJson, ...rest };
}

function templateVersionIn(config: ConfigReader): number | null {
  const value = config.value('templateVersion');
  if (value === null) return null;
  if (!config.has('templateKey')) return config.fault('templateVersion', 'needs templateKey');
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
    ? value
    : config.fault('templateVersion', 'must be an integer from 1');
}

function partsOfMail(config: ConfigReader): Omit<EmailConfig, 'subject' | 'contentJson'> {
  const fromEmail = config.text('fromEmail', { max: 320 });
  const parsed = fromEmail === null ? null : parseEmailAddress(fromEmail);
  if (parsed !== null && 'fault' in parsed) config.fault('fromEmail', parsed.fault);
  return {
    previewText: config.text('previewText', { max: 500 }),
    contentText: config.text('contentText', { max: 500_000, oneLine: false }),
    templateKey: config.text('templateKey', { max: 100 }),
    templateVersion: templateVersionIn(config),
    fromEmail,
    fromName: config.text('fromName', { max: 100 }),
    topicKey: config.text('topicKey', { max: MAX_KEY }),
  };
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

function readWebhook(config: ConfigReader): WebhookConfig | null {
  const url = readUrl(config);
  const headers = readHeaders(config);
  const body = config.value('body');
  if (Buffer.byteLength(JSON.stringify(body)) > MAX_BODY) config.fault('body', 'must be at most 32 KB');
  return url === null || headers === null ? null : { url, headers, body };
}

function readUrl(config: ConfigReader): string | null {
  const text = config.required('url', { max: MAX_URL });
  if (text === null) return null;
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    return config.fault('url', 'must be an http or https URL');
  if (url.username !== '' || url.password !== '')
    return config.fault('url', 'must not contain a user name or a password');
  return url.href;
}

function readHeaders(config: ConfigReader): Record<string, string> | null {
  const value = config.value('headers') ?? {};
  if (!isObject(value)) return config.fault('headers', 'must be an object');
  const headers = Object.entries(value);
  if (headers.length > MAX_HEADERS)
    return config.fault('headers', `must contain at most ${MAX_HEADERS} entries`);
  return Object.fromEntries(
    headers.flatMap(([name, text]) => {
      const fault = headerFault(name, text);
      if (fault !== null) config.fault(`headers.${name}`, fault);
      return fault === null ? [[name, String(text)]] : [];
    }),
  );
}

function headerFault(name: string, value: unknown): string | null {
  if (!TOKEN.test(name)) return 'is not the name of a header';
  if (OURS.test(name)) return 'is set by the service';
  return isText(value) && HEADER_VALUE.test(value) ? null : 'must be a string of visible ASCII characters';
}
