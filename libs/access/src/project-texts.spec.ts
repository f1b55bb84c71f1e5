import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ProjectScope } from '#kernel';
import { ManualClock } from '#testing/time/clocks';
import { Database, projectRoot } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { createProject } from '#testing/fixtures/fixtures';
import { Wording } from '#wording';
import { accessEntities, type AccessTables } from './access-tables.js';
import { ProjectTextsService, ProjectWordings } from './project-texts.service.js';
import { ProjectRepository } from './project.repository.js';

const NOW = new Date('2026-03-01T00:00:00.000Z');
const EXPIRY = 'Good for {hours, plural, one {# hour} other {# hours}}.';

describe('The texts of a project', () => {
  let test: TestDatabase;
  let database: Database;
  let texts: ProjectTextsService;
  const clock = new ManualClock(NOW);

  beforeAll(async () => {
    test = await createTestDatabase();
    const entities = accessEntities;
    database = await Database.connect({ url: test.url, poolSize: 6, applicationName: 'spec', entities });
    texts = new ProjectTextsService(database, new ProjectRepository(database), clock);
  });
  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  const versions = ({ projectId }: ProjectScope) =>
    test.query<{ version: number; texts: object }>(
      'select version, texts from access.project_texts where project_id = $1 order by version',
      [projectId],
    );

  it('are ours until it has its own, and again when it takes them back', async () => {
    const { live } = await createProject(test);
    const ours = await texts.of(live, 'en');
    expect(ours).toMatchObject({ version: 0, own: {}, createdAt: null, updatedAt: null });
    const created = clock.now();
    const own = { 'optIn.subject': 'One more click for {project}' };
    expect(await texts.change(live, 'en', own)).toEqual({
      ...ours,
      version: 1,
      own,
      createdAt: created,
      updatedAt: created,
    });
    clock.advance(1_000);
    expect(await texts.change(live, 'en', { 'optIn.expiry': EXPIRY })).toMatchObject({
      version: 2,
      own: { ...own, 'optIn.expiry': EXPIRY },
      createdAt: created,
      updatedAt: clock.now(),
    });
    const back = { 'optIn.subject': null, 'optIn.expiry': null };
    expect(await texts.change(live, 'en', back)).toMatchObject({ version: 3, own: {} });
  });

  it('make no version when they stay as they are', async () => {
    const { live } = await createProject(test);
    const { defaults } = await texts.of(live, 'en');
    expect(await texts.change(live, 'en', {})).toMatchObject({ version: 0 });
    expect(await texts.change(live, 'en', defaults)).toMatchObject({ version: 0 });
    await texts.change(live, 'en', { 'optIn.expiry': EXPIRY });
    expect(await texts.change(live, 'en', { ...defaults, 'optIn.expiry': EXPIRY })).toMatchObject({
      version: 1,
    });
    expect(await versions(live)).toEqual([{ version: 1, texts: { 'optIn.expiry': EXPIRY } }]);
  });

  it('are shared by live and test, and by no other project', async () => {
    const [mine, others] = [await createProject(test), await createProject(test)];
    await texts.change(mine.test, 'en', { 'optIn.expiry': EXPIRY });
    expect(await texts.of(mine.live, 'en')).toEqual(await texts.of(mine.test, 'en'));
    expect(await texts.of(others.test, 'en')).toMatchObject({ version: 0, own: {} });
    await database.transaction(mine.live, async () => {
      const seen = await database
        .tables<AccessTables>()
        .selectFrom('access.project_texts')
        .selectAll()
        .execute();
      expect(seen).toHaveLength(1);
    });
  });

  it('keep every change of those that are made at once, a version each', async () => {
    const { live } = await createProject(test);
    const changes = Array.from({ length: 8 }, (_, n) =>
      n % 2 === 0 ? { 'optIn.subject': `${n}: {project}` } : { 'optIn.expiry': `${n}: ${EXPIRY}` },
    );
    await Promise.all(changes.map((change) => texts.change(live, 'en', change)));
    expect((await versions(live)).map(({ version }) => version)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(Object.keys((await texts.of(live, 'en')).own)).toEqual(['optIn.subject', 'optIn.expiry']);
  });

  it('are refused with what is wrong with each, and nothing is written', async () => {
    const { live } = await createProject(test);
    const changes = {
      'optIn.subject': 'Please confirm',
      'optIn.expiry': 'Good for {hours, plural, one {# hour}}.',
    };
    await expect(texts.change(live, 'en', changes)).rejects.toMatchObject({
      errors: {
        'texts.optIn.subject': 'must contain {project}',
        'texts.optIn.expiry': 'must be an ICU message: check its braces',
      },
    });
    const attack = { 'optIn.subject': '<script>alert(1)</script> {project}' };
    await expect(texts.change(live, 'en', attack)).rejects.toMatchObject({
      errors: { 'texts.optIn.subject': expect.stringContaining('unknown placeholder') },
    });
    expect(await versions(live)).toEqual([]);
  });

  it('in Portuguese go on in both of its forms, by the versions that consents name', async () => {
    const { live } = await createProject(test);
    const migration = readFileSync(join(projectRoot(), 'migrations/20261126200000_privacy.sql'), 'utf8');
    const own = { 'optIn.subject': 'Mais um clique para {project}' };
    for (const [version, written] of [
      [1, {}],
      [2, own],
    ] as const)
      await test.query(
        `insert into access.project_texts (project_id, locale, version, texts, created_at) values ($1, 'pt', $2, $3, now())`,
        [live.projectId, version, JSON.stringify(written)],
      );
    await test.query(migration.slice(migration.indexOf('insert into')));
    for (const locale of ['pt-BR', 'pt-PT'] as const)
      expect(await texts.of(live, locale)).toMatchObject({ locale, version: 2, own });
  });

  it('are text and never markup: what ICU quotes is read as it is written', async () => {
    const { live } = await createProject(test);
    const quoted = { 'optIn.subject': "'<script>'alert(1)'</script>' {project}" };
    const { own } = await texts.change(live, 'en', quoted);
    expect(new Wording('en', own).text('optIn.subject', { project: 'Acme' })).toBe(
      '<script>alert(1)</script> Acme',
    );
  });

  describe('as the words for a reader', () => {
    let wordings: ProjectWordings;
    let scope: ProjectScope;
    let other: ProjectScope;

    beforeAll(async () => {
      wordings = new ProjectWordings(database);
      scope = (await createProject(test)).live;
      other = (await createProject(test)).live;
      await test.query(`update access.projects set default_locale = 'sv' where id = $1`, [scope.projectId]);
      await setTexts(1, { 'optIn.button': 'Jawohl' });
      await setTexts(2, { 'optIn.button': 'Jo' });
    });

    const setTexts = (version: number, own: object) =>
      test.query(
        `insert into access.project_texts (project_id, locale, version, texts, created_at) values ($1, 'de', $2, $3, now())`,
        [scope.projectId, version, JSON.stringify(own)],
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
});
