import { Injectable } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { z } from 'zod';
import { API_SCOPES, OPERATOR_SCOPES } from '#kernel';
import { type Config, CONFIG } from '#platform';
import { OperatorApiModule } from '../operator/operator-api.module.js';
import type { OpenApiDocument } from './document.js';

const DESCRIPTION = `Email marketing as an API: subscribers, consent, campaigns and their reports. Start with the
[guides](/docs).

Every request needs an API key of a project, in \`X-API-Key\` or as \`Authorization: Bearer\`. A key belongs to one
environment, live or test, and has scopes; each operation names the one that it needs. Errors are problems
(RFC 9457) with \`Content-Type: application/problem+json\`. A key has 60 requests per minute unless the operator
sets another limit; \`RateLimit\` and \`X-RateLimit-*\` report the current window.

The scopes are ${API_SCOPES.map((scope) => `\`${scope}\``).join(', ')}.`;

const OPERATOR_DESCRIPTION = `The operator's API: tenants, projects and their keys, billing, sending domains and the state of the
installation ([guide](/docs/operator-api)).

Every request needs an operator key (\`mw_op_…\`), which the command \`operator-key:create\` makes, in \`X-API-Key\` or as
\`Authorization: Bearer\`. API keys of projects are refused here, and operator keys below \`/api/v1\`.

The scopes are ${OPERATOR_SCOPES.map((scope) => `\`${scope}\``).join(', ')}.`;

/** The OpenAPI documents of the running api, for keys of projects and of the operator, made from its controllers on the first request. */
@Injectable()
export class ApiDocument {
  #app: NestFastifyApplication | undefined;
  #document: Promise<OpenApiDocument> | undefined;
  #operators: Promise<OpenApiDocument> | undefined;

  /** Sets the application to describe. */
  describe(app: NestFastifyApplication): void {
    this.#app = app;
  }

  get(): Promise<OpenApiDocument> {
    this.#document ??= build(this.#described, false);
    return this.#document;
  }

  /** That of the operator's API. */
  ofOperator(): Promise<OpenApiDocument> {
    this.#operators ??= build(this.#described, true);
    return this.#operators;
  }

  get #described(): NestFastifyApplication {
    if (this.#app === undefined) throw new Error('There is no application to describe yet.');
    return this.#app;
  }
}

async function build(app: NestFastifyApplication, isOperators: boolean): Promise<OpenApiDocument> {
  const modules = [...app.get(ModulesContainer).values()].map(({ metatype }) => metatype);
  const base = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle(isOperators ? 'Mailwright operator API' : 'Mailwright API')
    .setVersion('1')
    .setDescription(isOperators ? OPERATOR_DESCRIPTION : DESCRIPTION)
    .addServer(app.get<Config>(CONFIG).PUBLIC_URL)
    .addApiKey({ type: 'apiKey', name: 'X-API-Key', in: 'header' }, 'apiKey')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'API key' }, 'bearer')
    .build();
  base.info.license = { name: 'Apache License 2.0', identifier: 'Apache-2.0' } as { name: string };
  base.info.contact = { name: 'Mailwright', url: `${app.get<Config>(CONFIG).PUBLIC_URL}/docs` };
  const document = SwaggerModule.createDocument(app, base, {
    include: modules.filter((module) => (module === OperatorApiModule) === isOperators),
    onlyIncludeDecoratedEndpoints: true,
    standardSchemaConverter: toOpenApiSchema,
  });
  // Rules and examples are much for an api of which nobody asks for the document.
  const { addCommonRules } = await import('./common-rules.js');
  const described = addCommonRules(document as unknown as OpenApiDocument);
  if (isOperators) return described;
  const { addWebhooks } = await import('./webhooks.js');
  return addWebhooks(described, toOpenApiSchema);
}

type JsonSchema = Record<string, unknown>;

/** Formats that explain more to a reader than the patterns that check them. */
const FORMATS_WITHOUT_PATTERN = new Set(['date-time', 'date', 'uuid']);

/** Converts a zod schema to the JSON schema of OpenAPI 3.1; a schema with a `meta.id` becomes a component. */
export function toOpenApiSchema(
  schema: unknown,
  { schemaType }: { readonly schemaType: 'input' | 'output' },
): { schema: JsonSchema; components: Record<string, JsonSchema> } | undefined {
  if (!(schema instanceof z.ZodType)) return undefined;
  const {
    $defs,
    $schema: _dialect,
    ...root
  } = z.toJSONSchema(schema, {
    io: schemaType,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      shorten(jsonSchema);
      // zod omits the default of a transformed field.
      if (zodSchema instanceof z.ZodDefault) jsonSchema.default = zodSchema.def.defaultValue;
      // A default that applies where the field is left out.
      const taken = z.globalRegistry.get(zodSchema)?.['default'];
      if (taken !== undefined) jsonSchema.default = taken;
      // Answers may get new properties at any time.
      if (schemaType === 'output' && jsonSchema.additionalProperties === false)
        delete jsonSchema.additionalProperties;
    },
  });
  return { schema: root, components: $defs ?? {} };
}

function shorten(jsonSchema: JsonSchema): void {
  if (FORMATS_WITHOUT_PATTERN.has(String(jsonSchema['format']))) delete jsonSchema['pattern'];
  if (jsonSchema['minimum'] === Number.MIN_SAFE_INTEGER) delete jsonSchema['minimum'];
  if (jsonSchema['maximum'] === Number.MAX_SAFE_INTEGER) delete jsonSchema['maximum'];
  const { propertyNames } = jsonSchema;
  if (typeof propertyNames === 'object' && JSON.stringify(propertyNames) === '{"type":"string"}')
    delete jsonSchema['propertyNames'];
}
