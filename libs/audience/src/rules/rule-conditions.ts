import { CONSENT_STATUSES } from '../consents/consent.js';
import { readPropertyTests } from './event-properties.js';
import { type JsonObject, member, readDuration, readMoment, type RuleFaults } from './rule-faults.js';
import {
  type ConsentCondition,
  type EventCondition,
  type EventSubject,
  MAIL_ACTIVITIES,
  type MailActivity,
  MAX_NESTED_SEGMENTS,
  type RuleCatalogue,
  type SegmentCondition,
} from './rule.js';

export interface RuleReading {
  readonly catalogue: RuleCatalogue;
  readonly faults: RuleFaults;
  /** The rules were accepted before: a thing that they name may be deleted since, and then matches nobody. */
  readonly stored: boolean;
}

const EVENT_NAME = /^[a-z][a-z0-9_.]{0,63}$/;
const MAX_URL = 2_048;
const MAX_COUNT = 1_000_000;

/** Reads `{"consent":{"topicKey":K,"status":[…],"within"?:D}}`. */
export function readConsent(
  condition: JsonObject,
  path: string,
  reading: RuleReading,
): ConsentCondition | null {
  const { faults, catalogue } = reading;
  faults.onlyMembers(condition, ['consent'], path);
  const inner = `${path}.consent`;
  const consent = faults.object(member(condition, 'consent'), inner);
  if (consent === null) return null;
  faults.onlyMembers(consent, ['topicKey', 'status', 'within'], inner);
  const topicId = readKey(consent, 'topicKey', inner, { known: catalogue.topics, what: 'topic' }, reading);
  const statuses = faults.list(member(consent, 'status'), `${inner}.status`, (status, at) =>
    faults.oneOf(status, CONSENT_STATUSES, at),
  );
  const within = optional(consent, 'within', (value) => readDuration(value, `${inner}.within`, faults));
  if (topicId === undefined || statuses === null) return null;
  return { kind: 'consent', topicId, statuses, within };
}

/** Reads `{"segment":{"segmentKey":K,"member":true|false}}`. */
export function readSegment(
  condition: JsonObject,
  path: string,
  reading: RuleReading,
): SegmentCondition | null {
  const { faults, catalogue } = reading;
  faults.onlyMembers(condition, ['segment'], path);
  const inner = `${path}.segment`;
  const segment = faults.object(member(condition, 'segment'), inner);
  if (segment === null) return null;
  faults.onlyMembers(segment, ['segmentKey', 'member'], inner);
  const ids = new Map([...catalogue.segments].map(([key, { id }]) => [key, id]));
  const segmentId = readKey(segment, 'segmentKey', inner, { known: ids, what: 'segment' }, reading);
  const known = catalogue.segments.get(String(member(segment, 'segmentKey')));
  if (known?.leadsBack === true) faults.add(`${inner}.segmentKey`, 'would make the segment depend on itself');
  else if (known !== undefined && known.chain > MAX_NESTED_SEGMENTS && !reading.stored) {
    faults.add(`${inner}.segmentKey`, `must not nest segments more than ${MAX_NESTED_SEGMENTS} levels deep`);
  }
  const isMember = member(segment, 'member');
  if (typeof isMember !== 'boolean') {
    return faults.add(`${inner}.member`, isMember === undefined ? 'is required' : 'must be true or false');
  }
  return segmentId === undefined ? null : { kind: 'segment', segmentId, member: isMember };
}

/** Reads `{"event":{…},"count":{…},"within"|"after"|"before"}`. */
export function readEvent(condition: JsonObject, path: string, reading: RuleReading): EventCondition | null {
  const { faults } = reading;
  faults.onlyMembers(condition, ['event', 'count', 'within', 'after', 'before'], path);
  const event = readSubject(condition, `${path}.event`, reading);
  const count = readCount(condition, `${path}.count`, faults);
  const within = optional(condition, 'within', (value) => readDuration(value, `${path}.within`, faults));
  const after = optional(condition, 'after', (value) => readMoment(value, `${path}.after`, faults));
  const before = optional(condition, 'before', (value) => readMoment(value, `${path}.before`, faults));
  if (within !== null && (after !== null || before !== null)) {
    faults.add(`${path}.within`, 'must not be used together with after or before');
  }
  if (after !== null && before !== null && after >= before)
    faults.add(`${path}.before`, 'must be later than after');
  return event === null || count === null ? null : { kind: 'event', event, count, within, after, before };
}

