import { applyDecorators, Controller, HttpCode } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { RouteConfig, RouteSchema } from '@nestjs/platform-fastify';
import {
  ApiBody,
  type ApiBodyOptions,
  ApiConsumes,
  ApiExtension,
  ApiIncludeEndpoint,
  ApiOperation,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import { z } from 'zod';
import type { LargeTexts } from '../large-texts.js';
import type { ApiScope, OperatorScope } from '#kernel';

/** Path of every operation of a project's keys. */
export const API_PREFIX = '/api/v1';
/** Path of every operation of the operator's keys. */
export const OPERATOR_PREFIX = '/operator/v1';

/** True of a path or route of the operator's API. */
export const isForOperator = (path: string): boolean => path.startsWith(`${OPERATOR_PREFIX}/`);

/** The prefix of an operation's path or route. */
export const prefixOf = (path: string): string => (isForOperator(path) ? OPERATOR_PREFIX : API_PREFIX);

/** A controller below /api/v1. Each of its routes needs a key and carries `@Operation`; boot fails otherwise. */
export function ApiController(path: string, options: { readonly tag: string }): ClassDecorator {
  return applyDecorators(Controller(`${API_PREFIX.slice(1)}/${path}`), ApiTags(options.tag));
}

/** The same below /operator/v1, for keys of the operator. */
export function OperatorController(path: string, options: { readonly tag: string }): ClassDecorator {
  return applyDecorators(Controller(`${OPERATOR_PREFIX.slice(1)}/${path}`), ApiTags(options.tag));
}

/**
 * The value that a handler returns for an answer of this schema: a Date for each timestamp. What the schema does not name may be
 * there and is not sent.
 */
export type Answer<Schema extends z.ZodType> = Unwritten<z.input<Schema>>;

type Unwritten<T> = unknown extends T
  ? T
  : T extends Date
    ? T
    : T extends readonly (infer Item)[]
      ? readonly Unwritten<Item>[]
      : { [Name in keyof T]: Unwritten<T[Name]> };

/** The answer of an operation that succeeds. */
export interface OperationResponse<Schema extends z.ZodType = z.ZodType> {
  readonly status: 200 | 201 | 202 | 204;
  /** JSON bodies: what is sent, documented and serialised. Absent: no body, or `contentType` says which. */
  readonly schema?: Schema;
  /** Schema of a JSON body that the handler writes as a stream (`streamedJson`), which is documented only. */
  readonly streamed?: z.ZodObject;
  /** Bodies other than JSON, e.g. `text/csv; charset=utf-8`. */
  readonly contentType?: string;
  readonly description?: string;
  /** Path below the prefix of what was made, for the `Location` header. */
  location?(this: void, made: Answer<Schema>): string;
  /** True of an answer of something new, which has the status 201 then. */
  isNew?(this: void, made: unknown): boolean;
  /** True of an answer that has the status 200 instead. */
  isPartial?(this: void, made: unknown): boolean;
}

/** One operation of the API: the one source of its scope, status, documentation and serialisation. */
export interface OperationOptions<Schema extends z.ZodType = z.ZodType> {
  /** Unique, lowerCamelCase: `listTopics`. */
  readonly operationId: string;
  /** Method of the SDK that calls it: `topics.all`. Absent: the SDK has none. */
  readonly sdk?: string;
  readonly summary: string;
  readonly description?: string;
  /** The scope that a key needs; null: any valid key. */
  readonly scope: ApiScope | OperatorScope | null;
  /** The same schema that `@Query({ schema })` validates with. What it does not name is refused. */
  readonly query?: z.ZodObject;
  /** The same schema that `@Body({ schema })` validates with. Absent: the operation takes no body. */
  readonly body?: z.ZodType;
  /** Media types that are handed to the handler as an unread stream (`@Req() request.body`), beside JSON. */
  readonly streams?: readonly string[];
  /** Octets that a JSON body may have; the default is 1 MB. Streams have no limit. */
  readonly maxBodyBytes?: number;
  /** Texts of the body that are as large as files: see `LargeText`. */
  readonly largeTexts?: LargeTexts;
  readonly response: OperationResponse<Schema>;
  /** False for a POST that only reads, such as a preview: the audit log leaves it out. */
  readonly mutates?: false;
  /** True for a read of the operator's that shows data about people: the audit log has it. */
  readonly showsPeople?: true;
  /** Properties of the body that list what a bulk request is about: the audit log counts their items. */
  readonly bulk?: readonly string[];
  /** Statuses of problems that do not follow from the operation's shape, such as 409. */
  readonly problems?: readonly number[];
  /** Milliseconds that the whole request may take; the default is 30 s, and 10 min with `streams`. */
  readonly timeoutMs?: number;
  /** Requests a minute and key, counted apart from those of other operations under this name. */
  readonly rateLimit?: {
    readonly name: string;
    readonly perMinute: number;
    /** The number that a request counts as, by its body, which may be anything; 1 where it is left out. */
    countOf?(this: void, body: unknown): number;
  };
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set by `@Operation`; absent on routes that need no key. */
    operation?: OperationOptions;
  }
}

