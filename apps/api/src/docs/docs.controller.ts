import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Controller, Get, Header, Param, Query, Redirect, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { NotFoundError } from '#kernel';
import { projectRoot } from '#platform';
import { ApiDocument } from '../openapi/api-document.js';
import { operationsOf } from '../openapi/document.js';
import { HTML, SCRIPTED_PAGE_POLICY } from '../openapi/page-shell.js';
import type { DocsContents } from './docs-page.js';
import type { DocsSearch, Passage } from './docs-search.js';

const MAX_QUERY = 200;
const MARKDOWN = 'text/markdown; charset=utf-8';
const TEXT = 'text/plain; charset=utf-8';

interface Served {
  readonly type: string;
  readonly body: string | Buffer;
}

/** Markdown and search take memory from the first page that is read on, and not from programs whose documentation nobody reads. */
const loadPages = () => import('./docs-page.js');

/** The documentation of the running version. Renders each page on its first request. */
@Controller()
export class DocsController {
  readonly #served = new Map<string, Served>();
  #contents: DocsContents | undefined;
  #search: Promise<DocsSearch> | undefined;

  constructor(private readonly document: ApiDocument) {}

  /** People open the address that `npm start` prints: show them the documentation. */
  @Get()
  @Redirect('/docs', 302)
  root(): void {
    // The decorator redirects.
  }

  @Get('docs')
  @Header('content-type', HTML)
  @Header('content-security-policy', SCRIPTED_PAGE_POLICY)
  async start(): Promise<string> {
    const { startPage } = await loadPages();
    return startPage(await this.#readContents());
  }

  /** Browsers request it with every page. */
  @Get('favicon.ico')
  @Header('content-type', 'image/svg+xml')
  @Header('cache-control', 'public, max-age=86400')
  icon(): Promise<string> {
    return readFile(join(projectRoot(), 'assets/favicon.svg'), 'utf8');
  }

  @Get('llms.txt')
  @Header('content-type', TEXT)
  forModels(): Promise<string> {
    return readDocs('llms.txt');
  }

  @Get('docs/search')
  @Header('content-type', HTML)
  @Header('content-security-policy', SCRIPTED_PAGE_POLICY)
  async search(@Query('q') asked: unknown): Promise<string> {
    const query = typeof asked === 'string' ? asked.slice(0, MAX_QUERY).trim() : '';
    this.#search ??= this.#makeSearch();
    const { searchPage } = await loadPages();
    return searchPage(query, (await this.#search).find(query), await this.#readContents());
  }

  @Get(['docs/:page', 'docs/:folder/:page'])
  @Header('content-security-policy', SCRIPTED_PAGE_POLICY)
  async page(
    @Param('folder') folder: string | undefined,
    @Param('page') file: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string | Buffer> {
    const page = folder === undefined ? file : `${folder}/${file}`;
    const served = this.#served.get(page) ?? (await this.#make(page));
    this.#served.set(page, served);
    void reply.type(served.type);
    return served.body;
  }

  async #make(page: string): Promise<Served> {
    const { docsPage, DOWNLOADS, PICTURE } = await loadPages();
    const picture = PICTURE.exec(page)?.groups?.['type'];
    if (picture !== undefined) return { type: PICTURE_TYPES[picture]!, body: await readPicture(page) };
    const download = DOWNLOADS.get(page);
    if (download !== undefined) return { type: download, body: await readDocs(page) };
    const contents = await this.#readContents();
    const entries = contents.sections.flatMap((section) => section.entries);
    const entry = entries.find(({ name, isMarkdown }) => isMarkdown && name === page.replace(/\.md$/, ''));
    if (entry === undefined) throw new NotFoundError();
    const markdown = await readDocs(`${entry.name}.md`);
    if (page.endsWith('.md')) return { type: MARKDOWN, body: markdown };
    return { type: HTML, body: docsPage(entry, markdown, contents) };
  }

  async #makeSearch(): Promise<DocsSearch> {
    const { DocsSearch, passagesOf } = await import('./docs-search.js');
    const { sections } = await this.#readContents();
    const entries = sections.flatMap((section) => section.entries).filter(({ isMarkdown }) => isMarkdown);
    const pages = entries.map(async ({ name, title }) =>
      passagesOf(title, `/docs/${name}`, await readDocs(`${name}.md`)),
    );
    return new DocsSearch([...(await Promise.all(pages)).flat(), ...(await this.#operations())]);
  }

  async #operations(): Promise<Passage[]> {
    return operationsOf(await this.document.get()).map(({ path, method, operation }) => ({
      address: `/docs/reference#tag/${anchorOf(operation.tags?.[0] ?? '')}/${method.toUpperCase()}${path}`,
      page: 'API reference',
      heading: operation.summary ?? operation.operationId,
      text: `${method.toUpperCase()} ${path} ${operation.description ?? ''}`,
    }));
  }

  async #readContents(): Promise<DocsContents> {
    const { readContents } = await loadPages();
    this.#contents ??= readContents(await readDocs('llms.txt'));
    return this.#contents;
  }
}

/** The anchor of a tag in the reference. */
function anchorOf(tag: string): string {
  return tag.toLowerCase().replaceAll(' ', '-');
}

const PICTURE_TYPES: Readonly<Record<string, string>> = { svg: 'image/svg+xml', png: 'image/png' };

/** @throws {NotFoundError} */
function readPicture(name: string): Promise<Buffer> {
  return readFile(join(projectRoot(), 'docs', name)).catch(() => {
    throw new NotFoundError();
  });
}

/** The SDK's page lives in its package. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'sdk.md': 'packages/sdk/README.md',
  'docs.js': 'assets/docs.js',
};

function readDocs(name: string): Promise<string> {
  return readFile(join(projectRoot(), ELSEWHERE[name] ?? join('docs', name)), 'utf8');
}
