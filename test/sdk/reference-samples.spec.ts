import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { compileIn, installSdk } from '#testing/http/sample-room';

interface Operation {
  readonly operationId: string;
  readonly 'x-codeSamples'?: readonly { readonly lang: string; readonly source: string }[];
}

/** Only ends a hang. */
const COMPILER_MS = 300_000;

it('every operation of the reference has a program with the SDK, which compiles', async () => {
  const operations = ['docs/openapi.json', 'docs/operator-openapi.json'].flatMap((file) => {
    const document = JSON.parse(readFileSync(join(projectRoot(), file), 'utf8')) as {
      readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    };
    return Object.values(document.paths).flatMap((methods) => Object.values(methods));
  });
  const directory = mkdtempSync(join(tmpdir(), 'mailwright-reference-'));
  try {
    await installSdk(directory);
    for (const { operationId, 'x-codeSamples': samples = [] } of operations) {
      // A stream without an end, of what another operation reads.
      const wanted = operationId === 'streamOverview' ? [] : ['typescript'];
      expect([operationId, samples.map(({ lang }) => lang)]).toEqual([operationId, wanted]);
      writeFileSync(join(directory, `${operationId}.ts`), samples[0]?.source ?? '');
    }
    expect(await compileIn(directory, ['*.ts'], COMPILER_MS)).toEqual({ exitCode: 0, output: '' });
  } finally {
    rmSync(directory, { recursive: true });
  }
});
