import { Inject, Injectable, Optional } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { AudienceFeatures, refuseUnlessIncluded } from '../audience-plan.module.js';
import {
  type CustomField,
  type CustomFieldPatch,
  type CustomFieldView,
  MAX_ACTIVE_FIELDS,
} from './custom-field.js';
import { CustomFieldRepository } from './custom-field.repository.js';
import { configFaults, refuseFaults } from './custom-field-config.js';
import { CustomFieldsQuery } from './custom-fields.query.js';
import { isReservedKey } from './system-fields.js';

/** A new field; by default not required, without default value and options. */
export type NewCustomField = Pick<CustomField, 'key' | 'type' | 'displayName'> & CustomFieldPatch;

/** Creates custom fields and changes how they are presented. Never changes the values of subscribers. */
@Injectable()
export class CustomFieldsService {
  constructor(
    private readonly database: Database,
    private readonly fields: CustomFieldRepository,
    private readonly query: CustomFieldsQuery,
    private readonly clock: Clock,
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
      refuseFaults({ ...configFaults(field), ...(await this.#keyFaults(scope, field)) });
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
    return this.database.transaction(scope, async () => {
      await this.fields.lockDefinitions(scope);
      (await this.fields.own(scope, key)).change(patch, this.clock.now());
      await this.database.em.flush();
      return this.query.byKey(scope, key);
    });
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
    if (former.type === field.type) return this.fields.optionFaults(scope, former, field);
    if (!(await this.fields.hasValues(scope, field.key))) return {};
    return { type: `must be ${former.type}: subscribers have values of an archived field with this key` };
  }
}
