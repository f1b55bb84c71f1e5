import { applyDecorators, Controller, UseFilters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { LimitClients } from '#platform/http';
import { PageFailures } from './page-failures.filter.js';

/** A controller of pages for people, without a key. Each client may request PAGE_LIMIT_PER_MINUTE pages. */
export function PublicPage(path: string): ClassDecorator {
  return applyDecorators(
    Controller(path),
    ApiExcludeController(),
    UseFilters(PageFailures),
    LimitClients('page'),
  );
}
