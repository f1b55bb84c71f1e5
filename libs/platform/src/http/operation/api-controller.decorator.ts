import { applyDecorators, Controller } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';

/** Where every operation lives. */
export const API_PREFIX = '/api/v1';

/** A controller below /api/v1. Each of its routes needs a key and carries `@Operation`; boot fails otherwise. */
export function ApiController(path: string, options: { readonly tag: string }): ClassDecorator {
  return applyDecorators(Controller(`${API_PREFIX.slice(1)}/${path}`), ApiTags(options.tag));
}