/** The extension of the OpenAPI operation that names the scope which a key needs. */
export const SCOPE_EXTENSION = 'x-required-scope';
/** The extension of a POST that only reads: false. */
const MUTATES_EXTENSION = 'x-mutates';
/** The extension that names the SDK's method. */
const SDK_EXTENSION = 'x-sdk-method';
/** Carries the additional problem statuses from the decorator to the document's last step, which removes it. */
export const PROBLEMS_EXTENSION = 'x-problems';

/** The `@Operation` of a handler, for guards. */
export const OperationMetadata = Reflector.createDecorator<OperationOptions>();

const LOCATION = { $ref: '#/components/headers/Location' };

const DESCRIPTIONS = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'Done; there is nothing to return',
} as const;

type HandlerDecorator<Result> = <Handler extends (...parts: never[]) => Result | Promise<Result>>(
  controller: object,
  name: string | symbol,
  handler: TypedPropertyDescriptor<Handler>,
) => void;

/**
 * Declares a route of an `@ApiController`: scope, status, serialization of its answer, and entry in the OpenAPI document. The
 * compiler refuses a handler that returns something else than its answer.
 */
export function Operation<Schema extends z.ZodType = z.ZodUnknown>(
  options: OperationOptions<Schema>,
): HandlerDecorator<Answer<Schema>> {
  const { response } = options;
  const decorators = [
    HttpCode(response.status),
    RouteConfig({ operation: options }),
    OperationMetadata(options),
    ApiIncludeEndpoint(),
    ApiOperation({
      operationId: options.operationId,
      summary: options.summary,
      ...(options.description === undefined ? {} : { description: options.description }),
    }),
    ApiExtension(SCOPE_EXTENSION, options.scope),
    ApiExtension(PROBLEMS_EXTENSION, [...(options.problems ?? [])]),
    ...documentedResponses(response),
  ];
  if (options.mutates === false) decorators.push(ApiExtension(MUTATES_EXTENSION, false));
  if (options.sdk !== undefined) decorators.push(ApiExtension(SDK_EXTENSION, options.sdk));
  if (response.schema !== undefined) {
    const written = serializerSchema(response.schema);
    const others = [...(response.isNew ? [201] : []), ...(response.isPartial ? [200] : [])];
    const statuses = [response.status, ...others];
    decorators.push(
      RouteSchema({ response: Object.fromEntries(statuses.map((status) => [status, written])) }),
    );
  }
  if (options.streams !== undefined) {
    decorators.push(
      ApiConsumes(...(options.body === undefined ? [] : ['application/json']), ...options.streams),
    );
  }
  const documentedBody = bodyOf(options);
  if (documentedBody !== null) decorators.push(ApiBody(documentedBody));
  return applyDecorators(...decorators);
}

