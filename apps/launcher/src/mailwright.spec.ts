import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';

interface Outcome {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built command where no installation is. */
function mailwright(...args: readonly string[]): Promise<Outcome> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const file = resolve('dist/apps/launcher/src/mailwright.js');
  return new Promise((done) => {
    const options = { cwd: tmpdir(), env: { PATH, NODE_COMPILE_CACHE } };
    const program = execFile(process.execPath, [file, ...args], options, (_error, stdout, stderr) =>
      done({ exitCode: program.exitCode, stdout, stderr }),
    );
  });
}

describe('the command mailwright', () => {
  it.each(['api', 'worker', 'health'])('shows the usage of %s, which takes no arguments', async (name) => {
    const usage = `Usage: mailwright ${name}\n\nIt takes no arguments: its settings are environment variables (docs/configuration.md).\n`;
    for (const help of ['--help', '-h'])
      expect(await mailwright(name, help)).toEqual({ exitCode: 0, stdout: usage, stderr: '' });
    expect(await mailwright(name, '--port', '4790')).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: `unknown option '--port'\nSee: mailwright ${name} --help\n`,
    });
    expect(await mailwright(name, 'extra')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("unknown argument 'extra'"),
    });
  });

  it.each(['start', 'demo'])('ends %s with 2 when the command line is wrong', async (name) => {
    expect(await mailwright(name, '--colour')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("unknown option '--colour'"),
    });
    expect(await mailwright(name, '--help')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('Usage: '),
    });
  });
});
