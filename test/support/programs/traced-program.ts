import { Session } from 'node:inspector/promises';

/**
 * Loaded before the api or the worker that a test starts, by `--import`: asked by the test, it names the scripts of which a function
 * ran since it was asked the last time. The code of a module itself, which runs when it is loaded, does not count.
 */
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

process.on('message', (message: { readonly type?: string }) => {
  if (message.type !== 'trace') return;
  void trace();
});

async function trace(): Promise<void> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const ran = result.filter(({ functions }) =>
    functions.some(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0),
  );
  process.send?.({ type: 'traced', scripts: ran.map(({ url }) => url) });
}

process.channel?.unref();
