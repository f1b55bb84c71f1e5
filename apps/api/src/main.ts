import 'reflect-metadata';
import { loadConfig, watchParent } from '#platform';
import { startApi, startFailure } from './start-api.js';

watchParent(() => process.kill(process.pid, 'SIGTERM'));
try {
  const { app, url, port } = await startApi(loadConfig(process.env));
  app.enableShutdownHooks([], { useProcessExit: true });
  if (process.send === undefined) process.stdout.write(`api listening on ${url}\n`);
  else process.send({ type: 'listening', port });
} catch (error) {
  process.stderr.write(`${startFailure(error)}\n`);
  process.exit(1);
}
