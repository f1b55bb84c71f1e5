import { spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { type CodeSample, samplesOf } from '#testing/fixtures/code-samples';
import { compileIn, installSdk, openRoom, runIn, type SampleRoom } from '#testing/http/sample-room';
import { sharedSystem, type System } from '#testing/programs/system';

const ROOT = projectRoot();
const PAGES = [
  ...globSync('docs/{,internals/,relays/,guides/}*.md', { cwd: ROOT }),
  'packages/sdk/README.md',
].sort();
const SAMPLES = await Promise.all(
  PAGES.map(async (page) => samplesOf(page, await readFile(join(ROOT, page), 'utf8'))),
).then((pages) => pages.flat());

const SHELL = ['sh', 'bash'];
/** Languages of samples that are shown and do nothing. */
const SHOWN = ['text', 'http', 'html', 'mermaid', 'yaml'];
/** Interpreters of what users of other languages copy, by the language of a fence; one that is not installed runs nothing. */
const INTERPRETERS = { python: ['python3', 'py'], ruby: ['ruby', 'rb'], php: ['php', 'php'] } as const;
/** Only ends a hang. */
const PROGRAM_MS = 300_000;
const PAGE_MS = 2 * PROGRAM_MS;
/** The few for which there is a reason, beside those that set up something of the reader's own. */
const MOST_LEFT_OUT = 12;
const READERS_OWN = /^(?:it changes (?:the machine|your account at \w+)|it needs the installation above)$/;
const RUN_ELSEWHERE = /^(?<spec>test\/[\w/-]+\.spec\.ts) runs it$/;
/** Scopes of the key that a page makes for its samples. */
const OPERATOR_SCOPES = /operator-key:create (?:.|\\\n)*--scopes (?<scopes>\S+)/;

const run = SAMPLES.filter(({ notRunBecause }) => notRunBecause === null);
const shell = run.filter(({ language }) => SHELL.includes(language));
const programs = run.filter(({ language }) => language === 'ts');
const json = run.filter(({ language }) => language === 'json');
const sql = run.filter(({ language }) => language === 'sql');

/** A failing request or command ends the script; `npm run cli` runs in the shared system, which has loaded the program. */
const STRICT = `set -euo pipefail
curl() { command curl --fail-with-body "$@"; }
npm() {
  [ "$1 $2 $3" = 'run cli --' ] || { echo "The tests do not run npm $*" >&2; return 1; }
  node "$ROOT/test/support/programs/call-cli.js" "\${@:4}"
}
command -v python3 > /dev/null || python3() { echo "No python3 here: $* is not run." >&2; }
`;

describe('the code in the documentation', () => {
  let system: System;
  let directory: string;
  const rooms = new Map<string, SampleRoom>();

  const roomOf = async (page: string): Promise<SampleRoom> => {
    const commands = shell.filter((sample) => sample.page === page).map(({ code }) => code);
    const isOperators =
      sql.some((sample) => sample.page === page) || commands.some((code) => code.includes('npm run cli'));
    const makesAcme = commands.some((code) => code.includes('tenant:create'));
    const operatorScopes = OPERATOR_SCOPES.exec(commands.join(''))?.groups?.['scopes'];
    const own = join(directory, page.replaceAll(/\W/g, '-'));
    const room = rooms.get(page) ?? (await openRoom(system, own, { isOperators, makesAcme, operatorScopes }));
    rooms.set(page, room);
    return room;
  };

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'mailwright-samples-'));
    await installSdk(directory);
    system = await sharedSystem();
  });

  afterAll(async () => {
    await system?.stop();
    for (const { database } of rooms.values()) await database?.drop();
    await rm(directory, { recursive: true, force: true });
  });

  it('is of a kind that the tests know', () => {
    // Code for a compiler of the reader's own is run by the spec that it names.
    const known = [...SHELL, ...SHOWN, ...Object.keys(INTERPRETERS), 'ts', 'json', 'sql'];
    const isKnown = ({ language, notRunBecause }: (typeof SAMPLES)[number]) =>
      known.includes(language) || (language === 'tsx' && RUN_ELSEWHERE.test(notRunBecause ?? ''));
    expect(SAMPLES.filter((sample) => !isKnown(sample)).map(placeOf)).toEqual([]);
    const hidden = SAMPLES.filter(
      ({ language, code }) => SHOWN.includes(language) && /^(?:curl|npm|import) /m.test(code),
    );
    expect(hidden.map(placeOf)).toEqual([]);
  });

  it('is left out for a reason, and seldom', () => {
    const reasons = SAMPLES.flatMap(({ notRunBecause }) => notRunBecause ?? []);
    const leftOut = reasons.filter((reason) => !READERS_OWN.test(reason) && !RUN_ELSEWHERE.test(reason));
    expect(leftOut.length).toBeLessThanOrEqual(MOST_LEFT_OUT);
    expect(shell.length).toBeGreaterThan(MOST_LEFT_OUT);
  });

  it('is run by the test that it names', () => {
    const named = SAMPLES.flatMap(({ notRunBecause, ...sample }) => {
      const spec = RUN_ELSEWHERE.exec(notRunBecause ?? '')?.groups?.['spec'];
      return spec === undefined ? [] : [{ ...sample, spec }];
    });
    expect(named.filter(({ spec }) => !existsSync(join(ROOT, spec))).map(placeOf)).toEqual([]);
  });

  describe.each(pagesOf(shell))('as commands on %s', (page) => {
    it(
      'does what it says, from top to bottom',
      async () => {
        const room = await roomOf(page);
        const script = shell.filter((sample) => sample.page === page).map(announced);
        const outcome = await runIn(room, 'bash', ['--norc', '-c', STRICT + script.join('')], PROGRAM_MS);
        expect([outcome.exitCode, outcome.exitCode === 0 ? '' : outcome.output]).toEqual([0, '']);
      },
      PAGE_MS,
    );
  });

  describe.each(pagesOf(sql))('as SQL on %s', (page) => {
    it('is understood by the database', async () => {
      const { database } = await roomOf(page);
      const statements = sql
        .filter((sample) => sample.page === page)
        .flatMap(({ code }) => code.split(/;.*$/m));
      for (const statement of statements.filter((text) => text.trim() !== ''))
        await database!.query(statement);
    });
  });

  it.each(pagesOf(json).map((page) => [page]))('is JSON that the API takes, on %s', async (page) => {
    const { client } = await roomOf(page);
    const values = json
      .filter((sample) => sample.page === page)
      .map((sample) => ({ place: placeOf(sample), value: JSON.parse(sample.code) as unknown }));
    for (const { place, value } of values.filter((sample) => isRules(sample.value))) {
      const answer = await client.post('/segments/preview', { rules: JSON.stringify(value) });
      expect([place, answer.status, answer.text]).toEqual([place, 200, answer.text]);
    }
    const lists = values.filter(({ value }) => Array.isArray(value));
    for (const [index, { place, value: nodes }] of lists.entries()) {
      if (index % 2 === 1) continue;
      const triggerTopicId = (await client.get('/topics/DEMO-2')).at('id');
      const created = await client.post('/automations', {
        name: place,
        triggerType: 'subscriber_joins_list',
        triggerTopicId,
      });
      const content = { nodes: JSON.stringify(nodes), edges: JSON.stringify(lists[index + 1]?.value) };
      const answer = await client.patch(`/automations/${created.at('automationKey')}/content`, content);
      expect([place, answer.status, answer.text]).toEqual([place, 200, answer.text]);
      const active = await client.post(`/automations/${created.at('automationKey')}/activate`);
      expect([place, active.status, active.text]).toEqual([place, 200, active.text]);
    }
  });

  it.each(pagesOf(programs).map((page) => [page]))(
    'is a program that compiles and runs, on %s',
    async (page) => {
      const room = await roomOf(page);
      const blocks = programs.filter((sample) => sample.page === page);
      const file = join(room.directory, 'sample.ts');
      await writeFile(file, blocks.map(({ code }) => code).join('\n'));
      const types = await compileIn(room.directory, ['sample.ts'], PROGRAM_MS);
      expect(types).toEqual({ exitCode: 0, output: '' });
      const outcome = await runIn(room, process.execPath, [file], PROGRAM_MS);
      expect([outcome.exitCode, outcome.exitCode === 0 ? '' : outcome.output]).toEqual([0, '']);
    },
    PAGE_MS,
  );

  describe.each(Object.entries(INTERPRETERS))('in %s', (language, [program, ending]) => {
    const samples = run.filter((sample) => sample.language === language);
    const itWhere = spawnSync(program, ['--version']).status === 0 ? it : it.skip;
    itWhere.each(pagesOf(samples).map((page) => [page]))('runs, on %s', async (page) => {
      const room = await roomOf(page);
      const file = join(room.directory, `sample.${ending}`);
      const code = samples.filter((sample) => sample.page === page).map((sample) => sample.code);
      await writeFile(file, code.join('\n'));
      const outcome = await runIn(room, program, [file], PROGRAM_MS);
      expect([outcome.exitCode, outcome.exitCode === 0 ? '' : outcome.output]).toEqual([0, '']);
    });
  });
});

/** With its place in the output before it, so that one sees which one failed. */
function announced(sample: CodeSample): string {
  return `echo '--- ${placeOf(sample)}' >&2\n${sample.code}\n`;
}

function placeOf({ page, line }: Pick<CodeSample, 'page' | 'line'>): string {
  return `${page}:${line}`;
}

function pagesOf(samples: readonly CodeSample[]): string[] {
  return [...new Set(samples.map(({ page }) => page))];
}

function isRules(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'where' in value;
}
