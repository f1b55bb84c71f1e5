import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../../libs/platform/src/database/migrations.js';
import {
  type PostgresServer,
  startPostgres,
} from '../../../libs/platform/src/embedded-postgres/embedded-postgres.js';
import { openTestDatabase, type TestDatabase } from '#testing/postgres/database';

/** A PostgreSQL of a test's own, with everything durable, that can be stopped at once. */
export class CrashingPostgres {
  private constructor(
    private readonly directory: string,
    private server: PostgresServer,
  ) {}

  static async open(): Promise<CrashingPostgres> {
    const directory = await mkdtemp(join(tmpdir(), 'mailwright-chaos-'));
    await chmod(directory, 0o711); // PostgreSQL runs as another user when the tests run as root
    const server = await startPostgres({ directory: join(directory, 'postgres') });
    await server.ensureDatabase('chaos');
    await migrate(server.url('chaos'));
    return new CrashingPostgres(directory, server);
  }

  database(): TestDatabase {
    return openTestDatabase(this.server.url('chaos'));
  }

  /** The immediate shutdown: nothing is written down, and the next start recovers. `meanwhile` is done while it is away. */
  async crash(meanwhile: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    const { port } = this.server;
    process.kill(this.server.pid, 'SIGQUIT');
    await meanwhile();
    await this.server.exited;
    this.server = await startPostgres({ directory: join(this.directory, 'postgres'), port });
  }

  async close(): Promise<void> {
    await this.server.stop();
    await rm(this.directory, { recursive: true, force: true });
  }
}
