import { setTimeout as pause } from 'node:timers/promises';
import type { TestDatabase } from '#testing/postgres/database';

const RELOADED_MS = 1_000;

/** Statements that PostgreSQL logs, by the program that sent them; `add` is called with each line of its log. */
export class StatementCounts {
  readonly byProgram = new Map<string, number>();

  add(line: string): void {
    const [, program] = /^(\S+)\| LOG: +(?:statement|execute [^:]*): /.exec(line) ?? [];
    if (program !== undefined) this.byProgram.set(program, (this.byProgram.get(program) ?? 0) + 1);
  }

  /** Counts all of them while `task` runs, and none at other times. */
  async during(database: TestDatabase, task: () => Promise<unknown>): Promise<number> {
    const log = async (change: string) => {
      await database.query(`alter system ${change}`);
      await database.query('select pg_reload_conf()');
      await pause(RELOADED_MS);
    };
    await database.query(`alter system set log_line_prefix = '%a| '`);
    await log(`set log_statement = 'all'`);
    this.byProgram.clear();
    await task();
    const total = [...this.byProgram.values()].reduce((sum, count) => sum + count, 0);
    await log('reset log_statement');
    return total;
  }
}
