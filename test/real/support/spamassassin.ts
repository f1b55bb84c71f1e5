import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { executableOf } from '../parts.js';
import type { FilterVerdict } from './filter-verdict.js';

/** Without what needs a network, or learns. */
const SETTINGS = [
  'use_bayes 0',
  'use_auto_welcomelist 0',
  'clear_headers',
  'add_header all Verdict _SCORE_ _TESTSSCORES(,)_',
  'fold_headers 0',
];

/** Has SpamAssassin look at a mail by its local rules. `home` is a directory of its own. */
export async function spamAssassinVerdict(raw: Buffer, home: string): Promise<FilterVerdict> {
  const options = SETTINGS.map((line) => `--cf=${line}`);
  const program = spawn(
    executableOf('spamassassin'),
    ['--local', '--nocreate-prefs', '--prefspath=/dev/null', ...options],
    {
      env: { PATH: process.env['PATH'], HOME: home, LC_ALL: 'C' },
    },
  );
  program.stdin.end(raw);
  const [marked, complaints, [code]] = await Promise.all([
    text(program.stdout),
    text(program.stderr),
    once(program, 'close') as Promise<[number]>,
  ]);
  const [, score, tests] = /^X-Spam-Verdict: (-?[\d.]+) (\S*)$/m.exec(marked) ?? [];
  if (code !== 0 || score === undefined || tests === undefined)
    throw new Error(`spamassassin ended with ${code}: ${complaints}`);
  return { score: Number(score), symbols: new Map(tests.split(',').map(asSymbol)) };
}

function asSymbol(test: string): [string, number] {
  const [name = '', points] = test.split('=');
  return [name, Number(points ?? 0)];
}
