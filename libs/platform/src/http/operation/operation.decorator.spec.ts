import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { serializerSchema } from './operation.decorator.js';

describe('serializerSchema', () => {
  it('writes nullables as such, inlines components and leaves checks out', () => {
    const inner = z.object({ name: z.string().max(5) }).meta({ id: 'Inner' });
    const schema = z.object({
      id: z.uuid(),
      when: z.iso.datetime().nullable(),
      state: z.enum(['A', 'B']).nullable(),
      inner: inner.nullable(),
      many: z.array(inner),
      any: z.record(z.string(), z.unknown()),
      maybe: z.string().optional(),
    });
    const innerSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
    expect(serializerSchema(schema)).toEqual({
      type: 'object',
      properties: {
        id: { type: 'string' },
        when: { type: 'string', nullable: true },
        state: { type: 'string', nullable: true },
        inner: { ...innerSchema, nullable: true },
        many: { type: 'array', items: innerSchema },
        any: { type: 'object', properties: {}, required: [], additionalProperties: {} },
        maybe: { type: 'string' },
      },
      required: ['id', 'when', 'state', 'inner', 'many', 'any'],
    });
  });

  it('takes a bare array, and a union as any value', () => {
    expect(serializerSchema(z.array(z.int()))).toEqual({ type: 'array', items: { type: 'integer' } });
    expect(serializerSchema(z.object({ value: z.union([z.string(), z.array(z.string())]) }))).toMatchObject({
      properties: { value: {} },
    });
  });
});
