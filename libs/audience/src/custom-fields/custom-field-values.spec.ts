import { describe, expect, it } from '@jest/globals';
import { applyCustomFields, customFieldPaths, templateDefaults } from './custom-field-values.js';
import type { CustomFieldDefinition } from './custom-field.js';

function field(key: string, rest: Partial<CustomFieldDefinition> = {}): CustomFieldDefinition {
  return {
    key,
    type: 'TEXT',
    displayName: key,
    isRequired: false,
    defaultValue: null,
    options: [],
    status: 'ACTIVE',
    ...rest,
  };
}

const FIELDS = [
  field('plan', { isRequired: true }),
  field('age', { type: 'NUMBER', defaultValue: '18' }),
  field('notes', { type: 'LONG_TEXT' }),
  field('more', { type: 'LONG_TEXT' }),
  field('old', { status: 'ARCHIVED', isRequired: true, defaultValue: 'x' }),
];

describe('the custom fields of a subscriber', () => {
  it('are merged: what is left out stays, null clears', () => {
    const current = { plan: 'pro', age: 41, old: 'kept' };
    expect(applyCustomFields(FIELDS, current, { age: null, notes: 'n' }, 'update')).toEqual({
      values: { plan: 'pro', notes: 'n', old: 'kept' },
    });
    expect(applyCustomFields(FIELDS, current, {}, 'update')).toEqual({ values: current });
  });

  it('are refused with all that is wrong', () => {
    const changes: Record<string, unknown> = JSON.parse(
      '{"age":"old","old":"x","nope":null,"__proto__":1,"constructor":1}',
    );
    const result = applyCustomFields(FIELDS, {}, changes, 'create');
    if (!('errors' in result)) throw new Error('They are wrong.');
    expect(Object.entries(result.errors)).toEqual([
      ['age', 'must be an integer'],
      ['old', 'is not a known field'],
      ['nope', 'is not a known field'],
      ['__proto__', 'is not a known field'],
      ['constructor', 'is not a known field'],
      ['plan', 'is required'],
    ]);
    expect(customFieldPaths({ age: 'a', '': 'b' })).toEqual({ 'customFields.age': 'a', customFields: 'b' });
  });

  it('must have what is required, on creation and when it would be cleared, but not on another change', () => {
    for (const blank of [null, '', '  ']) {
      expect(applyCustomFields(FIELDS, { plan: 'pro' }, { plan: blank }, 'update')).toEqual({
        errors: { plan: 'is required' },
      });
    }
    expect(applyCustomFields(FIELDS, {}, {}, 'create')).toEqual({ errors: { plan: 'is required' } });
    expect(applyCustomFields(FIELDS, {}, { age: 1 }, 'update')).toEqual({ values: { age: 1 } });
    const tags = field('tags', {
      type: 'MULTI_SELECT',
      isRequired: true,
      options: [{ value: 'a', label: 'A' }],
    });
    expect(applyCustomFields([tags], {}, { tags: [] }, 'create')).toEqual({
      errors: { tags: 'is required' },
    });
  });

  it('are at most 16 KB of JSON in all', () => {
    const values = { plan: '', notes: 'x'.repeat(10_000), more: '' };
    const room = 16_384 - Buffer.byteLength(JSON.stringify(values));
    const fits = { plan: 'p', notes: values.notes, more: 'x'.repeat(room - 1) };
    expect(applyCustomFields(FIELDS, {}, fits, 'create')).toEqual({ values: fits });
    expect(applyCustomFields(FIELDS, fits, { plan: 'é' }, 'update')).toEqual({
      errors: { '': 'must be at most 16 KB in total' },
    });
    const archived = { ...fits, old: 'x'.repeat(16_384) };
    expect(applyCustomFields(FIELDS, archived, { plan: 'q' }, 'update')).toEqual({
      values: { ...archived, plan: 'q' },
    });
  });

  it('have defaults for templates, in the type of the field', () => {
    expect(templateDefaults(FIELDS)).toEqual({ age: 18 });
  });
});
