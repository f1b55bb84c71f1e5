import { Inject, Injectable } from '@nestjs/common';
import { Clock, newId, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { UsageCatalogue } from '../usage/usage-catalogue.js';
import type { TopicFields } from './topic.js';
import { TopicRepository } from './topic.repository.js';
import { TopicsQuery, type TopicView } from './topics.query.js';

/** A new topic: ACTIVE and double opt-in, unless it says otherwise. */
export type NewTopic = Pick<TopicFields, 'name'> & {
  readonly [Field in keyof TopicFields]?: TopicFields[Field] | undefined;
};

/** What changes; a field that is left out stays. */
export type TopicPatch = { readonly [Field in keyof TopicFields]?: TopicFields[Field] | undefined };

/** Makes topics and changes them. A change concerns consents that are granted after it. */
@Injectable()
export class TopicsService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(TopicRepository) private readonly topics: TopicRepository,
    @Inject(TopicsQuery) private readonly query: TopicsQuery,
    @Inject(UsageCatalogue) private readonly usage: UsageCatalogue,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  async create(scope: ProjectScope, input: NewTopic): Promise<TopicView> {
    const fields = {
      name: input.name,
      description: input.description ?? null,
      status: input.status ?? 'ACTIVE',
      visibility: input.visibility ?? 'PUBLIC',
      priority: input.priority ?? null,
      icon: input.icon ?? null,
      doubleOptInEnabled: input.doubleOptInEnabled ?? true,
    };
    const topic = await this.topics.insert(scope, newId(), fields, this.clock.now());
    return { ...topic, subscriberCount: 0, activeSubscriberCount: 0 };
  }

  /** Throws NotFoundError, InUseError. */
  update(scope: ProjectScope, topicKey: string, patch: TopicPatch): Promise<TopicView> {
    return this.database.transaction(scope, async () => {
      const turnsOff = patch.status !== undefined && patch.status !== 'ACTIVE';
      const topic = await this.topics.lock(scope, topicKey, turnsOff ? 'delete' : 'change');
      if (topic === null) throw new NotFoundError();
      if (turnsOff && topic.status === 'ACTIVE') await this.usage.refuseIfNeeded('topic', scope, topic.id);
      const fields = patched(topic, patch);
      if (fields !== null) await this.topics.update(scope, topic.id, fields, this.clock.now());
      return this.query.byKey(scope, topicKey);
    });
  }
}

/** The fields after the patch, or null when it changes none. */
function patched(current: TopicFields, patch: TopicPatch): TopicFields | null {
  const {
    name = current.name,
    description = current.description,
    status = current.status,
    visibility = current.visibility,
    priority = current.priority,
    icon = current.icon,
    doubleOptInEnabled = current.doubleOptInEnabled,
  } = patch;
  const next: TopicFields = { name, description, status, visibility, priority, icon, doubleOptInEnabled };
  const fields = [
    'name',
    'description',
    'status',
    'visibility',
    'priority',
    'icon',
    'doubleOptInEnabled',
  ] as const;
  return fields.every((field) => next[field] === current[field]) ? null : next;
}
