import { Controller, Get, Header, Param } from '@nestjs/common';
import { NotFoundError } from '#kernel';
import { isProblemSlug, PROBLEM_TYPES } from '#platform/http';
import { ApiDocument } from './api-document.js';
import { DOCS_POLICY, HTML } from '../docs/docs-frame.js';

/** Pages are rendered from the first one on that is read, and not in programs whose reference nobody reads. */
const loadPages = () => import('./reference-pages.js');

/** The API reference and the pages of problems. */
@Controller()
export class ReferenceController {
  readonly #rendered = new Map<string, string>();

  constructor(private readonly document: ApiDocument) {}

  @Get('openapi.json')
  @Header('content-type', 'application/json')
  async openApi(): Promise<string> {
    return JSON.stringify(await this.document.get());
  }

  @Get('operator/v1/openapi.json')
  @Header('content-type', 'application/json')
  async operatorOpenApi(): Promise<string> {
    return JSON.stringify(await this.document.ofOperator());
  }

  @Get('docs/reference')
  @Header('content-type', HTML)
  @Header('content-security-policy', DOCS_POLICY)
  async start(): Promise<string> {
    const { referenceStart } = await loadPages();
    return referenceStart(await this.document.get());
  }

  /** Page of a tag, such as `subscribers`, or of `events`. */
  @Get('docs/reference/:area')
  @Header('content-type', HTML)
  @Header('content-security-policy', DOCS_POLICY)
  async area(@Param('area') area: string): Promise<string> {
    const { referencePage } = await loadPages();
    const page = this.#rendered.get(area) ?? referencePage(await this.document.get(), area);
    if (page === null) throw new NotFoundError();
    this.#rendered.set(area, page);
    return page;
  }

  @Get('problems/:slug')
  @Header('content-type', HTML)
  @Header('content-security-policy', DOCS_POLICY)
  async problem(@Param('slug') slug: string): Promise<string> {
    if (!isProblemSlug(slug)) throw new NotFoundError();
    const { problemPage } = await loadPages();
    return problemPage(slug, PROBLEM_TYPES[slug]);
  }
}
