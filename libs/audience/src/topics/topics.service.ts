import { Inject, Injectable, type OnModuleInit, Optional } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, NotFoundError, type ProjectScope, type UserKind } from '#kernel';
import {
  Database,
  doneUnlessAborted,
  enqueue,
  type JobContext,
  type JobResult,
  jobType,
  ResumableJob,
} from '#platform';
import { consentProof } from '../consents/consent.js';
import { ConsentRepository, OptInMails } from '../consents/consent.repository.js';
import {
  type Use,
  UsageCatalogueService,
  type UsedThings,
  type UserSource,
} from '../usage-catalogue.service.js';
import type { NewTopic, TopicPatch } from './topic.js';
import { TopicRepository } from './topic.repository.js';
import { TopicsQuery, type TopicView } from './topics.query.js';

/** Removes the remaining consents to a deleted topic. `apiKeyId`: the key of the request. */
export const removeTopicConsents = jobType<{ topicId: string; apiKeyId: string | null }>(
  'topics.remove_consents',
  'erasures',
);
type DeletedTopic = Parameters<typeof removeTopicConsents>[0];

/** Consents that a transaction removes with their topic. */
const CHUNK = 1_000;

/** Creates, changes and deletes topics. A change applies to consents granted after it. */
@Injectable()
export class TopicsService implements UserSource, OnModuleInit {
  readonly users: UserKind = 'topic';

  constructor(
    private readonly database: Database,
    private readonly topics: TopicRepository,
    private readonly query: TopicsQuery,
    private readonly usage: UsageCatalogueService,
    private readonly consents: ConsentRepository,
    private readonly clock: Clock,
    @Optional() @Inject(OptInMails) private readonly optInMails: OptInMails | undefined,
  ) {}

  onModuleInit(): void {
    this.usage.register(this);
  }

  create(scope: ProjectScope, input: NewTopic): Promise<TopicView> {
    return this.database.transaction(scope, async () => {
      const wanted = await this.#withTemplate(scope, input);
      const { topicKey } = await this.topics.add(scope, wanted, this.clock.now());
      return this.query.byKey(scope, topicKey);
    });
  }

  /** Throws NotFoundError, InUseError, DomainValidationError. */
  update(scope: ProjectScope, topicKey: string, patch: TopicPatch): Promise<TopicView> {
    return this.database.transaction(scope, async () => {
      const turnsOff = patch.status !== undefined && patch.status !== 'ACTIVE';
      if (turnsOff) await this.usage.close(scope);
      const changes = await this.#withTemplate(scope, patch);
      const topic = await this.topics.lock(scope, topicKey, turnsOff ? 'delete' : 'change');
      if (topic === null) throw new NotFoundError();
      if (turnsOff && topic.status === 'ACTIVE')
        await this.usage.refuseIfNeededActive(scope, 'The topic', { kind: 'topic', ids: [topic.id] });
      topic.change(changes, this.clock.now());
      await this.database.em.flush();
      return this.query.byKey(scope, topicKey);
    });
  }

  /**
   * Deletes a topic at once, and its consents in chunks, one transaction each: the first here, the others by the job for
   * `removeTopicConsents`. The consent record stays and includes each revocation. Throws NotFoundError, InUseError.
   */
  async delete(scope: ProjectScope, topicKey: string, apiKeyId: string | null): Promise<void> {
    const topicId = await this.database.transaction(scope, async () => {
      await this.usage.close(scope);
      const topic = await this.topics.lock(scope, topicKey, 'delete');
      if (topic === null) throw new NotFoundError();
      await this.usage.refuseIfUsed(scope, 'The topic', { kind: 'topic', ids: [topic.id] });
      topic.delete(this.clock.now());
      await this.database.em.flush();
      await enqueue(this.database, scope, removeTopicConsents({ topicId: topic.id, apiKeyId }));
      return topic.id;
    });
    // After releasing the lock of the topic: granting consent locks the subscriber first.
    await this.removeConsents(scope, { topicId, apiKeyId });
  }

  @ResumableJob(removeTopicConsents)
  async removeAllConsents(
    scope: ProjectScope,
    deletion: DeletedTopic,
    { signal }: JobContext,
  ): Promise<JobResult> {
    while (!signal.aborted && (await this.removeConsents(scope, deletion)));
    return doneUnlessAborted(signal);
  }

  /** Removes a chunk of the consents to a deleted topic; false when none is left. */
  removeConsents(scope: ProjectScope, { topicId, apiKeyId }: DeletedTopic): Promise<boolean> {
    const proof = consentProof('API_KEY', apiKeyId, { source: 'topic-deleted' });
    return this.database.transaction(scope, async () => {
      const subscriberIds = await this.#lockSubscribers(scope, topicId);
      await this.consents.remove(scope, subscriberIds, topicId, proof);
      return subscriberIds.length === CHUNK;
    });
  }

  /** Topics that name a template. */
  async usesOf({ environmentId }: ProjectScope, things: UsedThings): Promise<readonly Use[]> {
    if (things.kind !== 'template') return [];
    const { templateKey } = things;
    const { rows } = await sql<Use>`
      select 'topic' as kind, t.topic_key as key, t.name, ${templateKey}::text as of from audience.topics t
      where t.environment_id = ${environmentId} and t.opt_in_template_key = ${templateKey} and t.deleted_at is null
      order by t.created_at, t.id
    `.execute(this.database.tables());
    return rows;
  }

  /** The key of the template that is named by its key or alias, which stays until the transaction ends. */
  async #withTemplate<Wanted extends TopicPatch>(scope: ProjectScope, wanted: Wanted): Promise<Wanted> {
    if (wanted.optInTemplateKey == null) return wanted;
    if (this.optInMails === undefined) throw new Error('This program asks nobody to confirm.');
    await this.usage.hold(scope);
    return { ...wanted, optInTemplateKey: await this.optInMails.templateKey(scope, wanted.optInTemplateKey) };
  }

  async #lockSubscribers(scope: ProjectScope, topicId: string): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select b.id from audience.subscribers b
      where b.environment_id = ${scope.environmentId} and b.id = any(array(
        select c.subscriber_id from audience.consents c
        where c.environment_id = ${scope.environmentId} and c.topic_id = ${topicId}
          and (select t.deleted_at is not null from audience.topics t
            where t.environment_id = ${scope.environmentId} and t.id = ${topicId})
        limit ${CHUNK}
      ))
      order by b.id for update
    `.execute(this.database.tables());
    return rows.map(({ id }) => id);
  }
}
