import type { Command } from 'commander';
import type { ProjectWithEnvironments } from '#access';
import type { TopicsQuery, TopicsService } from '#audience';
import { API_SCOPES, type ProjectScope } from '#kernel';
import type { Database } from '#platform';
import { withServices } from '../command.js';
import type { OperatorServices } from '../operator-services.js';
import { type CliContext, facts, printing } from '../output.js';

/** The keys of an environment's two topics. */
interface DemoTopics {
  readonly doubleOptIn: string;
  readonly singleOptIn: string;
}

interface DemoKeys {
  /** Null when it existed before: a key is shown only once. */
  readonly testKey: string | null;
  readonly liveKey: string | null;
}

interface DemoSeed extends DemoKeys {
  /** True when this run created anything. */
  readonly created: boolean;
  readonly projectKey: string;
  /** The topics of the test environment. */
  readonly topics: DemoTopics;
  readonly liveTopics: DemoTopics;
}

interface TopicServices {
  readonly topics: TopicsService;
  readonly topicList: TopicsQuery;
}

type DemoProject = Pick<ProjectWithEnvironments, 'id' | 'test' | 'live'>;

const TENANT = { tenantKey: 'DEMO', name: 'Demo' };
const PROJECT = {
  projectKey: 'DEMO',
  name: 'Demo Project',
  description: 'A project to try Mailwright with.',
  senderName: 'Demo Project',
  postalAddress: '1 Example Street, 12345 Sampletown',
};
const KEY_NAME = 'Demo key';
const DOUBLE_OPT_IN = {
  name: 'Product news',
  description: 'What is new, about once a month.',
  doubleOptInEnabled: true,
};
const SINGLE_OPT_IN = {
  name: 'Release notes',
  description: 'One mail for each release.',
  doubleOptInEnabled: false,
};
const PAGE_SIZE = 100;

export function addDemoCommands(program: Command, cli: CliContext): void {
  program
    .command('demo:seed')
    .description('create what is missing of the demo project, its topics and keys')
    .option('--renew-keys', 'revoke the demo keys and show new ones')
    .action(
      printing(
        cli,
        async ({ renewKeys }: { readonly renewKeys?: true }) => {
          const { AudienceModule, TopicsQuery, TopicsService } = await import('#audience');
          return withServices(
            cli,
            (services) => {
              const topics = { topics: services.get(TopicsService), topicList: services.get(TopicsQuery) };
              return seedDemo(services, topics, renewKeys === true);
            },
            [AudienceModule],
          );
        },
        demoText,
      ),
    );
}

/**
 * Creates what is missing of the demo data: a tenant on the free plan, a project, and two topics and a key in each
 * environment. The next run completes an interrupted one; concurrent runs take turns.
 */
function seedDemo(
  services: OperatorServices,
  topicServices: TopicServices,
  renewKeys: boolean,
): Promise<DemoSeed> {
  const { database } = services;
  return oneAtATime(database, async () => {
    const { project, created } = await demoProject(services);
    const test = await demoTopics(database, topicServices, project.test);
    const live = await demoTopics(database, topicServices, project.live);
    // Last, so that little can fail between creating a key and showing it.
    const keys = await (renewKeys ? renewedKeys(services, project) : missingKeys(services, project));
    const anyKey = !renewKeys && (keys.testKey !== null || keys.liveKey !== null);
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
    for (const key of await demoKeysOf(services, id))
      await services.apiKeys.revoke(key.environment === 'LIVE' ? live : test, key.id);
    return { testKey: await makeKey(services, test), liveKey: await makeKey(services, live) };
  });
}

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

/** Finds the two topics by name and creates the missing ones in one transaction. */
function demoTopics(
  database: Database,
  { topics, topicList }: TopicServices,
  scope: ProjectScope,
): Promise<{ readonly keys: DemoTopics; readonly created: boolean }> {
  return database.transaction(scope, async () => {
    const known = await topicKeysByName(topicList, scope);
    const keyOf = async (topic: typeof DOUBLE_OPT_IN) =>
      known.get(topic.name) ?? (await topics.create(scope, topic)).topicKey;
    const keys = { doubleOptIn: await keyOf(DOUBLE_OPT_IN), singleOptIn: await keyOf(SINGLE_OPT_IN) };
    return { keys, created: !(known.has(DOUBLE_OPT_IN.name) && known.has(SINGLE_OPT_IN.name)) };
  });
}

/** The oldest of topics with the same name. */
async function topicKeysByName(
  topicList: TopicsQuery,
  scope: ProjectScope,
): Promise<ReadonlyMap<string, string>> {
  const keys = new Map<string, string>();
  for (let page = 0; ; page += 1) {
    const { items } = await topicList.page(scope, {}, { page, size: PAGE_SIZE });
    for (const { name, topicKey } of items) keys.set(name, topicKey);
    if (items.length < PAGE_SIZE) return keys;
  }
}

function demoText({ created, projectKey, testKey, liveKey, topics, liveTopics }: DemoSeed): string {
  const hidden = 'shown only when it was created; `mailwright demo:seed --renew-keys` creates a new one';
  const listed = facts({
    'test key': testKey ?? hidden,
    'live key': liveKey ?? hidden,
    'test topics': `${topics.doubleOptIn} (double opt-in), ${topics.singleOptIn} (single opt-in)`,
    'live topics': `${liveTopics.doubleOptIn} (double opt-in), ${liveTopics.singleOptIn} (single opt-in)`,
  });
  return `The demo project ${projectKey} ${created ? 'is ready' : 'is there already'}.\n\n${listed}`;
}
