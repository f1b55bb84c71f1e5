import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { UsageCatalogue } from '../usage-catalogue.service.js';
import type { CustomFieldPatch, CustomFieldView } from './custom-field.js';
import { CustomFieldRepository } from './custom-field.repository.js';
import { configFaults, goneOptions, refuseFaults } from './custom-field-config.js';
import { CustomFieldsQuery } from './custom-fields.query.js';

/** Takes away what nothing uses: options, defaults, and custom fields by archiving them. Never changes the values of subscribers. */
@Injectable()
export class CustomFieldRemovalService {
  constructor(
    private readonly database: Database,
    private readonly fields: CustomFieldRepository,
    private readonly query: CustomFieldsQuery,
    private readonly usage: UsageCatalogue,
    private readonly clock: Clock,
  ) {}

  /**
   * Changes options and default. Throws NotFoundError, InvalidStateError, DomainValidationError to keep options that
   * subscribers have, and InUseError to keep those that rules name, and a default that merge tags show.
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
}

/** Merge tags show an empty text like none. */
const showsSomething = (defaultValue: string | null): boolean => (defaultValue ?? '').trim() !== '';
