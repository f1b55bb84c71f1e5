import { Inject, Injectable, Optional } from '@nestjs/common';
import { Clock, DomainValidationError, InvalidStateError, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { AudienceFeatures, refuseUnlessIncluded } from '../plan/audience-features.js';
import {
  type CustomField,
  type CustomFieldPatch,
  type CustomFieldView,
  MAX_ACTIVE_FIELDS,
} from './custom-field.js';
import { CustomFieldRepository } from './custom-field.repository.js';
import { configFaults, goneOptions } from './custom-field-config.js';
import { CustomFieldsQuery } from './custom-fields.query.js';
import { isReservedKey, systemFieldOf } from './system-fields.js';

/** A new field; by default not required, without default value and options. */
export type NewCustomField = Pick<CustomField, 'key' | 'type' | 'displayName'> & CustomFieldPatch;

/** Creates, changes and archives custom fields. Never changes the values of subscribers. */
@Injectable()
export class CustomFieldsService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CustomFieldRepository) private readonly fields: CustomFieldRepository,
    @Inject(CustomFieldsQuery) private readonly query: CustomFieldsQuery,
    @Inject(Clock) private readonly clock: Clock,
    @Optional() @Inject(AudienceFeatures) private readonly features: AudienceFeatures | undefined,
  ) {}

  /**
   * A new field may reuse the key of an archived one and takes over its values: the type must be the same and no option in
   * use may be missing. Throws DomainValidationError.
   */
  create(scope: ProjectScope, input: NewCustomField): Promise<CustomFieldView> {
    const { key, type, displayName, description = null, isRequired = false } = input;
    const { defaultValue = null, options = [] } = input;
    const field = { key, type, displayName, description, isRequired, defaultValue, options };
    return this.database.transaction(scope, async () => {
      await refuseUnlessIncluded(this.features, scope, 'customFields');
      await this.fields.lockDefinitions(scope);
      refuse({ ...configFaults(field), ...(await this.#keyFaults(scope, field)) });
      await this.fields.put(scope, field, this.clock.now());
      return this.query.byKey(scope, key);
    });
  }

  /** Changes how the field is presented. Throws NotFoundError, InvalidStateError. */
  updateDetails(
    scope: ProjectScope,
    key: string,
    patch: Pick<CustomFieldPatch, 'displayName' | 'description' | 'isRequired'>,
  ): Promise<CustomFieldView> {
    return this.#change(scope, key, (field) => field.change(patch, this.clock.now()));
  }

  /** Changes options and default. Throws NotFoundError, InvalidStateError, and DomainValidationError to keep used options. */
  updateConfig(
    scope: ProjectScope,
    key: string,
    patch: Pick<CustomFieldPatch, 'options' | 'defaultValue'>,
  ): Promise<CustomFieldView> {
    return this.#change(scope, key, async (field) => {
      const { defaultValue = field.defaultValue, options = field.options } = patch;
      const next = { type: field.type, defaultValue, options };
      refuse({ ...configFaults(next), ...(await this.#optionFaults(scope, field, next)) });
      field.change(patch, this.clock.now());
    });
  }

  /** Does nothing when it is archived already. Throws NotFoundError, InvalidStateError. */
  async archive(scope: ProjectScope, key: string): Promise<void> {
    await this.#change(scope, key, (field) => field.archive(this.clock.now()));
  }

  #change(
    scope: ProjectScope,
    key: string,
    change: (field: CustomField) => void | Promise<void>,
  ): Promise<CustomFieldView> {
    return this.database.transaction(scope, async () => {
      await this.fields.lockDefinitions(scope);
      const field = await this.#own(scope, key);
      await change(field);
      await this.database.em.flush();
      return this.query.byKey(scope, key);
    });
  }

  /** A field of the project, not of the system. */
  async #own(scope: ProjectScope, key: string): Promise<CustomField> {
    if (systemFieldOf(key) !== null) {
      throw new InvalidStateError('A system field cannot be changed or archived.', 'SYSTEM', []);
    }
    const field = key.includes('\u0000') ? null : await this.fields.find(scope, key);
    if (field === null) throw new NotFoundError();
    return field;
  }

  async #keyFaults(
    scope: ProjectScope,
    field: Pick<CustomField, 'key' | 'type' | 'options'>,
  ): Promise<Readonly<Record<string, string>>> {
    if (isReservedKey(field.key)) return { key: 'is reserved' };
    const former = await this.fields.find(scope, field.key);
    if (former?.status === 'ACTIVE') return { key: 'is already used by another field' };
    if ((await this.fields.countActive(scope)) >= MAX_ACTIVE_FIELDS) {
      return { key: `would be more than ${MAX_ACTIVE_FIELDS} active fields` };
    }
    if (former === null) return {};
    if (former.type === field.type) return this.#optionFaults(scope, former, field);
    if (!(await this.fields.hasValues(scope, field.key))) return {};
    return { type: `must be ${former.type}: subscribers have values of an archived field with this key` };
  }

  async #optionFaults(
    scope: ProjectScope,
    before: Pick<CustomField, 'key' | 'type' | 'options'>,
    after: Pick<CustomField, 'options'>,
  ): Promise<Readonly<Record<string, string>>> {
    const gone = goneOptions(before.options, after.options);
    const inUse = gone.length === 0 ? [] : await this.fields.optionsInUse(scope, before, gone);
    return inUse.length === 0
      ? {}
      : { options: `must keep ${inUse.join(', ')}: subscribers have these values` };
  }
}

function refuse(errors: Readonly<Record<string, string>>): void {
  if (Object.keys(errors).length > 0) throw new DomainValidationError(errors);
}
