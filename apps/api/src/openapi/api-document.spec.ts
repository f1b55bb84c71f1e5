import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { type SampleApi, startSampleApi } from '#testing/http/sample-api';
import { ApiDocument } from './api-document.js';
import type { OpenApiDocument, OperationEntry } from './document.js';

describe('The OpenAPI document', () => {
  let test: TestDatabase;
  let api: SampleApi;
  let document: OpenApiDocument;

  beforeAll(async () => {
    test = await createTestDatabase();
    api = await startSampleApi(test.url);
    const source = new ApiDocument();
    source.describe(api.app);
    document = await source.get();
  });

  afterAll(async () => {
    await api.close();
    await test.drop();
  });

  const operation = (path: string, method: string): OperationEntry => {
    const found = document.paths[`/api/v1/parcels${path}`]?.[method];
    if (found === undefined) throw new Error(`There is no ${method} ${path}.`);
    return found;
  };

  it('derives the problems of an operation from its shape', () => {
    const statuses = (path: string, method: string) => Object.keys(operation(path, method).responses);
    expect(statuses('', 'get')).toEqual(['200', '400', '401', '403', '406', '422', '429', '500', '503']);
    expect(statuses('', 'post')).toEqual([
      '201',
      '400',
      '401',
      '403',
      '406',
      '409',
      '413',
      '415',
      '422',
      '429',
      '500',
      '503',
    ]);
    expect(statuses('/whoami', 'get')).toEqual([
      '200',
      '400',
      '401',
      '403',
      '406',
      '422',
      '429',
      '500',
      '503',
    ]);
    expect(statuses('/{id}', 'delete')).toEqual([
      '204',
      '400',
      '401',
      '403',
      '404',
      '413',
      '415',
      '429',
      '500',
      '503',
    ]);
    expect(operation('/{id}', 'delete').responses['204']?.content).toBeUndefined();
  });

  it('names scope, both ways to send the key, and the headers of every answer', () => {
    expect(operation('', 'post')).toMatchObject({
      'x-required-scope': 'topics:write',
      security: [{ apiKey: [] }, { bearer: [] }],
      tags: ['Parcels'],
    });
    expect(Object.keys(operation('', 'get').responses['200']?.headers ?? {})).toEqual([
      'X-Request-Id',
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
      'RateLimit-Policy',
      'RateLimit',
      'Link',
    ]);
    const shared = (status: string) => {
      const name = operation('', 'get').responses[status]?.$ref?.split('/').at(-1) ?? '';
      return document.components.responses?.[name];
    };
    expect(shared('429')?.headers).toHaveProperty('Retry-After');
    expect(shared('401')?.headers).toHaveProperty('WWW-Authenticate');
  });

  it('shows page and size with their defaults', () => {
    expect(operation('', 'get').parameters?.slice(0, 2)).toEqual([
      expect.objectContaining({
        name: 'page',
        in: 'query',
        required: false,
        schema: expect.objectContaining({ type: 'integer', minimum: 0, default: 0 }),
      }),
      expect.objectContaining({
        name: 'size',
        in: 'query',
        required: false,
        schema: expect.objectContaining({ type: 'integer', minimum: 1, default: 20 }),
      }),
    ]);
  });

  it('describes answers that may grow and bodies that may not', () => {
    expect(document.components.schemas['Parcel']).toMatchObject({
      required: ['id', 'name', 'note', 'calls', 'createdAt'],
      properties: { note: { type: ['string', 'null'] }, id: { type: 'integer', format: 'int64' } },
    });
    expect(document.components.schemas['Parcel']).not.toHaveProperty('additionalProperties');
    expect(document.components.schemas['ImportParcels']).toMatchObject({ additionalProperties: false });
    expect(operation('/import', 'post').requestBody?.content).toEqual({
      'application/json': {
        schema: { $ref: '#/components/schemas/ImportParcels' },
      },
      'text/csv': {
        schema: {
          type: 'string',
          description:
            'CSV, in UTF-8 unless the charset of the Content-Type or a byte order mark says another encoding; its first row names the columns.',
        },
      },
    });
    expect(operation('/export', 'get').responses['200']?.content).toEqual({
      'text/csv; charset=utf-8': { schema: { type: 'string' } },
    });
  });
});
