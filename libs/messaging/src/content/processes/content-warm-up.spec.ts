import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Notifications } from '#platform';
import { eventually } from '#testing/time/eventually';
import { MessagingFixture } from '../../messaging.fixture.js';
import { ContentPoolService } from './content-pool.service.js';
import { ContentPools, ContentProcessesService } from './content-processes.service.js';

/** Linux only: its kernel tells which processes there are. */
const itOnLinux = process.platform === 'linux' ? it : it.skip;

/** The processes for content of this one that run. */
function contentProcesses(): readonly string[] {
  const threads = readdirSync('/proc/self/task');
  const children = threads.flatMap((thread) =>
    readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
  );
  return children.filter((pid) => commandOf(pid).includes('content-process.js'));
}

const others = (known: readonly string[]) => contentProcesses().filter((pid) => !known.includes(pid));

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

describe('what compiles content', () => {
  let fixture: MessagingFixture;

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
  });

  afterAll(() => fixture.close());

  itOnLinux('starts when it will be needed, once', async () => {
    const before = contentProcesses();
    const pool = new ContentPoolService({ cpuMs: 60_000, memoryMb: 256 }, 'compile');
    try {
      pool.warm();
      pool.warm();
      const started = await eventually('it runs', () => {
        const found = others(before);
        return found.length > 0 && found;
      });
      expect(started).toHaveLength(1);
      await pool.run(1, 'bodyFaults', { body: [], customKeys: [] });
      expect(others(before)).toEqual(started);
    } finally {
      pool.close();
    }
  });

  itOnLinux('starts in all programs when a campaign is written', async () => {
    const pools = new ContentPools();
    const processes = new ContentProcessesService(pools, null, fixture.get(Notifications));
    // That of the fixture is not to be mistaken for it.
    fixture.get(ContentProcessesService).warm();
    const before = await eventually('the others run', () => {
      const found = contentProcesses();
      return found.length > 0 && found;
    });
    processes.onApplicationBootstrap();
    try {
      await fixture.draft(await fixture.scope(), 1);
      await eventually('it runs', () => others(before).length > 0);
    } finally {
      processes.onApplicationShutdown();
    }
  });
});
