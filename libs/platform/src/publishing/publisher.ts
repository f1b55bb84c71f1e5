import type { RawBuilder } from 'kysely';
import type { PublishedEventType, ProjectScope } from '#kernel';

/** Something that happened and that programs outside may listen to. */
export interface PublishedEvent {
  readonly type: PublishedEventType;
  /** Subscriber that it is about: erasing the person erases `data`. */
  readonly subscriberId?: string | null;
  /** As the API shows such things: names in camelCase, times as ISO 8601. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** Publishes events of the contexts, which do not know who listens. */
export abstract class Publisher {
  /** False where nobody listens, so that nothing needs to be gathered. As of a few seconds ago. */
  abstract hasListeners(scope: Pick<ProjectScope, 'environmentId'>, type: PublishedEventType): boolean;

  /** Writes the events in the caller's transaction. */
  abstract publish(scope: ProjectScope, ...events: readonly PublishedEvent[]): Promise<void>;

  /**
   * Publishes many events of an environment in the open transaction: `rows` is a query of `subscriber_id`, `data` (jsonb) and
   * `traceparent` that names it. Null: the trace of the transaction.
   */
  abstract publishRows(
    scope: Pick<ProjectScope, 'environmentId'>,
    type: PublishedEventType,
    rows: RawBuilder<unknown>,
  ): Promise<void>;

  /** The same for rows that bring the `id` of their event, which is published once. */
  abstract publishOnce(
    scope: Pick<ProjectScope, 'environmentId'>,
    type: PublishedEventType,
    rows: RawBuilder<unknown>,
  ): Promise<void>;
}

/** Publishes nothing: for commands, and for tests of one context. */
export class SilentPublisher extends Publisher {
  override hasListeners(): boolean {
    return false;
  }

  override async publish(): Promise<void> {}

  override async publishRows(): Promise<void> {}

  override async publishOnce(): Promise<void> {}
}
