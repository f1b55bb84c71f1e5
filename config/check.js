// Runs every check and says all that is wrong, not the first alone: npm run check [-- --changed]
// With --changed: format, types and lint of the files that differ from main, in seconds.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const CHECKED = /^(apps|libs|packages|test|bench|config)\/.*\.(ts|js)$|^[^/.]+\.(js|json)$/;

const changed = process.argv.includes('--changed') ? changedFiles() : undefined;
const failed = [
  ...(changed === undefined ? [check('Build', 'build:all')] : []),
  check('Format (npm run format mends it)', 'format:check', ['oxfmt', '--check']),
  check('Types', 'typecheck'),
  check('Lint', 'lint', ['oxlint', '--type-aware', '--max-warnings', '0']),
  ...(changed === undefined ? [check('Borders', 'borders'), check('Dead code', 'dead-code')] : []),
].filter((name) => name !== undefined);
console.log(failed.length === 0 ? '\nAll checks passed.' : `\nFailed: ${failed.join(', ')}.`);
if (changed !== undefined) console.log('Borders and dead code need all files: npm run check.');
process.exit(failed.length === 0 ? 0 : 1);

/** Runs `command` on the changed files where it takes files, else the script on all. Returns the name of what failed. */
function check(name, script, command) {
  console.log(`\n${name}`);
  const files = changed !== undefined && command !== undefined ? changed : undefined;
  if (files?.length === 0) return undefined;
  const [program, ...options] =
    files === undefined ? ['npm', 'run', '-s', script] : ['npx', ...command, ...files];
  return spawnSync(program, options, { stdio: 'inherit' }).status === 0 ? undefined : name;
}

function changedFiles() {
  const git = (...options) => execFileSync('git', options, { encoding: 'utf8' }).split('\n');
  const [base = 'main'] = git('merge-base', 'HEAD', 'main');
  const files = [...git('diff', '--name-only', base), ...git('ls-files', '--others', '--exclude-standard')];
  return files.filter((file) => CHECKED.test(file) && existsSync(file));
}
