import { Injectable } from '@nestjs/common';
import { Clock, DomainValidationError, type ProjectScope } from '#kernel';
import { Publisher } from '#platform';
import type { CustomFieldValues } from '../custom-fields/custom-field.js';
import { applyCustomFields, customFieldPaths } from '../custom-fields/custom-field-values.js';
import { CustomFieldsQuery } from '../custom-fields/custom-field.repository.js';
import type { ChangedBy } from './field-changes.service.js';
import type { SubscriberPatch, SubscriberRef, SubscriberView } from './subscriber.js';
import { SubscriberRepository } from './subscriber.repository.js';

/** Changes subscribers. */
@Injectable()
export class SubscribersService {
  constructor(
    private readonly subscribers: SubscriberRepository,
    private readonly definitions: CustomFieldsQuery,
    private readonly publisher: Publisher,
    private readonly clock: Clock,
  ) {}

  /** `isMoved`: the address changed before. Throws NotFoundError, DomainValidationError, SubscriberExistsError. */
  update(
    scope: ProjectScope,
    ref: SubscriberRef,
    patch: SubscriberPatch,
    by: ChangedBy,
    isMoved = false,
  ): Promise<SubscriberView> {
    return this.subscribers.edit(scope, ref, by, async (subscriber) => {
      const customFields = await this.#customFields(scope, subscriber.customFields, patch.customFields);
      const isChanged = subscriber.edit(patch, customFields, this.clock.now());
      const data = subscriber.toView();
      if (isChanged || isMoved)
        await this.publisher.publish(scope, { type: 'subscriber.updated', subscriberId: data.id, data });
      return data;
    });
  }

  /** The values after the changes. Throws DomainValidationError. */
  async #customFields(
    scope: ProjectScope,
    current: CustomFieldValues,
    changes: Readonly<Record<string, unknown>> = {},
  ): Promise<CustomFieldValues> {
    if (Object.keys(changes).length === 0) return current;
    const definitions = await this.definitions.definitionsToWrite(scope);
    const custom = applyCustomFields(definitions, current, changes, 'update');
    if ('errors' in custom) throw new DomainValidationError(customFieldPaths(custom.errors));
    return custom.values;
  }
}
