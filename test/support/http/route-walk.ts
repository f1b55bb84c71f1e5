import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { API_SCOPES, OPERATOR_SCOPES } from '#kernel';
import { API_PREFIX, OPERATOR_PREFIX, RouteTable } from '#platform/http';

interface WalkedResponse {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, unknown>>;
}

interface WalkedOperation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly responses: Readonly<Record<string, WalkedResponse>>;
  readonly security?: readonly unknown[];
  readonly 'x-required-scope'?: string | null;
}

interface WalkedDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, WalkedOperation>>>>;
  readonly components: { readonly responses?: Readonly<Record<string, WalkedResponse>> };
}

const NEED_KEYS = new RegExp(` (?:${API_PREFIX}|${OPERATOR_PREFIX})/(?!openapi\\.json$)`);
const PROBLEM_STATUSES = ['401', '429', '500', '503'];

/**
 * Faults of the routes of an app that has been initialised, one line each: operations without
 * a scope, an id or documented answers, and routes that are neither in `document` nor in `publicRoutes`
 * (`GET /docs`).
 */
export function faultsOfRoutes(
  app: NestFastifyApplication,
  document: WalkedDocument,
  publicRoutes: ReadonlySet<string>,
): string[] {
  const registered = app
    .get(RouteTable)
    .all()
    .filter(([method]) => method !== 'HEAD')
    .map(([method, url]) => `${method} ${url}`);
  const documented = new Set(
    operations(document).map(({ method, path }) => `${method} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
  );
  return [
    ...registered
      .filter((route) => !documented.has(route) && !publicRoutes.has(route))
      .map((route) => `${route} is not documented`),
    ...registered
      .filter((route) => publicRoutes.has(route) && NEED_KEYS.test(route))
      .map((route) => `${route} must not be public`),
    ...[...documented, ...publicRoutes]
      .filter((route) => !registered.includes(route))
      .map((route) => `${route} does not exist`),
    ...operations(document).flatMap(({ method, path, operation }) =>
      faultsOfOperation(document, operation).map((fault) => `${method} ${path} ${fault}`),
    ),
    ...repeated(operations(document).map(({ operation }) => operation.operationId ?? '')).map(
      (id) => `${id} is the id of two operations`,
    ),
  ];
}

function faultsOfOperation(document: WalkedDocument, operation: WalkedOperation): string[] {
  const { operationId = '', summary = '', tags = [], responses, security = [] } = operation;
  const scope = operation['x-required-scope'];
  const known: readonly (string | undefined)[] = [...API_SCOPES, ...OPERATOR_SCOPES];
  const hasScope = scope === null || known.includes(scope);
  const expected = typeof scope === 'string' ? [...PROBLEM_STATUSES, '403'] : PROBLEM_STATUSES;
  return [
    ...(hasScope ? [] : ['declares no scope']),
    ...(/^[a-z][A-Za-z]+$/.test(operationId) ? [] : ['has no operationId']),
    ...(summary === '' || tags.length === 0 ? ['has no summary or tag'] : []),
    ...(security.length === 2 ? [] : ['names no security scheme']),
    ...(Object.keys(responses).some((status) => status.startsWith('2')) ? [] : ['documents no success']),
    ...expected
      .filter((status) => contentOf(document, responses[status])['application/problem+json'] === undefined)
      .map((status) => `does not document ${status}`),
  ];
}

function contentOf(
  { components }: WalkedDocument,
  response: WalkedResponse = {},
): Readonly<Record<string, unknown>> {
  const name = response.$ref?.split('/').at(-1);
  return (name === undefined ? response : components.responses?.[name])?.content ?? {};
}

function operations({
  paths,
}: WalkedDocument): { method: string; path: string; operation: WalkedOperation }[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}
