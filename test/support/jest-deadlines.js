// Loaded once in each of Jest's processes: jest-light-runner has no deadlines of its own.
import { addEventHandler } from 'jest-circus';

// Kept, since tests stop time.
const { setTimeout, clearTimeout } = globalThis;
/** Only ends a hang. */
const DEADLINE_MS = 10 * 60_000;

addEventHandler((event, { currentDescribeBlock }) => {
  if (event.name === 'add_test') limit(currentDescribeBlock.children.at(-1));
  if (event.name === 'add_hook') limit(currentDescribeBlock.hooks.at(-1));
});

function limit(added) {
  const { fn, timeout = DEADLINE_MS } = added;
  if (fn === undefined) return;
  added.fn = async () => {
    let timer;
    const hang = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`It did not end within ${timeout} ms.`)), timeout);
    });
    await Promise.race([Promise.resolve().then(fn), hang]).finally(() => clearTimeout(timer));
  };
}
