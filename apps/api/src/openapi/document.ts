/** The parts of an OpenAPI 3.1 document that we write and read. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly default?: unknown;
  readonly example?: unknown;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly additionalProperties?: boolean | Schema;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
  example?: unknown;
}

export interface MediaType {
  schema?: Schema;
  example?: unknown;
  examples?: Record<string, { $ref: string }>;
}

export interface ResponseEntry {
  /** A reference to the full definition. */
  $ref?: string;
  description: string;
  headers?: Record<string, unknown>;
  content?: Record<string, MediaType>;
}

export interface OperationEntry {
  operationId: string;
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, MediaType> };
  responses: Record<string, ResponseEntry>;
  security?: Record<string, string[]>[];
  'x-required-scope'?: string | null;
  'x-sdk-method'?: string;
  'x-problems'?: number[];
  'x-codeSamples'?: { lang: string; label: string; source: string }[];
}

export interface WebhookEntry {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly requestBody: { readonly required: true; readonly content: Record<string, MediaType> };
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}

export interface OpenApiDocument {
  openapi: string;
  info: { title: string; version: string; description?: string };
  paths: Record<string, Record<string, OperationEntry>>;
  /** Posts to endpoints, by the type of event. */
  webhooks?: Record<string, { readonly post: WebhookEntry }>;
  components: {
    schemas: Record<string, Schema>;
    headers?: Record<string, unknown>;
    responses?: Record<string, ResponseEntry>;
    examples?: Record<string, unknown>;
    securitySchemes?: Record<string, unknown>;
  };
  servers?: { url: string }[];
  tags?: { name: string; description: string }[];
}

/** The schema that a reference leads to. */
export function resolve(schema: Schema, schemas: Readonly<Record<string, Schema>>): Schema {
  const target =
    schema.$ref === undefined ? undefined : schemas[schema.$ref.replace('#/components/schemas/', '')];
  return target === undefined ? schema : resolve(target, schemas);
}

/** Every operation with its path and method, in the order of the document. */
export function operationsOf(
  document: OpenApiDocument,
): { path: string; method: string; operation: OperationEntry }[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}
