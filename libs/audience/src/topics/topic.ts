import { patched } from '../patched.js';

export const TOPIC_STATUSES = ['ACTIVE', 'INACTIVE', 'ARCHIVED'] as const;
export type TopicStatus = (typeof TOPIC_STATUSES)[number];

export const TOPIC_PRIORITIES = ['URGENT', 'HIGH', 'MEDIUM', 'LOW'] as const;
export type TopicPriority = (typeof TOPIC_PRIORITIES)[number];

/** Whether the preference centre offers it to everybody, or shows it to those alone who are in it. */
export const TOPIC_VISIBILITIES = ['PUBLIC', 'PRIVATE'] as const;
export type TopicVisibility = (typeof TOPIC_VISIBILITIES)[number];

const FIELDS = [
  'name',
  'description',
  'status',
  'visibility',
  'priority',
  'icon',
  'doubleOptInEnabled',
] as const;

/** What the author of a topic decides. */
export type TopicFields = Pick<Topic, (typeof FIELDS)[number]>;

/** A new topic: ACTIVE, PUBLIC and double opt-in, unless it says otherwise. */
export type NewTopic = Pick<TopicFields, 'name'> & TopicPatch;

/** What changes; a field that is left out stays. */
export type TopicPatch = { readonly [Field in keyof TopicFields]?: TopicFields[Field] | undefined };

/** What people subscribe to. */
export class Topic {
  readonly id: string;
  readonly environmentId: number;
  readonly topicKey: string;
  name: string;
  description: string | null = null;
  status: TopicStatus = 'ACTIVE';
  visibility: TopicVisibility = 'PUBLIC';
  priority: TopicPriority | null = null;
  icon: string | null = null;
  /** Whether a new consent waits for the owner of the address to confirm it. */
  doubleOptInEnabled = true;
  readonly createdAt: Date;
  updatedAt: Date;
  /** From then on it is not there for anybody. */
  deletedAt: Date | null = null;

  constructor(
    { id, environmentId, topicKey }: Pick<Topic, 'id' | 'environmentId' | 'topicKey'>,
    wanted: NewTopic,
    now: Date,
  ) {
    this.id = id;
    this.environmentId = environmentId;
    this.topicKey = topicKey;
    this.name = wanted.name;
    this.createdAt = now;
    this.updatedAt = now;
    this.change(wanted, now);
  }

  change(patch: TopicPatch, now: Date): void {
    if (patched(this, FIELDS, patch)) this.updatedAt = now;
  }

  delete(now: Date): void {
    this.deletedAt = now;
    this.updatedAt = now;
  }
}

/** What a consent to it is granted by. */
export type GrantableTopic = Pick<Topic, 'id' | 'topicKey' | 'status' | 'visibility' | 'doubleOptInEnabled'>;

const TOPIC_KEY = /^[A-Z][A-Z0-9]{1,7}-[1-9]\d{0,18}$/;

/** Whether a topic can have this key at all: what can't is not looked up. */
export function isTopicKey(text: string): boolean {
  return TOPIC_KEY.test(text);
}

/** Why consent cannot be granted to what was found under a key, or null when it can. */
export function grantFault(topic: Pick<Topic, 'status'> | undefined): string | null {
  if (topic === undefined) return 'is not a known topic';
  if (topic.status === 'ACTIVE') return null;
  return topic.status === 'ARCHIVED' ? 'is an archived topic' : 'is an inactive topic';
}

/** What keeps consent from being granted to these keys, by their place in `topicKeys`; `topics` are those found. */
export function topicKeyFaults(
  topics: readonly Pick<Topic, 'topicKey' | 'status'>[],
  topicKeys: readonly string[],
): Record<string, string> {
  const byKey = new Map(topics.map((topic) => [topic.topicKey, topic]));
  const faults = topicKeys.map((key, index) => [`topicKeys[${index}]`, grantFault(byKey.get(key))] as const);
  return Object.fromEntries(faults.flatMap(([path, fault]) => (fault === null ? [] : [[path, fault]])));
}
