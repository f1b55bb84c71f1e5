import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { DomainValidationError, NotFoundError } from '#kernel';
import { ManualClock } from '#testing/time/clocks';
import { Database, OutgoingHttp } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { accessEntities } from './access-tables.js';
import { ProjectAlreadyExistsError } from './project.js';
import { EnvironmentsQuery, ProjectRepository, ProjectsQuery } from './project.repository.js';
import { ProjectsService } from './projects.service.js';
import { TenantAlreadyExistsError } from './tenant.js';
import { TenantsService } from './tenants.service.js';

const NOW = new Date('2026-03-01T00:00:00.000Z');
const clock = new ManualClock(NOW);
const newProject = {
  projectKey: 'APIT',
  name: 'Acme News',
  senderName: 'Acme',
  postalAddress: '1 Main Street, Springfield',
};

describe('Tenants and their projects', () => {
  let test: TestDatabase;
  let database: Database;
  let tenants: TenantsService;
  let projects: ProjectsService;

  beforeAll(async () => {
    test = await createTestDatabase();
    database = await Database.connect({
      url: test.url,
      poolSize: 4,
      applicationName: 'spec',
      entities: accessEntities,
    });
    const http = new OutgoingHttp({ addressesOf: () => Promise.resolve([]) });
    tenants = new TenantsService(database, clock);
    projects = new ProjectsService(
      database,
      tenants,
      new ProjectRepository(database),
      new ProjectsQuery(database),
      http,
      { PUBLIC_URL: 'https://mail.example', BOUNCE_HOST: 'bounces.example' },
      clock,
    );
  });

  beforeEach(() => test.query('truncate access.tenants cascade'));

  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  const makeTenant = (tenantKey = 'ACME') => tenants.create({ tenantKey, name: 'Acme Ltd' });

  it('have a key of their own', async () => {
    const acme = await makeTenant();
    expect(acme).toMatchObject({
      id: expect.any(Number),
      tenantKey: 'ACME',
      name: 'Acme Ltd',
      createdAt: NOW,
    });
    await expect(makeTenant()).rejects.toThrow(TenantAlreadyExistsError);
    const other = await makeTenant('OTHER');
    await projects.create(acme.id, newProject);
    await expect(projects.create(acme.id, newProject)).rejects.toThrow(ProjectAlreadyExistsError);
    await projects.create(other.id, newProject);
    expect((await tenants.list()).map(({ tenantKey }) => tenantKey)).toEqual(['ACME', 'OTHER']);
    expect(
      (await new ProjectsQuery(database).list()).map((row) => `${row.tenantKey}/${row.projectKey}`),
    ).toEqual(['ACME/APIT', 'OTHER/APIT']);
  });

  it('are refused with all that is wrong with them', async () => {
    for (const tenantKey of ['', 'A', 'acme', '1ACME', 'A'.repeat(17), 'ÄCME']) {
      await expect(tenants.create({ tenantKey, name: 'x' })).rejects.toThrow(DomainValidationError);
    }
    const { id } = await makeTenant();
    const faulty = {
      projectKey: 'TOOLONGKEY',
      name: ' ',
      description: 'x'.repeat(1001),
      senderName: 'Acme\r\nBcc: everyone@example.com',
      postalAddress: '',
      defaultFromEmail: 'acme',
    };
    await expect(projects.create(id, faulty)).rejects.toMatchObject({
      errors: {
        projectKey: 'must be 2 to 8 capital letters and digits, beginning with a letter',
        name: 'must not be blank',
        description: 'must be at most 1000 characters',
        senderName: 'must not contain control characters',
        postalAddress: 'must not be blank',
        defaultFromEmail: 'is not an e-mail address',
      },
    });
  });

  it('exist before their projects do', async () => {
    await expect(projects.create(999_999, newProject)).rejects.toThrow(NotFoundError);
  });

  it('have a live and a test environment, told apart in every answer', async () => {
    const { id } = await makeTenant();
    const made = await projects.create(id, { ...newProject, defaultFromEmail: 'news@acme.example' });
    const query = new ProjectsQuery(database);
    expect(await query.ofScope(made.test)).toEqual({
      ...newProject,
      id: made.id,
      description: null,
      defaultFromEmail: 'news@acme.example',
      replyTo: null,
      defaultLocale: 'en',
      timeZone: 'UTC',
      logoUrl: null,
      color: null,
      trackingHost: null,
      privacyUrl: null,
      contactEmail: null,
      aiSegmentSuggestionsEnabled: false,
      environment: 'TEST',
      createdAt: NOW,
      updatedAt: NOW,
    });
    expect(await query.ofScope(made.live)).toMatchObject({ id: made.id, environment: 'LIVE' });
    expect(await query.list()).toEqual([
      expect.objectContaining({ live: made.live, test: made.test, tenantId: id }),
    ]);
    expect(await query.ofScope({ ...made.live, projectId: 999_999 })).toBeNull();
  });

  it('change in what is named, and stay in the rest', async () => {
    const made = await projects.create((await makeTenant()).id, newProject);
    const query = new ProjectsQuery(database);
    const before = await query.ofScope(made.live);
    await projects.change(made.id, { description: 'News for customers', aiSegmentSuggestionsEnabled: true });
    const changed = { ...before, description: 'News for customers', aiSegmentSuggestionsEnabled: true };
    expect(await query.ofScope(made.live)).toEqual(changed);
    await projects.change(made.id, { name: ' Renamed ', description: null, defaultFromEmail: 'a@b.example' });
    expect(await query.ofScope(made.live)).toEqual({
      ...changed,
      name: 'Renamed',
      description: null,
      defaultFromEmail: 'a@b.example',
    });
    await expect(projects.change(made.id, { name: ' ', postalAddress: '' })).rejects.toMatchObject({
      errors: { name: 'must not be blank', postalAddress: 'must not be blank' },
    });
    await expect(projects.change(999_999, { name: 'x' })).rejects.toThrow(NotFoundError);
  });

  it('are found by the number of an environment, and never change', async () => {
    const made = await projects.create((await makeTenant()).id, newProject);
    const environments = new EnvironmentsQuery(database);
    for (let time = 0; time < 2; time += 1) {
      expect(await environments.find(made.live.environmentId)).toEqual(made.live);
      expect(await environments.find(made.test.environmentId)).toEqual(made.test);
    }
    for (const unknown of [999_999, 0, -1, 0.5, Number.NaN])
      expect(await environments.find(unknown)).toBeNull();
  });

  it('count the keys of both environments in one row of numbers', async () => {
    const made = await projects.create((await makeTenant()).id, newProject);
    const nextKey = async (scope: typeof made.live, kind: string) => {
      const { rows } = await database.transaction(scope, () =>
        sql<{ key: string }>`select access.next_key(${kind}) as key`.execute(database.tables()),
      );
      return rows[0]?.key;
    };
    expect(await nextKey(made.test, 'topic')).toBe('APIT-1');
    expect(await nextKey(made.live, 'topic')).toBe('APIT-2');
    expect(await nextKey(made.live, 'campaign')).toBe('APIT-001');
  });
});
