// Rules for each test and hook. Loaded once in each of Jest's processes: jest-light-runner has none of it.
import { addEventHandler } from 'jest-circus';

// Kept, since tests stop time.
const { setTimeout, clearTimeout, setImmediate } = globalThis;
/** Only ends a hang. */
const DEADLINE_MS = 10 * 60_000;
/** Errors that nobody awaits, by their promises. Node would end the process at one that is awaited a moment later. */
const unawaited = new Map();

process.on('unhandledRejection', (error, promise) => unawaited.set(promise, error));
process.on('rejectionHandled', (promise) => unawaited.delete(promise));

addEventHandler((event, { currentDescribeBlock }) => {
  if (event.name === 'add_test') hold(currentDescribeBlock.children.at(-1));
  if (event.name === 'add_hook') hold(currentDescribeBlock.hooks.at(-1));
});

function hold(added) {
  const { fn, timeout = DEADLINE_MS } = added;
  if (fn === undefined) return;
  added.fn = async () => {
    let timer;
    const hang = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`It did not end within ${timeout} ms.`)), timeout);
    });
    await Promise.race([Promise.resolve().then(fn), hang]).finally(() => clearTimeout(timer));
    await refuseUnawaited();
  };
}

/** Throws the first error that nobody has awaited: in a program of ours it would have ended the process. */
async function refuseUnawaited() {
  await new Promise((resolve) => setImmediate(resolve));
  const [error] = unawaited.values();
  const isAny = unawaited.size > 0;
  unawaited.clear();
  if (isAny) throw error;
}
