import { withLocalInstallation } from './local-installation.js';
import { run } from './program.js';

process.exitCode = await run(process.argv.slice(2), {
  env: await withLocalInstallation(process.env, '.data'),
  print: (text) => process.stdout.write(text),
  complain: (text) => process.stderr.write(text),
});
