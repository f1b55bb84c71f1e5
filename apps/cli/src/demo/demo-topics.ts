import type { TopicsQuery, TopicsService } from '#audience';
import type { ProjectScope } from '#kernel';
import type { Database } from '#platform';

/** The keys of an environment's two topics. */
export interface DemoTopics {
  readonly doubleOptIn: string;
  readonly singleOptIn: string;
}

export interface TopicServices {
  readonly database: Database;
  readonly topics: TopicsService;
  readonly topicList: TopicsQuery;
}

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

/** Finds the two topics by name and creates the missing ones in one transaction. */
export function demoTopics(
  services: TopicServices,
  scope: ProjectScope,
): Promise<{ readonly keys: DemoTopics; readonly created: boolean }> {
  return services.database.transaction(scope, async () => {
    const known = await topicKeysByName(services.topicList, scope);
    const keyOf = async (topic: typeof DOUBLE_OPT_IN) =>
      known.get(topic.name) ?? (await services.topics.create(scope, topic)).topicKey;
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
