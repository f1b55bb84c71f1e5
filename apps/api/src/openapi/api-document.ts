import { Injectable } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { API_SCOPES } from '#kernel';
import { type Config, CONFIG } from '#platform';
import { addCommonRules } from './common-rules.js';
import type { OpenApiDocument } from './document.js';
import { toOpenApiSchema } from './json-schema.js';

const DESCRIPTION = `Email marketing as an API: subscribers, consent, campaigns and their reports. Start with the
[guides](/docs).

Every request needs an API key of a project, in \`X-API-Key\` or as \`Authorization: Bearer\`. A key belongs to one
environment, live or test, and has scopes; each operation names the one that it needs. Errors are problems
(RFC 9457) with \`Content-Type: application/problem+json\`. A key has 60 requests per minute unless the operator
sets another limit; \`X-RateLimit-*\` reports the current window.

The scopes are ${API_SCOPES.map((scope) => `\`${scope}\``).join(', ')}.`;

/** The OpenAPI document of the running api, made from its controllers on the first request. */
@Injectable()
export class ApiDocument {
  #app: NestFastifyApplication | undefined;
  #document: OpenApiDocument | undefined;

  /** Sets the application to describe. */
  describe(app: NestFastifyApplication): void {
    this.#app = app;
  }

  get(): OpenApiDocument {
    if (this.#app === undefined) throw new Error('There is no application to describe yet.');
    this.#document ??= build(this.#app);
    return this.#document;
  }
}

function build(app: NestFastifyApplication): OpenApiDocument {
  const base = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Mailwright API')
    .setVersion('1')
    .setDescription(DESCRIPTION)
    .addServer(app.get<Config>(CONFIG).PUBLIC_URL)
    .addApiKey({ type: 'apiKey', name: 'X-API-Key', in: 'header' }, 'apiKey')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'API key' }, 'bearer')
    .build();
  base.info.license = { name: 'Apache License 2.0', identifier: 'Apache-2.0' } as { name: string };
  base.info.contact = { name: 'Mailwright', url: `${app.get<Config>(CONFIG).PUBLIC_URL}/docs` };
  const document = SwaggerModule.createDocument(app, base, {
    onlyIncludeDecoratedEndpoints: true,
    standardSchemaConverter: toOpenApiSchema,
  });
  return addCommonRules(document as unknown as OpenApiDocument);
}
