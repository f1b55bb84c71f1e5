import { DatabaseClock } from '../../../libs/platform/src/database/clock.js';
import type { Database } from '../../../libs/platform/src/database/database.js';

/**
 * Loaded before the api or the worker that a test starts, by `--import`: asked by the test, its clock reads the time of
 * the database again, at once instead of within seconds. The programs themselves have no part in it, so that nobody can
 * ask them in production.
 */
const follow = Object.getOwnPropertyDescriptor(DatabaseClock.prototype, 'follow')?.value as (
  this: DatabaseClock,
  database: Database,
) => Promise<void>;

DatabaseClock.prototype.follow = async function (this: DatabaseClock, database) {
  process.on('message', (message: { readonly type?: string }) => {
    if (message.type !== 'read-clock') return;
    void this.stop()
      .then(() => follow.call(this, database))
      .then(() => process.send?.({ type: 'clock-read' }));
  });
  process.channel?.unref();
  await follow.call(this, database);
};
