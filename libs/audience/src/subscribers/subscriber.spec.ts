import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '#kernel';
import { migrate } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { createProject } from '#testing/fixtures/fixtures';
import * as fc from '#testing/random/properties';
import { normalizedName } from './subscriber.js';

describe('a name', () => {
  it.each([
    ['Ada', 'Ada'],
    [' Ada\t', 'Ada'],
    ['"Ada"', 'Ada'],
    [' "" Ada ""', 'Ada'],
    ['„Ada“', 'Ada'],
    ['« Ada »', 'Ada'],
    ['Jose\u0301', 'José'],
    ['Ada "the Countess"', 'Ada "the Countess"'],
    ["'t Hooft", "'t Hooft"],
    ["'Ala'", "'Ala'"],
    ['"', '"'],
    ['""', ''],
    ['"'.repeat(100_001), '"'],
  ])('%j is stored as %j', (text, name) => {
    expect(normalizedName(text)).toBe(name);
  });

  it('is the same when it is read again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(normalizedName(normalizedName(text))).toBe(normalizedName(text));
      }),
    );
  });
});

describe('an installation from before names were normalised', () => {
  let test: TestDatabase;
  let environmentId: number;

  beforeAll(async () => {
    test = await createTestDatabase();
    ({ environmentId } = (await createProject(test)).live);
    await test.query(`delete from public.schema_migrations where name = '20261126140000_imports'`);
    for (const table of ['import_rows', 'import_errors'])
      await test.query(`alter table audience.${table} drop column line`);
  });
  afterAll(() => test?.drop());

  it('has them as they are stored today after its migration, and no cells without an address of import errors', async () => {
    const names = [
      ['Ada', 'Lovelace'],
      [' Ada\u00a0', '"Lovelace"'],
      ['„Ada“', '« Ada »'],
      ['“Jose\u0301”', 'D’Arc'],
      ["'Ala'", 'Ada "the Countess"'],
      [null, '"'],
    ] as const;
    for (const [index, name] of names.entries())
      await test.query(
        `insert into audience.subscribers (id, environment_id, subscriber_key, email, email_key, first_name, last_name, source, status,
           created_at, updated_at)
         values ($1, $2, $3, $4, $4, $5, $6, 'API', 'ACTIVE', now(), now())`,
        [newId(), environmentId, `S-${index}`, `ada${index}@example.com`, ...name],
      );
    const importId = newId();
    await test.query(
      `insert into audience.imports (id, environment_id, status, on_conflict, topic_keys, proof, created_at)
       values ($1, $2, 'COMPLETED', 'UPSERT', '{}', '{}', now())`,
      [importId, environmentId],
    );
    await test.query(
      `insert into audience.import_errors (import_id, environment_id, row_number, email, email_key, errors)
       values ($1, $2, 1, 'Ada <ada@example.com>', null, '{}'), ($1, $2, 2, 'Bob@example.com', 'bob@example.com', '{}')`,
      [importId, environmentId],
    );
    expect(await migrate(test.adminUrl)).toEqual(['20261126140000_imports']);
    const stored = await test.query<{ first_name: string | null; last_name: string | null }>(
      `select first_name, last_name from audience.subscribers where environment_id = $1 order by email_key`,
      [environmentId],
    );
    const normal = (name: string | null) => (name === null ? null : normalizedName(name));
    expect(stored.map(({ first_name: first, last_name: last }) => [first, last])).toEqual(
      names.map(([first, last]) => [normal(first), normal(last)]),
    );
    const errors = await test.query(
      `select row_number::int as row, email, line from audience.import_errors where import_id = $1 order by row_number`,
      [importId],
    );
    expect(errors).toEqual([
      { row: 1, email: null, line: null },
      { row: 2, email: 'Bob@example.com', line: null },
    ]);
  });
});
