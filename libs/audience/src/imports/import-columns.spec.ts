import { describe, expect, it } from '@jest/globals';
import type { CustomFieldDefinition } from '../custom-fields/custom-field.js';
import { chooseColumns, SYSTEM_COLUMNS } from './import-columns.js';

const field = (key: string): CustomFieldDefinition => ({
  key,
  type: 'TEXT',
  displayName: key,
  isRequired: false,
  defaultValue: null,
  options: [],
  status: 'ACTIVE',
});

const choose = (names: readonly string[], mapping = {}) =>
  chooseColumns(
    names,
    { columns: SYSTEM_COLUMNS, mapping, definitions: [field('plan'), field('first_seen')] },
    (index) => `columns[${index}]`,
  );

describe('the columns of an import', () => {
  it.each([
    ['email', 'email'],
    ['E-Mail', 'email'],
    [' Email ', 'email'],
    ['firstName', 'firstName'],
    ['first_name', 'firstName'],
    ['First name', 'firstName'],
    ['LASTNAME', 'lastName'],
    ['phone', 'phone'],
    ['Locale', 'locale'],
    ['time_zone', 'timeZone'],
    ['plan', 'customFields.plan'],
    ['customFields.plan', 'customFields.plan'],
    ['first_seen', 'customFields.first_seen'],
  ])('takes %j for %s', (name, target) => {
    expect(choose([name])).toEqual({ targets: [target], faults: {}, unknown: {} });
  });

  it('takes `locale` for the language where `customFields.locale` is beside it, else for the field', () => {
    const fields = [field('locale')];
    const of = (...names: string[]) =>
      chooseColumns(names, { columns: SYSTEM_COLUMNS, mapping: {}, definitions: fields }, String);
    expect(of('locale', 'customFields.locale')).toEqual({
      targets: ['locale', 'customFields.locale'],
      faults: {},
      unknown: {},
    });
    expect(of('locale').targets).toEqual(['customFields.locale']);
  });

  it.each(['', 'Plan', 'customFields.price', 'customFields.email', 'constructor', '__proto__', 'status'])(
    'does not know %j',
    (name) => {
      expect(Object.keys(choose([name]).unknown)).toEqual(['columns[0]']);
    },
  );

  it('takes what the mapping says, and leaves out what it says to', () => {
    expect(choose(['Mail', 'plan', 'email'], { Mail: 'email', plan: 'first_name', email: null })).toEqual({
      targets: ['email', 'firstName', null],
      faults: {},
      unknown: {},
    });
  });

  it('names two columns that hold the same', () => {
    expect(choose(['email', 'Mail', 'plan', 'customFields.plan'], { Mail: 'email' }).faults).toEqual({
      'columns[1]': 'holds email again',
      'columns[3]': 'holds customFields.plan again',
    });
  });
});
