import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { DomainValidationError } from '#kernel';
import { fieldsSelector } from './answer-fields.js';
import { pageOf } from './pagination.js';

const owner = z.object({ name: z.string(), email: z.string().nullable() }).meta({ id: 'FieldsOwner' });
const parcel = z
  .object({
    id: z.int(),
    owner: owner.nullable(),
    labels: z.array(z.object({ value: z.string(), colour: z.string() })),
    custom: z.record(z.string(), z.unknown()),
    texts: z.record(z.string(), z.object({ subject: z.string(), body: z.string() })),
    rules: z.string(),
  })
  .meta({ id: 'FieldsParcel' });
const ANSWER = {
  id: 1,
  owner: { name: 'Ada', email: null },
  labels: [
    { value: 'a', colour: 'red' },
    { value: 'b', colour: 'blue' },
  ],
  custom: { plan: 'pro', size: { w: 1, h: 2 } },
  texts: { de: { subject: 'Hallo', body: '…' } },
  rules: '{}',
};
const PAGINATION = { page: 0, size: 1, totalElements: 1, totalPages: 1, hasNext: false, hasPrevious: false };

describe('fields of an answer', () => {
  it.each([
    ['id', { id: 1 }],
    ['rules,id', { id: 1, rules: '{}' }],
    [' id , owner.name', { id: 1, owner: { name: 'Ada' } }],
    ['owner', { owner: { name: 'Ada', email: null } }],
    ['owner.name,owner', { owner: { name: 'Ada', email: null } }],
    ['owner,owner.name', { owner: { name: 'Ada', email: null } }],
    ['labels.value', { labels: [{ value: 'a' }, { value: 'b' }] }],
    ['custom.plan,custom.none', { custom: { plan: 'pro' } }],
    ['custom.size.w', { custom: { size: { w: 1 } } }],
    ['texts.de.subject', { texts: { de: { subject: 'Hallo' } } }],
    ['texts.fr.subject', { texts: {} }],
  ])('keep what %j names', (fields, kept) => {
    expect(fieldsSelector(parcel, fields)(ANSWER)).toEqual(kept);
    expect(fieldsSelector(z.array(parcel), fields)([ANSWER, ANSWER])).toEqual([kept, kept]);
    const page = { data: [ANSWER], pagination: PAGINATION };
    const select = fieldsSelector(pageOf(parcel, 'FieldsParcelPage'), fields);
    expect(select(page)).toEqual({ data: [kept], pagination: PAGINATION });
  });

  it('keep null, whatever was named below it', () => {
    expect(fieldsSelector(parcel, 'owner.name')({ ...ANSWER, owner: null })).toEqual({ owner: null });
  });

  it('of a page may be written from its root', () => {
    const schema = pageOf(parcel, 'FieldsParcelRootPage');
    const page = { data: [ANSWER], pagination: PAGINATION };
    expect(fieldsSelector(schema, 'data.id')(page)).toEqual({ data: [{ id: 1 }], pagination: PAGINATION });
    expect(fieldsSelector(schema, 'id,pagination.totalElements')(page)).toEqual({
      data: [{ id: 1 }],
      pagination: { totalElements: 1 },
    });
  });

  it.each([
    ['nmae', '"nmae" is not a field of the answer'],
    ['id,nmae,owner.age', '"nmae", "owner.age" are not fields of the answer'],
    ['id,', '"" is not a field of the answer'],
    ['id.x', '"id.x" is not a field of the answer'],
    ['rules.x', '"rules.x" is not a field of the answer'],
    ['labels.0.value', '"labels.0.value" is not a field of the answer'],
    ['texts.de.html', '"texts.de.html" is not a field of the answer'],
    ['custom.', '"custom." is not a field of the answer'],
    ['__proto__', '"__proto__" is not a field of the answer'],
    ['constructor.name', '"constructor.name" is not a field of the answer'],
  ])('%j are refused by name', (fields, fault) => {
    let refusal: unknown;
    try {
      fieldsSelector(parcel, fields);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(DomainValidationError);
    expect(refusal).toMatchObject({ members: { errors: { fields: fault } } });
  });
});
