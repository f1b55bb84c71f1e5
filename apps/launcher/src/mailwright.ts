#!/usr/bin/env node
import { fileURLToPath } from 'node:url';
import { PROGRAM_VARIABLES, programFlags } from './program-flags.js';

/**
 * The command `mailwright` of the npm package: runs the program that its first argument names, else the operator's CLI. It loads
 * nothing of ours before it knows that this Node is new enough.
 */
const OLDEST_NODE = 24;
const PROGRAMS: Readonly<Record<string, string>> = {
  start: 'launcher/src/main.js',
  demo: 'demo/src/main.js',
  api: 'api/src/main.js',
  worker: 'worker/src/main.js',
  health: 'launcher/src/health.js',
};
/** Programs that know their settings by the environment alone. */
const WITHOUT_ARGUMENTS = ['api', 'worker', 'health'];

if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
  process.stderr.write(
    `Mailwright needs Node ${OLDEST_NODE} or newer; ${process.execPath} is ${process.versions.node}.\n` +
      `Install it from https://nodejs.org, or have npm bring one: npx -p node@${OLDEST_NODE} -p mailwright mailwright start\n`,
  );
  process.exit(1);
}

const [name = '', argument] = process.argv.slice(2);
if (WITHOUT_ARGUMENTS.includes(name) && argument !== undefined) {
  if (argument === '--help' || argument === '-h') {
    process.stdout.write(
      `Usage: mailwright ${name}\n\nIt takes no arguments: its settings are environment variables (docs/configuration.md).\n`,
    );
    process.exit(0);
  }
  const kind = argument.startsWith('-') ? 'option' : 'argument';
  process.stderr.write(`unknown ${kind} '${argument}'\nSee: mailwright ${name} --help\n`);
  process.exit(2);
}
const program = PROGRAMS[name];
if (program !== undefined) process.argv.splice(2, 1);
const file = new URL(`../../${program ?? 'cli/src/main.js'}`, import.meta.url);

// Node takes these flags at its start alone. The program becomes this very process, so that signals and its parent are its own.
if ((name === 'api' || name === 'worker') && process.execArgv.length === 0 && process.platform !== 'win32') {
  const args = [process.execPath, ...programFlags(name), fileURLToPath(file), ...process.argv.slice(2)];
  process.execve?.(process.execPath, args, { ...PROGRAM_VARIABLES, ...process.env });
}
await import(file.href);
