import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { KNOWN_MODULES } from '#testing/programs/program';

interface Line {
  readonly level: string;
  readonly process: string;
  readonly msg: string;
}

/** Both write by the same log: of what ends them each shows its half, and in the full run all of it. */
const isFull = process.env['FULL'] !== undefined;
const REFUSALS = [
  ['api', { LOG_LEVEL: 'loud' }, /^The configuration is not valid:\n/],
  ['worker', { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }, /PostgreSQL does not answer/],
  ['api', { HOST: '192.0.2.1', PORT: '0' }, /^HOST is 192\.0\.2\.1, which is no address of this machine\.$/],
] as const;

describe.each(['api', 'worker'] as const)('with LOG_FORMAT=json, every line of the %s is JSON', (program) => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase();
  });

  afterAll(() => test.drop());

  /** All lines that it writes until it ends; it gets a signal when it runs, and SIGTERM at the first line that `isEnough`. */
  async function linesOf(
    variables: Readonly<Record<string, string>>,
    { code = '', isEnough = () => false }: { code?: string; isEnough?: (line: Line) => boolean } = {},
  ): Promise<Line[]> {
    const onSignal = `process.on('SIGUSR2', () => { ${code} })`;
    const child = spawn(
      process.execPath,
      [
        ...KNOWN_MODULES,
        '--import',
        `data:text/javascript,${encodeURIComponent(onSignal)}`,
        `dist/apps/${program}/src/main.js`,
      ],
      {
        cwd: projectRoot(),
        env: {
          NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
          DATABASE_URL: test.url,
          PORT: '0',
          LOG_FORMAT: 'json',
          ...variables,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const lines: Line[] = [];
    const read = async (stream: NodeJS.ReadableStream) => {
      for await (const line of createInterface({ input: stream })) {
        const parsed = JSON.parse(line) as Line;
        lines.push(parsed);
        if (/listening on|running/.test(parsed.msg)) child.kill('SIGUSR2');
        if (isEnough(parsed)) child.kill('SIGTERM');
      }
    };
    await Promise.all([read(child.stdout), read(child.stderr)]);
    return lines;
  }

  const textsOf = (lines: readonly Line[]) => lines.map(({ level, msg }) => `${level}: ${msg}`);

  it('when it starts, Node or a library says something, and it stops', async () => {
    const code = `
      process.emitWarning('a warning of Node');
      setImmediate(() => console.warn('a warning of a library, for %s', 'jane@example.com'));`;
    const lines = await linesOf({}, { code, isEnough: ({ msg }) => msg.includes('a warning of a library') });
    expect(lines).toContainEqual(expect.objectContaining({ level: 'info', process: program }));
    expect(textsOf(lines)).toEqual(
      expect.arrayContaining(['warn: a warning of Node', 'warn: a warning of a library, for [address]']),
    );
  });

  it('when it does not start', async () => {
    for (const [of, variables, why] of REFUSALS) {
      if (of !== program && !isFull) continue;
      const lines = await linesOf(variables);
      expect(lines).toEqual([
        expect.objectContaining({ level: 'fatal', process: program, msg: expect.stringMatching(why) }),
      ]);
    }
  });

  it('when an error is caught by nobody', async () => {
    const lines = await linesOf({}, { code: `throw new Error('caught by nobody');` });
    expect(textsOf(lines)).toContain('fatal: caught by nobody');
  });
});
