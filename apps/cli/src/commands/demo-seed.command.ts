import type { Command } from 'commander';
import { type CliContext, printResult } from '../cli-context.js';
import type { DemoSeed } from '../demo/demo-seed.js';
import { facts } from '../table.js';

interface Options {
  readonly renewKeys?: true;
  readonly json?: true;
}

export function addDemoSeed(program: Command, cli: CliContext): void {
  program
    .command('demo:seed')
    .description('create what is missing of the demo project, its topics and keys')
    .option('--renew-keys', 'revoke the demo keys and show new ones')
    .option('--json', 'print one line of JSON')
    .action(async ({ renewKeys, json }: Options) => {
      const result = await seed(cli, renewKeys === true);
      printResult(cli, json, result, () => demoText(result));
    });
}

async function seed(cli: CliContext, renewKeys: boolean): Promise<DemoSeed> {
  const [{ withServices }, { seedDemo }, audience] = await Promise.all([
    import('../operator-services.js'),
    import('../demo/demo-seed.js'),
    import('#audience'),
  ]);
  const { AudienceModule, TopicsQuery, TopicsService } = audience;
  const work: Parameters<typeof withServices<DemoSeed>>[1] = (services) => {
    const topics = { topics: services.get(TopicsService), topicList: services.get(TopicsQuery) };
    return seedDemo(services, { database: services.database, ...topics }, { renewKeys });
  };
  return withServices(cli.env, work, [AudienceModule]);
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
