import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { ApiAnswer } from './api-answer.js';

interface MediaType {
  readonly schema?: object;
}

interface HeaderObject {
  readonly $ref?: string;
  readonly required?: boolean;
}

interface ResponseObject {
  readonly content?: Readonly<Record<string, MediaType>>;
  readonly headers?: Readonly<Record<string, HeaderObject>>;
  readonly $ref?: string;
}

export interface OperationObject {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, ResponseObject>>;
  readonly requestBody?: object;
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
  readonly tags?: readonly string[];
  readonly 'x-required-scope'?: string | null;
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components?: {
    readonly responses?: Readonly<Record<string, ResponseObject>>;
    readonly headers?: Readonly<Record<string, HeaderObject>>;
    readonly schemas?: Readonly<Record<string, object>>;
  };
}

const documents = new Map<string, Promise<OpenApiDocument>>();
const validators = new Map<string, ValidateFunction>();

/** The api's own description of itself, fetched once per address. */
export function openApiDocument(baseUrl: string): Promise<OpenApiDocument> {
  const known = documents.get(baseUrl) ?? fetchDocument(baseUrl);
  documents.set(baseUrl, known);
  return known;
}

async function fetchDocument(baseUrl: string): Promise<OpenApiDocument> {
  const response = await fetch(`${baseUrl}/openapi.json`);
  return (await response.json()) as OpenApiDocument;
}

/** Throws when an answer of a documented operation is not what the OpenAPI document says of it. */
export async function validateAnswer(
  baseUrl: string,
  method: string,
  url: string,
  answer: ApiAnswer,
): Promise<void> {
  const document = await openApiDocument(baseUrl);
  const path = url.split('?')[0] ?? '';
  const template = Object.keys(document.paths).find((candidate) => matches(candidate, path));
  const operation = template === undefined ? undefined : document.paths[template]?.[method.toLowerCase()];
  if (operation === undefined) return;
  const where = `${method} ${template} → ${answer.status}`;
  const response = resolve(document, operation.responses[String(answer.status)]);
  if (response === undefined)
    throw new Error(`${where} is not in the OpenAPI document: ${answer.text.slice(0, 300)}`);
  checkHeaders(document, where, response, answer);
  if (answer.text === '') {
    if (response.content !== undefined)
      throw new Error(`${where} has no body, but the document promises one.`);
    return;
  }
  const type = (answer.headers.get('content-type') ?? '').split(';')[0] ?? '';
  const media = Object.entries(response.content ?? {}).find(([name]) => name.split(';')[0] === type)?.[1];
  if (media === undefined) throw new Error(`${where} is ${type}, which the document does not know.`);
  if (/json/.test(type) && media.schema !== undefined) check(document, where, media.schema, answer.body);
}

/** Required headers are there, and no `Location` that clients are not told of. */
function checkHeaders(
  document: OpenApiDocument,
  where: string,
  { headers = {} }: ResponseObject,
  answer: ApiAnswer,
): void {
  for (const [name, header] of Object.entries(headers)) {
    const { required } = header.$ref === undefined ? header : (document.components?.headers?.[name] ?? {});
    if (required !== true || answer.headers.has(name)) continue;
    throw new Error(`${where} has no ${name}, but the document promises one.`);
  }
  if (answer.headers.has('location') && !('Location' in headers))
    throw new Error(`${where} has a Location, which the document does not know.`);
}

function check(document: OpenApiDocument, where: string, schema: object, body: unknown): void {
  const key = `${where} ${JSON.stringify(schema)}`;
  const validate = validators.get(key) ?? compile(document, schema);
  validators.set(key, validate);
  if (validate(body)) return;
  const faults = (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  throw new Error(
    `${where} does not match its schema: ${faults.join('; ')}\n${JSON.stringify(body).slice(0, 500)}`,
  );
}

function compile(document: OpenApiDocument, schema: object): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addFormat('int64', true);
  ajv.addFormat('idn-email', /^[^\s@]+@[^\s@]+$/);
  return ajv.compile({ ...schema, components: document.components });
}

function resolve(document: OpenApiDocument, response: OperationObject['responses'][string] | undefined) {
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
