import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { ApiAnswer } from './api-answer.js';

interface MediaType {
  readonly schema?: object;
  readonly examples?: object;
}

interface HeaderObject {
  readonly $ref?: string;
  readonly required?: boolean;
}

interface ResponseObject {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, MediaType>>;
  readonly headers?: Readonly<Record<string, HeaderObject>>;
}

export interface OperationObject {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, ResponseObject>>;
  readonly requestBody?: object;
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
  readonly tags?: readonly string[];
  readonly 'x-required-scope'?: string | null;
}

interface Compiler {
  readonly ajv: Ajv2020;
  readonly validators: Map<string, ValidateFunction>;
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly tags?: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components?: {
    readonly responses?: Readonly<Record<string, ResponseObject>>;
    readonly headers?: Readonly<Record<string, HeaderObject>>;
    readonly schemas?: Readonly<Record<string, object>>;
  };
}

/** The documents by their addresses. */
const documents = new Map<string, Promise<OpenApiDocument>>();
const compilers = new WeakMap<object, Compiler>();

/** The api's own description of itself, or of the operator's API, fetched once per address. */
export function openApiDocument(baseUrl: string, prefix = ''): Promise<OpenApiDocument> {
  const url = `${baseUrl}${prefix}/openapi.json`;
  const known = documents.get(url) ?? fetchDocument(url);
  documents.set(url, known);
  return known;
}

async function fetchDocument(url: string): Promise<OpenApiDocument> {
  const response = await fetch(url);
  return (await response.json()) as OpenApiDocument;
}

/** Throws when an answer of a documented operation is not what the OpenAPI document says of it. */
export async function validateAnswer(
  baseUrl: string,
  method: string,
  url: string,
  answer: ApiAnswer,
): Promise<void> {
  const document = await openApiDocument(baseUrl, url.startsWith('/operator/') ? '/operator/v1' : '');
  const path = url.split('?')[0] ?? '';
  const template = Object.keys(document.paths).find((candidate) => matches(candidate, path));
  const operation = template === undefined ? undefined : document.paths[template]?.[method.toLowerCase()];
  if (operation === undefined) return;
  const where = `${method} ${template} → ${answer.status}`;
  const response = resolve(document, operation.responses[String(answer.status)]);
  if (response === undefined)
    throw new Error(`${where} is not in the OpenAPI document: ${answer.text.slice(0, 300)}`);
  checkHeaders(document, where, response, answer.headers);
  if (answer.text === '') {
    // No lines of JSON are an answer, too.
    const isLines = Object.keys(response.content ?? {}).some((type) =>
      type.startsWith('application/x-ndjson'),
    );
    if (response.content !== undefined && !isLines)
      throw new Error(`${where} has no body, but the document promises one.`);
    return;
  }
  const type = (answer.headers.get('content-type') ?? '').split(';')[0] ?? '';
  const media = Object.entries(response.content ?? {}).find(([name]) => name.split(';')[0] === type)?.[1];
  if (media === undefined) throw new Error(`${where} is ${type}, which the document does not know.`);
  // Members that `fields` leaves out may be missing.
  const isPartial = answer.status === 200 && /[?&]fields=/.test(url);
  if (/\bjson\b/.test(type) && media.schema !== undefined)
    check(document, where, media.schema, answer.body, isPartial);
  const problem = type === 'application/problem+json' ? answer.at('type').split('/').at(-1) : undefined;
  if (problem !== undefined && !Object.keys(media.examples ?? {}).includes(problem))
    throw new Error(`${where} is ${problem}, which the document does not name there.`);
}

/** Telling of the answer in question, so none is to be there that the document does not promise. */
const TELLING = ['Location', 'Link', 'Retry-After', 'WWW-Authenticate'];

function checkHeaders(
  document: OpenApiDocument,
  where: string,
  response: ResponseObject,
  sent: Headers,
): void {
  const promised = Object.entries(response.headers ?? {});
  for (const [name, header] of promised) {
    const { required } = document.components?.headers?.[header.$ref?.split('/').at(-1) ?? ''] ?? header;
    if (required === true && !sent.has(name)) throw new Error(`${where} has no ${name} header.`);
  }
  const unknown = TELLING.filter((name) => sent.has(name) && promised.every(([known]) => known !== name));
  if (unknown.length > 0)
    throw new Error(`${where} has ${unknown.join(', ')}, which the document does not know.`);
}

function check(
  document: OpenApiDocument,
  where: string,
  schema: object,
  body: unknown,
  isPartial: boolean,
): void {
  const faults = isPartial
    ? schemaFaults(lenient(document), lenient(schema), body)
    : schemaFaults(document, schema, body);
  if (faults.length === 0) return;
  throw new Error(
    `${where} does not match its schema: ${faults.join('; ')}\n${JSON.stringify(body).slice(0, 500)}`,
  );
}

const lenients = new WeakMap<object, object>();

/** The same schemas for a value that lacks properties, by which one of several shapes may have been told from the others. */
function lenient(schemas: object): object {
  const known = lenients.get(schemas);
  if (known !== undefined) return known;
  const text = JSON.stringify(schemas, (name, value: unknown) =>
    name === 'required' && Array.isArray(value) ? undefined : value,
  );
  const made = JSON.parse(text.replaceAll('"oneOf":', '"anyOf":')) as object;
  lenients.set(schemas, made);
  return made;
}

/** Places where a value is not what a schema of the document says, and how it differs. */
export function schemaFaults(
  document: { readonly components?: object },
  schema: object,
  value: unknown,
): string[] {
  const key = JSON.stringify(schema);
  const { ajv, validators } = compilerOf(document);
  const validate =
    validators.get(key) ??
    ajv.compile(JSON.parse(key.replaceAll('"$ref":"#/', '"$ref":"document#/')) as object);
  validators.set(key, validate);
  validate(value);
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

/** One for a document, since what it reads of the components takes as long as all else. */
function compilerOf(document: { readonly components?: object }): Compiler {
  const known = compilers.get(document);
  if (known !== undefined) return known;
  // Spectral's rules judge the schemas themselves: test/docs/openapi.spec.ts.
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
  addFormats.default(ajv);
  ajv.addFormat('int64', true);
  ajv.addFormat('idn-email', /^[^\s@]+@[^\s@]+$/);
  ajv.addFormat('idn-hostname', /^[^\s]+$/);
  ajv.addSchema({ components: document.components }, 'document');
  const compiler = { ajv, validators: new Map() };
  compilers.set(document, compiler);
  return compiler;
}

function resolve(
  document: OpenApiDocument,
  response: ResponseObject | undefined,
): ResponseObject | undefined {
  const name = response?.$ref?.split('/').at(-1);
  return name === undefined ? response : document.components?.responses?.[name];
}

function matches(template: string, path: string): boolean {
  const wanted = template.split('/');
  const given = path.split('/');
  return (
    wanted.length === given.length &&
    wanted.every((part, index) => part.startsWith('{') || part === given[index])
  );
}