function readSubject(condition: JsonObject, path: string, reading: RuleReading): EventSubject | null {
  const { faults } = reading;
  const event = faults.object(member(condition, 'event'), path);
  if (event === null) return null;
  faults.onlyMembers(event, ['type', 'campaignKey', 'topicKey', 'url', 'name', 'where'], path);
  const type = faults.oneOf(member(event, 'type'), [...MAIL_ACTIVITIES, 'CUSTOM'], `${path}.type`);
  if (type === null) return null;
  if (type !== 'CUSTOM') return readMails(type, event, path, reading);
  refuse(event, ['campaignKey', 'topicKey', 'url'], path, 'must not be used with CUSTOM', faults);
  const name = optional(event, 'name', (value) => faults.string(value, `${path}.name`));
  if (name !== null && !EVENT_NAME.test(name))
    return faults.add(`${path}.name`, 'does not have the form of an event name');
  const where = isGiven(event, 'where')
    ? readPropertyTests(member(event, 'where'), `${path}.where`, faults)
    : [];
  return where === null ? null : { type, name, where };
}

function readMails(
  type: MailActivity,
  event: JsonObject,
  path: string,
  reading: RuleReading,
): EventSubject | null {
  const { faults, catalogue } = reading;
  refuse(event, ['name', 'where'], path, 'must only be used with CUSTOM', faults);
  if (type !== 'CLICKED') refuse(event, ['url'], path, 'must only be used with CLICKED', faults);
  const campaigns = { known: catalogue.campaigns, what: 'campaign' };
  const topics = { known: catalogue.topics, what: 'topic' };
  const campaignId = isGiven(event, 'campaignKey')
    ? readKey(event, 'campaignKey', path, campaigns, reading)
    : undefined;
  const topicId = isGiven(event, 'topicKey') ? readKey(event, 'topicKey', path, topics, reading) : undefined;
  const url = optional(event, 'url', (value) => faults.string(value, `${path}.url`));
  if (url !== null && url.length > MAX_URL)
    faults.add(`${path}.url`, `must be at most ${MAX_URL} characters`);
  return {
    type,
    mails: {
      ...(campaignId === undefined ? {} : { campaignId }),
      ...(topicId === undefined ? {} : { topicId }),
      ...(url === null ? {} : { url: trackedUrl(url) }),
    },
  };
}

/** A link as reports have it: other than ASCII encoded, as it travels. */
const trackedUrl = (url: string): string =>
  /^[\u0021-\u007e]*$/.test(url) || !URL.canParse(url) ? url : new URL(url).href;

function readCount(condition: JsonObject, path: string, faults: RuleFaults): EventCondition['count'] | null {
  const count = faults.object(member(condition, 'count'), path);
  if (count === null) return null;
  faults.onlyMembers(count, ['op', 'value'], path);
  const op = faults.oneOf(member(count, 'op'), ['gte', 'lte', 'eq'] as const, `${path}.op`);
  const value = faults.number(member(count, 'value'), `${path}.value`);
  if (value !== null && !(Number.isInteger(value) && value >= 0 && value <= MAX_COUNT)) {
    return faults.add(`${path}.value`, `must be an integer from 0 to ${MAX_COUNT}`);
  }
  return op === null || value === null ? null : { op, value };
}

/** The id of a key; null when stored rules name something deleted, undefined with an error. */
function readKey(
  object: JsonObject,
  name: string,
  path: string,
  { known, what }: { readonly known: ReadonlyMap<string, string>; readonly what: string },
  { faults, stored }: RuleReading,
): string | null | undefined {
  const key = faults.string(member(object, name), `${path}.${name}`);
  if (key === null) return undefined;
  const id = known.get(key);
  if (id !== undefined) return id;
  if (stored) return null;
  faults.add(`${path}.${name}`, `is not a known ${what}`);
  return undefined;
}

function isGiven(object: JsonObject, name: string): boolean {
  return member(object, name) !== undefined;
}

function optional<T>(object: JsonObject, name: string, read: (value: unknown) => T | null): T | null {
  const value = member(object, name);
  return value === undefined ? null : read(value);
}

function refuse(
  object: JsonObject,
  names: readonly string[],
  path: string,
  fault: string,
  faults: RuleFaults,
): void {
  for (const name of names) if (isGiven(object, name)) faults.add(`${path}.${name}`, fault);
}
