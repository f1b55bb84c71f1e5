import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '#kernel';
import { Database } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { accessEntities } from './access-tables.js';
import { ApiKey } from './api-key.js';
import { ProjectRepository } from './project.repository.js';
import { Project } from './project.js';
import { Tenant } from './tenant.js';

const NOW = new Date('2026-03-01T10:20:30.456Z');
const LATER = new Date('2027-03-01T10:20:30.456Z');

describe('What is written of access is read as it was', () => {
  let test: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    test = await createTestDatabase();
    const entities = accessEntities;
    database = await Database.connect({ url: test.url, poolSize: 2, applicationName: 'spec', entities });
  });

  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  const isReadAsWritten = async <Entity extends ApiKey | Project | Tenant>(
    type: new (...given: never[]) => Entity,
    entity: Entity,
  ) => {
    await database.em.persist(entity).flush();
    database.em.clear();
    expect(await database.em.find(type, {})).toEqual([entity]);
  };

  it('a tenant, a project and an API key', () =>
    database.system(async () => {
      const tenant = new Tenant({ tenantKey: 'ACME', name: 'Acme' }, NOW);
      await isReadAsWritten(Tenant, tenant);
      const texts = {
        name: 'Acme News',
        description: 'News',
        senderName: 'Acme',
        postalAddress: '1 Main Street',
      };
      const wanted = { ...texts, projectKey: 'APIT', defaultFromEmail: 'news@acme.example' };
      const project = new Project(tenant.id, wanted, NOW);
      project.aiSegmentSuggestionsEnabled = true;
      await isReadAsWritten(Project, project);
      const { environmentId } = await new ProjectRepository(database).addEnvironment(project, 'LIVE');
      const identity = { id: newId(), environmentId, key: 'mw_live_x', createdBy: newId() };
      const terms = {
        name: 'All',
        scopes: ['topics:read', 'reports:read'],
        rateLimitPerMinute: 5,
        expiresAt: LATER,
        allowedNetworks: ['203.0.113.0/24', '2001:db8::/32'],
      };
      const key = new ApiKey(identity, terms, NOW);
      key.replace(newId(), 0, NOW);
      key.revoke(LATER);
      await isReadAsWritten(ApiKey, key);
    }));
});
