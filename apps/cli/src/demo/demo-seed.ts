import type { ProjectWithEnvironments } from '#access';
import { API_SCOPES, type ProjectScope } from '#kernel';
import type { Database } from '#platform';
import type { OperatorServices } from '../operator-services.js';
import { type DemoTopics, demoTopics, type TopicServices } from './demo-topics.js';

export interface DemoSeed {
  /** Whether this run created anything. */
  readonly created: boolean;
  readonly projectKey: string;
  /** Null when it existed before: a key is shown only once. */
  readonly testKey: string | null;
  readonly liveKey: string | null;
  /** The topics of the test environment. */
  readonly topics: DemoTopics;
  readonly liveTopics: DemoTopics;
}

interface DemoKeys {
  readonly testKey: string | null;
  readonly liveKey: string | null;
}

const TENANT = { tenantKey: 'DEMO', name: 'Demo' };
const PROJECT = {
  projectKey: 'DEMO',
  name: 'Demo Project',
  description: 'A project to try Mailwright with.',
  senderName: 'Demo Project',
  postalAddress: '1 Example Street, 12345 Sampletown',
};
const KEY_NAME = 'Demo key';

/**
 * Creates what is missing of the demo data: a tenant on the free plan, a project, and two topics and a key in each
 * environment. The next run completes an interrupted one; concurrent runs take turns.
 */
export function seedDemo(
  services: OperatorServices,
  topicServices: TopicServices,
  options: { readonly renewKeys: boolean },
): Promise<DemoSeed> {
  return oneAtATime(services.database, async () => {
    const { project, created } = await demoProject(services);
    const test = await demoTopics(topicServices, project.test);
    const live = await demoTopics(topicServices, project.live);
    // Last, so that little can fail between creating a key and showing it.
    const keys = await (options.renewKeys ? renewedKeys(services, project) : missingKeys(services, project));
    const anyKey = !options.renewKeys && (keys.testKey !== null || keys.liveKey !== null);
    return {
      created: created || test.created || live.created || anyKey,
      projectKey: project.projectKey,
      ...keys,
      topics: test.keys,
      liveTopics: live.keys,
    };
  });
}

async function demoProject({ database, tenants, subscriptions, projects, projectList }: OperatorServices) {
  return database.system(async () => {
    const isDemo = ({ tenantKey, projectKey }: ProjectWithEnvironments) =>
      tenantKey === TENANT.tenantKey && projectKey === PROJECT.projectKey;
    const known = (await projectList.list()).find(isDemo);
    const knownTenant = (await tenants.list()).find(({ tenantKey }) => tenantKey === TENANT.tenantKey);
    const tenant = knownTenant ?? (await tenants.create(TENANT));
    await subscriptions.startFree(tenant.id);
    const project = known ?? (await projects.create(tenant.id, PROJECT));
    return { project, created: known === undefined };
  });
}

/** Creates a key for each environment that never had one: revoked keys stay revoked. */
async function missingKeys(services: OperatorServices, { id, test, live }: DemoProject): Promise<DemoKeys> {
  const known = await demoKeysOf(services, id);
  const make = async (scope: ProjectScope) =>
    known.some(({ environment }) => environment === scope.environment) ? null : makeKey(services, scope);
  return { testKey: await make(test), liveKey: await make(live) };
}

/** Replaces all earlier keys by two new ones in one transaction. */
async function renewedKeys(services: OperatorServices, { id, test, live }: DemoProject): Promise<DemoKeys> {
  return services.database.system(async () => {
    for (const key of await demoKeysOf(services, id)) await services.apiKeys.revoke(key.id);
    return { testKey: await makeKey(services, test), liveKey: await makeKey(services, live) };
  });
}

type DemoProject = Pick<ProjectWithEnvironments, 'id' | 'test' | 'live'>;

async function demoKeysOf({ apiKeys }: OperatorServices, projectId: number) {
  return (await apiKeys.list(projectId)).filter(({ name }) => name === KEY_NAME);
}

async function makeKey({ apiKeys }: OperatorServices, scope: ProjectScope): Promise<string> {
  return (await apiKeys.create(scope, { name: KEY_NAME, scopes: API_SCOPES })).key;
}

/** The lock ends with its connection, so that a crash releases it. */
async function oneAtATime<T>(database: Database, work: () => Promise<T>): Promise<T> {
  const client = await database.pool.connect();
  try {
    await client.query(`select pg_advisory_lock(hashtext('mailwright.demo'))`);
    return await work();
  } finally {
    client.release(true);
  }
}
