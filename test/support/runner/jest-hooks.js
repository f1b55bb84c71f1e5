// Plain JavaScript, loaded by `node --import` before Jest and in each of its processes. Test files run as Node runs the programs,
// from the build in dist/: Jest finds them by their sources.
import { registerHooks } from 'node:module';

const ROOT = new URL('../../../', import.meta.url).href;
const SPEC = /\.spec\.ts(?=\?|$)/;

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === '@jest/globals') return next(`${ROOT}test/support/runner/jest-globals.js`, context);
    if (specifier.startsWith(ROOT) && SPEC.test(specifier))
      return next(specifier.replace(ROOT, `${ROOT}dist/`).replace(SPEC, '.spec.js'), context);
    return next(specifier, context);
  },
});

// Only the processes of the run, which have been told where to, record.
await import('../../../dist/test/support/row-types/recorded-statements.js');

// jest-light-runner (0.8.2) answers the first process that asks for the run's data by telling all of them, and nobody who asks
// later: one that is still loading misses it, and waits for ever. So each keeps what it was told until it asks.
const TOLD = 'jest-light-runner-worker-data';
const ASKS = 'jest-light-runner-get-worker-data';

if (process.send !== undefined) {
  const send = process.send.bind(process);
  let told;
  const keep = (message) => {
    if (message?.type === TOLD) told = message;
  };
  // Beside the first listener, not before it: what comes while there is none is kept by Node.
  const listenToo = (event) => {
    if (event !== 'message') return;
    process.off('newListener', listenToo);
    process.on('message', keep);
  };
  process.on('newListener', listenToo);
  process.send = (message, ...rest) => {
    if (message === ASKS && told !== undefined) setImmediate(() => process.emit('message', told));
    return send(message, ...rest);
  };
}
