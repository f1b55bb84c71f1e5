import { Injectable } from '@nestjs/common';
import { Clock, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { UsageCatalogue } from '../usage/usage-catalogue.service.js';
import type { NewTopic, TopicPatch } from './topic.js';
import { TopicRepository } from './topic.repository.js';
import { TopicsQuery, type TopicView } from './topics.query.js';

/** Creates and changes topics. A change applies to consents granted after it. */
@Injectable()
export class TopicsService {
  constructor(
    private readonly database: Database,
    private readonly topics: TopicRepository,
    private readonly query: TopicsQuery,
    private readonly usage: UsageCatalogue,
    private readonly clock: Clock,
  ) {}

  create(scope: ProjectScope, input: NewTopic): Promise<TopicView> {
    return this.database.transaction(scope, async () => {
      const { topicKey } = await this.topics.add(scope, input, this.clock.now());
      return this.query.byKey(scope, topicKey);
    });
  }

  /** Throws NotFoundError, InUseError. */
  update(scope: ProjectScope, topicKey: string, patch: TopicPatch): Promise<TopicView> {
    return this.database.transaction(scope, async () => {
      const turnsOff = patch.status !== undefined && patch.status !== 'ACTIVE';
      if (turnsOff) await this.usage.close(scope);
      const topic = await this.topics.lock(scope, topicKey, turnsOff ? 'delete' : 'change');
      if (topic === null) throw new NotFoundError();
      if (turnsOff && topic.status === 'ACTIVE')
        await this.usage.refuseIfNeededActive(scope, 'The topic', { kind: 'topic', ids: [topic.id] });
      topic.change(patch, this.clock.now());
      await this.database.em.flush();
      return this.query.byKey(scope, topicKey);
    });
  }
}
