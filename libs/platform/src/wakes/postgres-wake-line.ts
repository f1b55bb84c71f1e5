import { type RawBuilder, sql } from 'kysely';
import type { WakeLine } from './wakes.js';

/** NOTIFY, by `run` in a transaction of its own that waits for no disk: all others that notify wait for it. */
export function postgresWakeLine(run: (notify: RawBuilder<unknown>) => Promise<unknown>): WakeLine {
  return {
    send: (wakes) => {
      const channels = wakes.map(({ channel }) => channel);
      const payloads = wakes.map(({ payload }) => payload);
      return run(sql`
        select pg_notify(channel, payload) from unnest(${channels}::text[], ${payloads}::text[]) w(channel, payload)
      `);
    },
    close: () => undefined,
  };
}
