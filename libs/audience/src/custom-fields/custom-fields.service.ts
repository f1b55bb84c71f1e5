import { Inject, Injectable, Optional } from '@nestjs/common';
import { Clock, DomainValidationError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { AudiencePlan, refuseUnlessIncluded } from '../audience-plan.query.js';
import { UsageCatalogueService } from '../usage-catalogue.service.js';
import { parseCustomFieldValue } from './custom-field-value.js';
import {
  type CustomField,
  type CustomFieldPatch,
  type CustomFieldView,
  goneOptions,
  hasOptions,
  isReservedKey,
  MAX_ACTIVE_FIELDS,
} from './custom-field.js';
import { CustomFieldRepository, CustomFieldsQuery } from './custom-field.repository.js';

/** A new field; by default not required, without default value and options. */
export type NewCustomField = Pick<CustomField, 'key' | 'type' | 'displayName'> & CustomFieldPatch;

/** Creates, changes and archives custom fields. Never changes the values of subscribers. */
@Injectable()
export class CustomFieldsService {
  constructor(
    private readonly database: Database,
    private readonly fields: CustomFieldRepository,
    private readonly query: CustomFieldsQuery,
    private readonly usage: UsageCatalogueService,
    private readonly clock: Clock,
    @Optional() @Inject(AudiencePlan) private readonly plan: AudiencePlan | undefined,
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
      await refuseUnlessIncluded(this.plan, scope, 'customFields');
      await this.fields.lockDefinitions(scope);
      refuseFaults({ ...configFaults(field), ...(await this.#keyFaults(scope, field)) });
      await this.fields.put(scope, field, this.clock.now());
      return this.query.byKey(scope, key);
    });
  }

  /** Changes the presentation of a field. Throws NotFoundError, InvalidStateError. */
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

  /**
   * Changes options and default. Throws NotFoundError, InvalidStateError, DomainValidationError to keep options that
   * subscribers have, and InUseError to keep
   * options that rules name, and a default that merge tags show.
   */
  updateConfig(
    scope: ProjectScope,
    key: string,
    patch: Pick<CustomFieldPatch, 'options' | 'defaultValue'>,
  ): Promise<CustomFieldView> {
    return this.database.transaction(scope, async () => {
      await this.usage.close(scope);
      await this.fields.lockDefinitions(scope);
      const field = await this.fields.own(scope, key);
      const { defaultValue = field.defaultValue, options = field.options } = patch;
      const next = { type: field.type, defaultValue, options };
      refuseFaults({ ...configFaults(next), ...(await this.fields.optionFaults(scope, field, next)) });
      const gone = goneOptions(field.options, options);
      const what = gone.length === 1 ? `The option ${gone[0]}` : `One of the options ${gone.join(', ')}`;
      if (gone.length > 0) await this.usage.refuseIfUsed(scope, what, { kind: 'option', key, values: gone });
      if (showsSomething(field.defaultValue) && !showsSomething(defaultValue))
        await this.usage.refuseIfUsed(scope, `The default of ${key}`, {
          kind: 'default of a custom field',
          key,
        });
      field.change(patch, this.clock.now());
      await this.database.em.flush();
      return this.query.byKey(scope, key);
    });
  }

  /** Does nothing when it is archived already. Throws NotFoundError, InvalidStateError, InUseError. */
  archive(scope: ProjectScope, key: string): Promise<void> {
    return this.database.transaction(scope, async () => {
      await this.usage.close(scope);
      const field = await this.fields.own(scope, key);
      if (field.status === 'ARCHIVED') return;
      await this.usage.refuseIfUsed(scope, 'The custom field', { kind: 'custom field', key });
      // Writers of values wait for this lock, but not for the look at all content before.
      await this.fields.lockDefinitions(scope);
      field.archive(this.clock.now());
      await this.database.em.flush();
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

/** The errors in the options and default of a field, by `options` and `defaultValue`. */
function configFaults(
  field: Pick<CustomField, 'type' | 'options' | 'defaultValue'>,
): Readonly<Record<string, string>> {
  const options = optionsFault(field);
  if (options !== null) return { options };
  if (field.defaultValue === null) return {};
  const parsed = parseCustomFieldValue(field, field.defaultValue);
  return 'fault' in parsed ? { defaultValue: parsed.fault } : {};
}

/** The error in the number of options for a type, or null. */
function optionsFault({ type, options }: Pick<CustomField, 'type' | 'options'>): string | null {
  if (hasOptions(type)) return options.length === 0 ? `must have at least 1 item for ${type}` : null;
  return options.length === 0 ? null : `must be empty for ${type}`;
}

function refuseFaults(errors: Readonly<Record<string, string>>): void {
  if (Object.keys(errors).length > 0) throw new DomainValidationError(errors);
}

/** Merge tags show an empty text like none. */
const showsSomething = (defaultValue: string | null): boolean => (defaultValue ?? '').trim() !== '';
