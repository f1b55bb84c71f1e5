import { applyDecorators, HttpCode } from '@nestjs/common';
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
} from '@nestjs/swagger';
import type { z } from 'zod';
import { serializerSchema } from '../serialization/serializer-schema.js';
import type { OperationOptions, OperationResponse } from './operation-options.js';

/** The extension of the OpenAPI operation that names the scope which a key needs. */
export const SCOPE_EXTENSION = 'x-required-scope';
/** Carries the additional problem statuses from the decorator to the document's last step, which removes it. */
export const PROBLEMS_EXTENSION = 'x-problems';

/** What `@Operation` says of a handler, for guards. */
export const OperationMetadata = Reflector.createDecorator<OperationOptions>();

const LOCATION = { $ref: '#/components/headers/Location' };

const DESCRIPTIONS = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'Done; there is nothing to return',
} as const;

/**
 * Declares a route of an `@ApiController`: its scope, its status, how its answer is serialised, and its
 * entry in the OpenAPI document.
 */
export function Operation(options: OperationOptions): MethodDecorator {
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
    documentedResponse(response),
  ];
  if (response.schema !== undefined) {
    decorators.push(RouteSchema({ response: { [response.status]: serializerSchema(response.schema) } }));
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

function documentedResponse({
  status,
  schema,
  contentType,
  description,
  location,
}: OperationResponse): MethodDecorator {
  const headers = location === true ? { headers: { Location: LOCATION } } : {};
  const common = { status, description: description ?? DESCRIPTIONS[status], ...headers };
  if (schema !== undefined) return ApiResponse({ ...common, standardSchema: schema });
  if (contentType === undefined) return ApiResponse(common);
  return ApiResponse({ ...common, content: { [contentType]: { schema: { type: 'string' } } } });
}
