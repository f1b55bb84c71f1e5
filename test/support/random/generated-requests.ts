import { ANY_BY_NAME, PLAIN_BY_NAME } from '../fixtures/embedded-documents.js';
import { HOSTILE_NAMES, HOSTILE_TEXTS, known, LARGE_TEXTS, RAW_BODIES, toJson } from './hostile-values.js';
import type { OpenApiDocument, OperationObject } from '../http/openapi-validation.js';
import * as fc from './properties.js';
import { type Making, type Schema, valuesOf } from './schema-arbitrary.js';

/** A request as it is put on the wire, but for placeholders: see `fillIn`. */
export interface GeneratedRequest {
  readonly method: string;
  readonly template: string;
  /** With the query, escaped. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly schema?: Schema;
}
interface Body {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}

/** Numbers of hostile values among 100 in a request, and the weights of such requests. */
const HOSTILITIES = [
  { hostility: 0, weight: 5 },
  { hostility: 5, weight: 2 },
  { hostility: 15, weight: 1 },
  { hostility: 40, weight: 1 },
] as const;
/** Kinds of resources behind a path's `{id}`. */
const IDS = [
  ['/api/v1/subscriber-imports', 'importId'],
  ['/api/v1/suppression-imports', 'suppressionImportId'],
  ['/api/v1/exports', 'exportId'],
  ['/api/v1/messages', 'messageId'],
  ['/api/v1/api-keys', 'apiKeyId'],
] as const;
const NO_BODY_METHODS = new Set(['get', 'head']);

/** Requests for one operation: well-formed ones, nearly well-formed ones, and others. */
export function requestsOf(
  document: OpenApiDocument,
  template: string,
  method: string,
  operation: OperationObject,
): fc.Arbitrary<GeneratedRequest> {
  return fc.oneof(
    ...HOSTILITIES.map(({ hostility, weight }) => {
      const byName = hostility === 0 ? PLAIN_BY_NAME : ANY_BY_NAME;
      const making: Making = { resolve: resolverOf(document), byName: (name) => byName[name], hostility };
      const arbitrary = fc
        .record({
          path: pathsOf(template, method, hostility),
          query: queriesOf(operation, making),
          headers: headersOf(operation, hostility),
          body: bodiesOf(operation, method, making),
        })
        .map(({ path, query, headers, body }) => ({
          method: method.toUpperCase(),
          template,
          path: path + query,
          headers: { ...(body === undefined ? {} : { 'content-type': body.type }), ...headers },
          body: body?.text,
        }));
      return { arbitrary, weight };
    }),
  );
}

function resolverOf(document: OpenApiDocument): Making['resolve'] {
  const schemas = document.components?.schemas ?? {};
  return (reference) => {
    const schema = schemas[reference.split('/').at(-1) ?? ''];
    if (schema === undefined) throw new Error(`${reference} is not in the document.`);
    return schema;
  };
}

/** Escapes also what `encodeURIComponent` refuses: half a surrogate pair becomes the bytes that no UTF-8 has. */
function escaped(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll('%EF%BF%BD', '%ED%A0%80').replaceAll('.', '%2E');
}
/** Placeholders stay as they are, to be filled in and escaped when the request is sent. */
const inUrl = (text: string): string => (text.startsWith('{{known:') ? text : escaped(text));
const pathTexts = fc.oneof(
  fc.constantFrom(...HOSTILE_TEXTS.filter((text) => !text.startsWith('{{'))).map(escaped),
  fc.constantFrom('%', '%f', '%ff', '%c0%af', '%00', '', '..%2f..', 'a'.repeat(4_000)),
);

function pathsOf(template: string, method: string, hostility: number): fc.Arbitrary<string> {
  // Few deletions of known resources: a deleted one is no longer there for the others.
  const strange = method === 'delete' ? 10 : hostility === 0 ? 0 : 2;
  const parts = template.split('/').map((part) => {
    if (!part.startsWith('{')) return fc.constant(part);
    const [, kindOfId] = IDS.find(([path]) => template.startsWith(path)) ?? [];
    const kind = (part === '{id}' ? kindOfId : undefined) ?? part.slice(1, -1);
    return fc.oneof(
      { weight: 5, arbitrary: fc.nat(1_000).map((index) => known(kind, index)) },
      { weight: strange, arbitrary: pathTexts },
    );
  });
  return fc.tuple(...parts).map((each) => each.join('/'));
}

function queriesOf(operation: OperationObject, making: Making): fc.Arbitrary<string> {
  const { parameters = [] } = operation;
  const valueOf = ({ name, schema = {} }: Parameter) =>
    name === 'fields' && making.hostility === 0
      ? fc.constantFrom(...fieldsOf(operation, making))
      : valuesOf(schema, making, name);
  const documented = (parameters as readonly Parameter[]).filter((each) => each.in === 'query');
  const pairs = documented.map((parameter) =>
    fc.option(
      valueOf(parameter).map((value) => [parameter.name, value] as const),
      { nil: undefined, freq: 3 },
    ),
  );
  const names = fc.constantFrom(...documented.map(({ name }) => name), ...HOSTILE_NAMES, 'page[]', 'page[a]');
  const strange = fc.array(fc.tuple(names, fc.constantFrom(...HOSTILE_TEXTS)), {
    maxLength: making.hostility === 0 ? 0 : 2,
  });
  return fc.tuple(fc.tuple(...pairs), strange).map(([own, more]) => {
    const all = [...own.filter((pair) => pair !== undefined), ...more];
    const text = all.map(([name, value]) => `${escaped(name)}=${inUrl(asText(value))}`).join('&');
    return text === '' ? '' : `?${text}`;
  });
}

/** Names of the properties of an operation's answer, or of the items of its page or array. */
function fieldsOf({ responses }: OperationObject, { resolve }: Making): string[] {
  const open = (schema: Schema = {}): Schema => (schema.$ref === undefined ? schema : resolve(schema.$ref));
  const answer = open(responses['200']?.content?.['application/json']?.schema);
  const { data, ...others } = open(answer.items).properties ?? answer.properties ?? {};
  return Object.keys(open(open(data).items).properties ?? others);
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : toJson(value));

/** Values of headers that an HTTP client lets through: without control characters. */
const headerTexts = fc.constantFrom(
  'key-1',
  'true',
  'x',
  '~'.repeat(256),
  '%0d%0a',
  "' or 1=1 --",
  '\u00e9',
  '0',
  '*/*;q=x',
  ',,,',
);

function headersOf(operation: OperationObject, hostility: number): fc.Arbitrary<Record<string, string>> {
  const { parameters = [] } = operation;
  const own = parameters.filter((each) => each.in === 'header').map(({ name }) => name.toLowerCase());
  const values = hostility === 0 ? fc.constantFrom('true', 'key-2') : headerTexts;
  const documented = fc.dictionary(fc.constantFrom('x-nothing', 'x-more', ...own), values, { maxKeys: 1 });
  if (hostility < 40) return documented;
  const strange = fc.constantFrom<Record<string, string>>(
    {},
    { accept: 'text/html' },
    { accept: '\u00e9' },
    { 'content-type': 'application/json; charset=utf-16' },
    { 'content-type': 'application/json;charset="' },
    { 'content-type': 'text/csv' },
    { 'content-type': 'multipart/form-data' },
    { 'content-type': '\u00e9' },
    { 'content-encoding': 'gzip' },
    { 'x-request-id': '${jndi:ldap://x}' },
    { 'x-forwarded-for': '::1, x, 256.256.256.256' },
    { 'x-http-method-override': 'DELETE' },
    { 'accept-language': 'x'.repeat(2_000) },
    { authorization: 'Bearer x' },
    { host: 'evil.example' },
  );
  return fc.tuple(documented, strange).map(([some, more]) => ({ ...some, ...more }));
}

function bodiesOf(
  { requestBody }: OperationObject,
  method: string,
  making: Making,
): fc.Arbitrary<{ readonly type: string; readonly text: string } | undefined> {
  if (NO_BODY_METHODS.has(method)) return fc.constant(undefined);
  const json = 'application/json';
  const raw = fc.constantFrom(...RAW_BODIES).map((text) => ({ type: json, text }));
  if (requestBody === undefined) {
    const none = { weight: 9, arbitrary: fc.constant(undefined) };
    return fc.oneof(none, { weight: 1, arbitrary: raw });
  }
  const { content = {} } = requestBody as Body;
  const sound = Object.entries(content).map(([type, { schema = {} }]) => {
    const texts = type === json ? valuesOf(schema, making).map(toJson) : csvTexts;
    return texts.map((text) => ({ type, text }));
  });
  if (making.hostility === 0) return fc.oneof(...sound);
  return fc.oneof({ weight: 8, arbitrary: fc.oneof(...sound) }, { weight: 1, arbitrary: raw });
}

const cells = fc.oneof(
  fc.emailAddress(),
  fc.constantFrom('email', 'firstName', 'customFields.plan', '"', '""', '\r', '\n', ';', '\t'),
  fc.constantFrom(...HOSTILE_TEXTS, ...LARGE_TEXTS),
);
const csvTexts = fc
  .tuple(
    fc.constantFrom('email', 'email,firstName', 'email,email', '\ufeffemail;plan', '', 'x', '"email'),
    fc.array(fc.array(cells, { maxLength: 3 }), { maxLength: 4 }),
    fc.constantFrom('\n', '\r\n', '\r'),
  )
  .map(([header, rows, end]) => [header, ...rows.map((row) => row.join(','))].join(end));
