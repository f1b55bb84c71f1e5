import type { CustomFieldType } from '../../../libs/audience/src/custom-fields/custom-field.js';
import { readRules } from '../../../libs/audience/src/rules/rule-reader.js';
import type { KnownField, RuleCatalogue } from '../../../libs/audience/src/rules/rule.js';

const options = (...values: readonly string[]) => values.map((value) => ({ value }));
const known = (type: CustomFieldType, ...values: readonly string[]): KnownField => ({
  type,
  status: 'ACTIVE',
  options: options(...values),
});
/** The catalogue of the specs. */
export const CATALOGUE: RuleCatalogue = {
  topics: new Map([['ACME-1', 'topic']]),
  campaigns: new Map([['ACME-001', 'campaign']]),
  segments: new Map([
    ['ACME-1', { id: 'vips', leadsBack: false, conditions: 1, chain: 1 }],
    ['ACME-2', { id: 'self', leadsBack: true, conditions: 1, chain: 9 }],
    ['ACME-3', { id: 'large', leadsBack: false, conditions: 498, chain: 1 }],
    ['ACME-4', { id: 'long', leadsBack: false, conditions: 1, chain: 6 }],
    ['ACME-5', { id: 'longest', leadsBack: false, conditions: 1, chain: 5 }],
  ]),
  customFields: new Map<string, KnownField>([
    ['note', known('TEXT')],
    ['essay', known('LONG_TEXT')],
    ['work', known('EMAIL')],
    ['page', known('URL')],
    ['fax', known('PHONE')],
    ['age', known('NUMBER')],
    ['score', known('DECIMAL')],
    ['vip', known('BOOLEAN')],
    ['birthday', known('DATE')],
    ['seen', known('DATETIME')],
    ['plan', known('SELECT', 'free', 'Pro', 'pro')],
    ['tags', known('MULTI_SELECT', 'a', 'Ü')],
    ['old', { ...known('TEXT'), status: 'ARCHIVED' }],
  ]),
};

/** Reads rules with this root node. */
export function read(where: unknown, reading: Parameters<typeof readRules>[2] = {}) {
  const result = readRules({ version: 1, where }, CATALOGUE, reading);
  if ('errors' in result) throw new Error(JSON.stringify(result.errors));
  return result.rules;
}
/** The errors in rules with this root node. */
export function errorsOf(where: unknown, reading: Parameters<typeof readRules>[2] = {}) {
  const result = readRules({ version: 1, where }, CATALOGUE, reading);
  return 'errors' in result ? result.errors : {};
}

export const field = (name: string, op: string, value?: unknown) => ({ field: name, op, value });
export const EMAIL = field('email', 'exists');

/** Errors by their path below `path`, in the form of `errorsOf`. */
export function faultsBelow(path: string, faults: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(faults).map(([below, fault]) => [`${path}${below}`, fault]));
}
