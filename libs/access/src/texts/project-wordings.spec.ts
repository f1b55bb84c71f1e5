import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/database';
import { createProject } from '#testing/fixtures';
import { accessEntities } from '../access-tables.js';
import { ProjectsQuery } from '../projects/projects.query.js';
import { ProjectWordings } from './project-wordings.query.js';

describe('The words of a project for a reader', () => {
  let test: TestDatabase;
  let database: Database;
  let wordings: ProjectWordings;
  let scope: ProjectScope;
  let other: ProjectScope;

  beforeAll(async () => {
    test = await createTestDatabase();
    database = await Database.connect({
      url: test.url,
      poolSize: 2,
      applicationName: 'spec',
      entities: accessEntities,
    });
    wordings = new ProjectWordings(database, new ProjectsQuery(database));
    const project = await createProject(test);
    scope = project.live;
    other = (await createProject(test)).live;
    await test.query(`update access.projects set default_locale = 'sv' where id = $1`, [scope.projectId]);
    await setTexts(1, { 'optIn.button': 'Jawohl' });
    await setTexts(2, { 'optIn.button': 'Jo' });
  });
  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  const setTexts = (version: number, texts: object) =>
    test.query(
      `insert into access.project_texts (project_id, locale, version, texts, created_at) values ($1, 'de', $2, $3, now())`,
      [scope.projectId, version, JSON.stringify(texts)],
    );

  it.each([
    [['fr', 'de'], 'fr'],
    [[null, 'pt', 'fr'], 'pt-BR'],
    [['zh-TW', 'fr'], 'zh-Hant'],
    [['sw', 'tlh'], 'sv'],
    [[], 'sv'],
  ])('are in the first language of %j that there is, else in its own: %s', async (wanted, locale) => {
    expect((await wordings.of(scope, wanted)).wording.locale).toBe(locale);
  });

  it('are English where it has no other', async () => {
    expect((await wordings.of(other, ['sw'])).wording.locale).toBe('en');
  });

  it('are its own, as they were set last, and ours where it has none', async () => {
    const own = await wordings.of(scope, ['de-AT']);
    expect([own.wording.text('optIn.button'), own.version]).toEqual(['Jo', 2]);
    expect((await wordings.of(scope, ['en'])).version).toBeNull();
    const others = await wordings.of(other, ['de']);
    expect([others.wording.text('optIn.button') === 'Jo', others.version]).toEqual([false, null]);
  });
});
