import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import spectralCore, { type RulesetDefinition } from '@stoplight/spectral-core';
import spectralRulesets from '@stoplight/spectral-rulesets';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { schemaFaults } from '#testing/http/openapi-validation';
import { type SharedSystem, sharedSystem } from '#testing/programs/system';

const { Spectral } = spectralCore;
const { oas } = spectralRulesets;

interface MediaType {
  readonly examples?: Readonly<Record<string, { readonly $ref: string }>>;
}

interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, MediaType>> }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
    readonly responses: Operation['responses'];
  };
}

/** The documents of the API and of the operator's, by the path that they are served at. */
const FILES = {
  '/openapi.json': 'docs/openapi.json',
  '/operator/v1/openapi.json': 'docs/operator-openapi.json',
};

describe.each(Object.entries(FILES))('the document %s', (path, kept) => {
  const file = join(projectRoot(), kept);
  let system: SharedSystem;
  let served: Document;
  let operations: readonly Operation[];

  beforeAll(async () => {
    system = await sharedSystem();
    const text = await (await fetch(`${system.baseUrl}${path}`)).text();
    const [server] = (JSON.parse(text) as { readonly servers: readonly { readonly url: string }[] }).servers;
    served = JSON.parse(text.replaceAll(server?.url ?? '', 'https://mailwright.example')) as Document;
    operations = Object.values(served.paths).flatMap((methods) => Object.values(methods));
    if (process.env['UPDATE_OPENAPI'] === '1') writeFileSync(file, `${JSON.stringify(served, null, 2)}\n`);
  });

  afterAll(() => system?.stop());

  it('is what the api serves (UPDATE_OPENAPI=1 writes it)', () => {
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(served);
  });

  it('gives no object as a default, for which generators of clients leave an operation out', () => {
    // A property of this name is none.
    const withoutNames = (name: string, value: unknown) =>
      name === 'properties' ? Object.values(value as object) : value;
    expect(JSON.stringify(served, withoutNames)).not.toMatch(/"default":[{[]/);
  });

  it('has an example of every problem of every operation', () => {
    const all = [served.components, ...operations];
    const problems = all.flatMap(({ responses }) =>
      Object.values(responses).flatMap(({ content }) => content?.['application/problem+json'] ?? []),
    );
    expect(problems.length).toBeGreaterThan(50);
    const named = problems.map(({ examples = {} }) => Object.entries(examples));
    expect(named.filter((entries) => entries.length === 0)).toEqual([]);
    for (const [slug, { $ref }] of named.flat()) {
      const { value } = served.components.examples[$ref.replace('#/components/examples/', '')] ?? {};
      expect([$ref, value]).toEqual([
        $ref,
        expect.objectContaining({ type: expect.stringMatching(`/${slug}$`) }),
      ]);
      expect([$ref, schemaFaults(served, { $ref: '#/components/schemas/Problem' }, value)]).toEqual([
        $ref,
        [],
      ]);
    }
  });

  it('has no finding of Spectral’s ruleset for OpenAPI', async () => {
    const spectral = new Spectral();
    spectral.setRuleset({ extends: [oas as RulesetDefinition] });
    const document = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    expect(await spectral.run(document)).toEqual([]);
  });

  it('says of every operation what it does, in plain words, under one tag', () => {
    for (const { operationId, summary, tags } of operations)
      expect([operationId, summary, tags?.length]).toEqual([
        operationId,
        expect.stringMatching(/^[A-Z][^`*]+$/),
        1,
      ]);
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  });
});
