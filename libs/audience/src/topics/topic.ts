import { matchLocale, type Metadata, type MetadataPatch, patched, patchedMetadata } from '#kernel';

export const TOPIC_STATUSES = ['ACTIVE', 'INACTIVE', 'ARCHIVED'] as const;
export type TopicStatus = (typeof TOPIC_STATUSES)[number];

export const TOPIC_PRIORITIES = ['URGENT', 'HIGH', 'MEDIUM', 'LOW'] as const;
export type TopicPriority = (typeof TOPIC_PRIORITIES)[number];

/** The preference centre shows a PUBLIC topic to everybody, a PRIVATE one to its subscribers only. */
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
  'optInTemplateKey',
  'translations',
  'metadata',
] as const;

/** Texts in other languages: the keys are locales as `parseLocale` writes them. */
export type TopicTranslations = Readonly<
  Record<string, { readonly name: string; readonly description: string | null }>
>;

/** The settings of a topic. */
export type TopicFields = Pick<Topic, (typeof FIELDS)[number]>;

/** A new topic; by default ACTIVE, PUBLIC and double opt-in. */
export type NewTopic = Pick<TopicFields, 'name'> & TopicPatch;

/** Changes; absent fields stay, and absent keys of metadata. */
export type TopicPatch = {
  readonly [Field in Exclude<keyof TopicFields, 'metadata'>]?: TopicFields[Field] | undefined;
} & { readonly metadata?: MetadataPatch | undefined };

/** A subject of mail that people consent to. */
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
  /** The owner of the address has to confirm a new consent. */
  doubleOptInEnabled = true;
  /** Key of the template that its confirmation mails are made of; null: the installation's mail. */
  optInTemplateKey: string | null = null;
  /** For readers of another language than the topic's own texts. */
  translations: TopicTranslations = {};
  metadata: Metadata = {};
  readonly createdAt: Date;
  updatedAt: Date;
  /** When it was deleted; from then on nobody can find it. */
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

  /** Throws DomainValidationError. */
  change(patch: TopicPatch, now: Date): void {
    const metadata = patchedMetadata(this.metadata, patch.metadata);
    if (patched(this, FIELDS, { ...patch, metadata })) this.updatedAt = now;
  }

  delete(now: Date): void {
    this.deletedAt = now;
    this.updatedAt = now;
  }
}

/** The parts of a topic that granting consent needs. */
export type GrantableTopic = Pick<Topic, 'id' | 'topicKey' | 'status' | 'visibility' | 'doubleOptInEnabled'>;

const TOPIC_KEY = /^[A-Z][A-Z0-9]{1,7}-[1-9]\d{0,18}$/;

/** True for text that can be the key of a topic; other text is not looked up. */
export function isTopicKey(text: string): boolean {
  return TOPIC_KEY.test(text);
}

/** The reason why consent to the topic found under a key cannot be granted; null when it can. */
export function grantFault(topic: Pick<Topic, 'status'> | undefined): string | null {
  if (topic === undefined) return 'is not a known topic';
  if (topic.status === 'ACTIVE') return null;
  return topic.status === 'ARCHIVED' ? 'is an archived topic' : 'is an inactive topic';
}

/** The errors of granting consent to these keys, by their index in `topicKeys`; `topics` are those found. */
export function topicKeyFaults(
  topics: readonly Pick<Topic, 'topicKey' | 'status'>[],
  topicKeys: readonly string[],
): Record<string, string> {
  const byKey = new Map(topics.map((topic) => [topic.topicKey, topic]));
  const faults = topicKeys.map((key, index) => [`topicKeys[${index}]`, grantFault(byKey.get(key))] as const);
  return Object.fromEntries(faults.flatMap(([path, fault]) => (fault === null ? [] : [[path, fault]])));
}

/** The name and description of a topic, and their `translations` by BCP 47 tag. */
export interface TopicTexts {
  readonly name: string;
  readonly description: string | null;
  readonly translations: Readonly<
    Record<string, { readonly name: string; readonly description?: string | null }>
  >;
}

/** The name and description of a topic for readers of a language; its own where it has none in that. */
export function topicIn(
  { name, description, translations }: TopicTexts,
  locale: string,
): { readonly name: string; readonly description: string | null } {
  const best = matchLocale([locale], Object.keys(translations));
  const translation = best === null ? undefined : translations[best];
  if (translation === undefined) return { name, description };
  return { name: translation.name, description: translation.description ?? null };
}

/** The names of topics for readers of a language, in its alphabetical order. */
export function topicNamesIn(topics: readonly TopicTexts[], locale: string): string[] {
  return topics.map((topic) => topicIn(topic, locale).name).sort((a, b) => a.localeCompare(b, locale));
}
