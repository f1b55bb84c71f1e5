import { withLocalInstallation } from './local-installation.js';
import { run } from './program.js';

const env = await withLocalInstallation(process.env, '.data');
process.exitCode = await run(process.argv.slice(2), {
  env,
  isLocalInstallation: env !== process.env,
  print: (text) => process.stdout.write(text),
  complain: (text) => process.stderr.write(text),
});
