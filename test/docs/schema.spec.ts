import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { schemaText } from '#testing/postgres/schema-text';
import { projectRoot } from '../../libs/platform/src/project-root.js';

const FILE = join(projectRoot(), 'docs/schema.sql');

describe('docs/schema.sql', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database?.drop());

  it('is what the migrations make; `npm run schema` writes it', async () => {
    const made = await schemaText(database);
    if (process.env['UPDATE_SCHEMA'] !== undefined) await writeFile(FILE, made);
    expect(made).toBe(await readFile(FILE, 'utf8'));
  });
});