/** Swagger takes zod schemas here, too, though its type of ApiBody does not say so. */
function bodyOf({
  body,
  streams,
}: OperationOptions): (ApiBodyOptions & { readonly standardSchema?: z.ZodType }) | null {
  // No body at all says the same as an empty object.
  if (body !== undefined) return { required: !body.safeParse({}).success, standardSchema: body };
  return streams === undefined ? null : { required: true, schema: { type: 'string' } };
}

/** One, or that of what exists, without a place, and that of what is new. */
function documentedResponses(response: OperationResponse): MethodDecorator[] {
  if (response.isPartial !== undefined)
    return [documentedResponse(response), documentedResponse({ ...response, status: 200 })];
  if (response.isNew === undefined) return [documentedResponse(response)];
  const { location: _place, ...existing } = response;
  return [documentedResponse(existing), documentedResponse({ ...response, status: 201 })];
}

function documentedResponse({
  status,
  streamed,
  schema = streamed,
  contentType,
  description,
  location,
}: OperationResponse): MethodDecorator {
  const headers = location !== undefined ? { headers: { Location: LOCATION } } : {};
  const common = { status, description: description ?? DESCRIPTIONS[status], ...headers };
  if (schema !== undefined) return ApiResponse({ ...common, standardSchema: schema });
  if (contentType === undefined) return ApiResponse(common);
  return ApiResponse({ ...common, content: { [contentType]: { schema: { type: 'string' } } } });
}

/** A JSON schema in the dialect of fast-json-stringify: draft 7 with `nullable`, without references. */
export type SerializerSchema = Readonly<Record<string, unknown>>;

type Definitions = Readonly<Record<string, SerializerSchema>>;

/**
 * Schema by which Fastify writes an answer: known keys only, and an error when a required one is undefined, so that a nullable
 * property that a view forgot is found by the first test.
 */
export function serializerSchema(schema: z.ZodType): SerializerSchema {
  const { $defs, ...root } = z.toJSONSchema(schema, {
    io: 'output',
    target: 'draft-2020-12',
    unrepresentable: 'any',
  });
  return simplify(root, $defs ?? {});
}

function simplify(node: SerializerSchema, definitions: Definitions): SerializerSchema {
  const reference = node['$ref'];
  if (typeof reference === 'string')
    return simplify(definitions[reference.replace('#/$defs/', '')] ?? {}, definitions);
  if (Array.isArray(node['anyOf'])) return alternatives(node['anyOf'] as SerializerSchema[], definitions);
  if (Array.isArray(node['type'])) return nullableType(node, node['type'] as string[], definitions);
  switch (node['type']) {
    case 'object':
      return objectSchema(node, definitions);
    case 'array':
      return { type: 'array', items: simplify((node['items'] ?? {}) as SerializerSchema, definitions) };
    case 'string':
    case 'integer':
    case 'number':
    case 'boolean':
    case 'null':
      return { type: node['type'] };
    default:
      return {};
  }
}

/** `X | null` keeps its shape; other unions are written as they are. */
function alternatives(options: readonly SerializerSchema[], definitions: Definitions): SerializerSchema {
  const [only, ...others] = options.filter((option) => option['type'] !== 'null');
  if (only === undefined || others.length > 0) return {};
  const schema = simplify(only, definitions);
  return options.length === 1 || !('type' in schema) ? schema : { ...schema, nullable: true };
}

function nullableType(
  node: SerializerSchema,
  types: readonly string[],
  definitions: Definitions,
): SerializerSchema {
  const [only, ...others] = types.filter((type) => type !== 'null');
  if (only === undefined || others.length > 0) return {};
  return { ...simplify({ ...node, type: only }, definitions), nullable: true };
}

function objectSchema(node: SerializerSchema, definitions: Definitions): SerializerSchema {
  const properties = Object.entries((node['properties'] ?? {}) as Definitions);
  const additional = node['additionalProperties'];
  return {
    type: 'object',
    properties: Object.fromEntries(properties.map(([name, schema]) => [name, simplify(schema, definitions)])),
    required: node['required'] ?? [],
    ...(typeof additional === 'object' && additional !== null
      ? { additionalProperties: simplify(additional as SerializerSchema, definitions) }
      : {}),
  };
}
