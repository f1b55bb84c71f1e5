import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import * as fc from '#testing/random/properties';
import { ArrayColumn } from './array-column.js';

const element = fc.record({
  number: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  at: fc.date({ noInvalidDate: true, min: new Date('1900-01-01'), max: new Date('2284-12-31') }),
  id: fc.uuid(),
});

describe('an array in binary form', () => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase();
  });
  afterAll(async () => {
    await test?.drop();
  });

  it('is read by PostgreSQL as what was put in, in order, empty or not', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(element, { maxLength: 20 }), async (elements) => {
        const numbers = new ArrayColumn('int4', elements.length);
        const times = new ArrayColumn('timestamptz', elements.length);
        const ids = new ArrayColumn('uuid', elements.length);
        for (const { number, at, id } of elements) {
          numbers.addInt4(number);
          times.addTimestamp(at.getTime());
          ids.addUuid(Buffer.from(`ff${id.replaceAll('-', '')}`, 'hex'), 1);
        }
        const rows = await test.query(
          'select number, at, id from unnest($1::int[], $2::timestamptz[], $3::uuid[]) u(number, at, id)',
          [numbers.bytes, times.bytes, ids.bytes],
        );
        expect(rows).toEqual(elements);
      }),
    );
  });
});
