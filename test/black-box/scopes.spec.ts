import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { API_SCOPES, type ApiScope } from '#kernel';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { openApiDocument, type OperationObject } from '#testing/http/openapi-validation';
import { expectProblem, timelessProblem } from '#testing/http/problems';
import { type System, sharedSystem, type SystemProject } from '#testing/programs/system';

interface DocumentedOperation {
  readonly name: string;
  readonly method: string;
  /** Below /api/v1, with an unknown resource in the place of each parameter. */
  readonly path: string;
  readonly operation: OperationObject;
}

const UNKNOWN: Readonly<Record<string, string>> = {
  email: 'nobody@example.com',
  id: '019aa3b5-0000-7000-8000-000000000000',
  locale: 'en',
};

/** Statuses of operations that need no scope; an export's depends on what it has, which `exports.spec` tries. */
const ANSWER_WITHOUT_SCOPE: Readonly<Record<string, number>> = {
  'GET /api/v1/project': 200,
  'GET /api/v1/api-keys/current': 200,
  'GET /api/v1/project/texts/{locale}': 200,
  'POST /api/v1/exports': 400,
  'GET /api/v1/exports/{id}': 404,
};

describe('a key’s scopes', () => {
  let system: System;
  let project: SystemProject;
  let operations: DocumentedOperation[];

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project('APIT');
    operations = documented((await openApiDocument(system.baseUrl)).paths);
  });
  afterAll(() => system?.stop());

  const documented = (
    paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>,
  ): DocumentedOperation[] =>
    Object.entries(paths).flatMap(([template, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        name: `${method.toUpperCase()} ${template}`,
        method: method.toUpperCase(),
        path: template
          .replace('/api/v1', '')
          .replaceAll(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(UNKNOWN[name] ?? 'APIT-999')),
        operation,
      })),
    );
  const scopeOf = ({ operation }: DocumentedOperation) => operation['x-required-scope'];
  /** A body that cannot be read: the scope is looked at first, and an allowed call changes nothing. */
  const call = (client: ApiClient, { method, path, operation }: DocumentedOperation): Promise<ApiAnswer> =>
    client.request(method, path, operation.requestBody === undefined ? {} : { body: '{' });
  const keyWith = (scopes: readonly ApiScope[]) => project.client('TEST', { scopes });

  it('are needed by every operation but those that show the project and its texts, or take that of an export’s rows', () => {
    expect(operations.length).toBeGreaterThanOrEqual(75);
    const free = operations.filter((each) => scopeOf(each) === null).map(({ name }) => name);
    expect(free.toSorted()).toEqual(Object.keys(ANSWER_WITHOUT_SCOPE).toSorted());
    const needed = new Set(operations.map(scopeOf));
    expect(API_SCOPES.filter((scope) => !needed.has(scope))).toEqual([]);
  });

  it('open nothing when there are none: every operation names the scope that it needs', async () => {
    const none = await keyWith([]);
    for (const each of operations) {
      const answer = await call(none, each);
      const requiredScope = scopeOf(each);
      if (requiredScope === null)
        expect([each.name, answer.status]).toEqual([each.name, ANSWER_WITHOUT_SCOPE[each.name]]);
      else expectProblem(answer, 403, 'insufficient-scope', { requiredScope });
    }
  });

  it.each(API_SCOPES)(
    'open with %s alone the operations of that scope, which all others together do not',
    async (scope) => {
      const alone = await keyWith([scope]);
      const others = await keyWith(API_SCOPES.filter((other) => other !== scope));
      for (const each of operations.filter(
        (operation) => scopeOf(operation) === scope || scopeOf(operation) === null,
      )) {
        expect([each.name, (await call(alone, each)).status]).not.toEqual([each.name, 403]);
        const answer = await call(others, each);
        const needed = answer.status === 403 ? answer.at('requiredScope') : null;
        expect([each.name, needed]).toEqual([each.name, scopeOf(each)]);
      }
    },
  );

  it('do not tell whether a resource exists to a key that may not see it', async () => {
    const owner = await project.client('TEST');
    const topic = await owner.post('/topics', { name: 'News' });
    const none = await keyWith([]);
    const seen = await none.get(`/topics/${topic.at('topicKey')}`);
    expect(seen.status).toBe(403);
    expect(timelessProblem(seen.text)).toBe(timelessProblem((await none.get('/topics/APIT-999')).text));
  });
});
