import { withLocalInstallation } from './local-installation.js';
import { run } from './program.js';

// A closed pipe (`mailwright key:list | head`) is no reason to fail.
process.stdout.on('error', () => undefined);
const env = await withLocalInstallation(process.env, '.data');
process.exitCode = await run(process.argv.slice(2), {
  env,
  isLocalInstallation: env !== process.env,
  print: (text) => process.stdout.write(text),
  complain: (text) => process.stderr.write(text),
});
