import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import { Clock, DomainValidationError, type EmailAddress, NotFoundError, type ProjectScope } from '#kernel';
import { Announcer } from '#platform';
import type { CustomFieldValues } from '../custom-fields/custom-field.js';
import { applyCustomFields, customFieldPaths } from '../custom-fields/custom-field-values.js';
import { CustomFieldsQuery } from '../custom-fields/custom-fields.query.js';
import type { Subscriber, SubscriberFields } from './subscriber.js';
import { SubscriberRepository } from './subscriber.repository.js';

/** What a client may change; a field that is left out stays, null clears it. The same holds for each custom field. */
export type SubscriberPatch = {
  readonly [Field in Exclude<keyof SubscriberFields, 'customFields'>]?: SubscriberFields[Field] | undefined;
} & { readonly customFields?: Readonly<Record<string, unknown>> | undefined };

/** Changes what is known of subscribers. */
@Injectable()
export class SubscribersService {
  constructor(
    @Inject(SubscriberRepository) private readonly subscribers: SubscriberRepository,
    @Inject(CustomFieldsQuery) private readonly definitions: CustomFieldsQuery,
    @Inject(Announcer) private readonly announcer: Announcer,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Throws NotFoundError, DomainValidationError. */
  update(scope: ProjectScope, address: EmailAddress, patch: SubscriberPatch): Promise<Subscriber> {
    return this.subscribers.whileLocked(scope, address.key, async () => {
      const subscriber = await this.subscribers.find(scope, address.key);
      if (subscriber === null) throw new NotFoundError();
      const { customFields: changes = {} } = patch;
      const custom = await this.#customFields(scope, subscriber.customFields, changes);
      refuse(custom.errors);
      const fields = patched(subscriber, patch, custom.values);
      if (fields === null) return subscriber;
      const updated = await this.subscribers.update(scope, subscriber.id, fields, this.clock.now());
      await this.announcer.announce(scope, {
        type: 'subscriber.updated',
        subscriberId: updated.id,
        data: { ...updated },
      });
      return updated;
    });
  }

  /** The values after the changes, and what is wrong with those, by path. */
  async #customFields(
    scope: ProjectScope,
    current: CustomFieldValues,
    changes: Readonly<Record<string, unknown>>,
  ): Promise<CheckedValues> {
    if (Object.keys(changes).length === 0) return { values: current, errors: {} };
    const definitions = await this.definitions.definitionsToWrite(scope);
    return checked(applyCustomFields(definitions, current, changes, 'update'), current);
  }
}

/** Values after some changes, and what is wrong with those, by path. */
interface CheckedValues {
  readonly values: CustomFieldValues;
  readonly errors: Readonly<Record<string, string>>;
}

function checked(result: ReturnType<typeof applyCustomFields>, current: CustomFieldValues): CheckedValues {
  if ('errors' in result) return { values: current, errors: customFieldPaths(result.errors) };
  return { values: result.values, errors: {} };
}

/** The fields after the patch, or null when it changes none. */
function patched(
  current: SubscriberFields,
  patch: SubscriberPatch,
  customFields: CustomFieldValues,
): SubscriberFields | null {
  const { firstName = current.firstName, lastName = current.lastName, phone = current.phone } = patch;
  const isSame =
    firstName === current.firstName &&
    lastName === current.lastName &&
    phone === current.phone &&
    isDeepStrictEqual(customFields, current.customFields);
  return isSame ? null : { firstName, lastName, phone, customFields };
}

function refuse(errors: Readonly<Record<string, string>>): void {
  if (Object.keys(errors).length > 0) throw new DomainValidationError(errors);
}
