import type { EntitySchemaWithMeta, InferKyselyTable } from '@mikro-orm/postgresql';
import { CamelCasePlugin } from 'kysely';

/**
 * The tables of entities, for typed SQL: `Tables<'billing', typeof PlanSchema | typeof InvoiceSchema>` has
 * `billing.invoices` and so on, with columns by the names of the entities' properties. A context adds those of its tables
 * that have no class, and exports them all as one type.
 */
export type Tables<Schema extends string, Entities extends EntitySchemaWithMeta> = {
  [Entity in Entities as `${Schema}.${Entity['tableName']}`]: InferKyselyTable<
    Entity,
    { columnNamingStrategy: 'property' }
  >;
};

/** Columns are in camelCase in TypeScript, also in the rows of a template; what is inside of JSON stays as it is. */
export const camelCaseColumns = new CamelCasePlugin({ maintainNestedObjectKeys: true });
