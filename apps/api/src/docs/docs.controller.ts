import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Controller, Get, Header, Headers, Param, Query, Redirect, Req, Res } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { NotFoundError } from '#kernel';
import { projectRoot } from '#platform';
import { API_PREFIX } from '#platform/http';
import { ApiDocument } from '../openapi/api-document.js';
import { type OpenApiDocument, type OperationEntry, operationsOf, resolve } from '../openapi/document.js';
import { ASSETS, DOCS_POLICY, HTML, nowherePage } from './docs-frame.js';
import type { DocsContents } from './docs-page.js';
import type { DocsSearch, Finding, Passage } from './docs-search.js';

const MAX_QUERY = 200;
/** Findings below the field while somebody types. */
const WHILE_TYPING = 8;
const MARKDOWN = 'text/markdown; charset=utf-8';
const TEXT = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json';

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
  @Header('content-security-policy', DOCS_POLICY)
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

  /** A page; JSON for the script that asks while somebody types. */
  @Get('docs/search')
  @Header('content-type', HTML)
  @Header('content-security-policy', DOCS_POLICY)
  @Header('vary', 'accept')
  async search(
    @Query('q') asked: unknown,
    @Headers('accept') accept: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string | readonly Finding[]> {
    const query = typeof asked === 'string' ? asked.slice(0, MAX_QUERY).trim() : '';
    this.#search ??= this.#makeSearch();
    const found = (await this.#search).find(query);
    if (accept === JSON_TYPE) {
      void reply.type(JSON_TYPE);
      return found.slice(0, WHILE_TYPING);
    }
    const { searchPage } = await loadPages();
    return searchPage(query, found, await this.#readContents());
  }

  @Get(['docs/:page', 'docs/:folder/:page'])
  @Header('content-security-policy', DOCS_POLICY)
  async page(
    @Param('folder') folder: string | undefined,
    @Param('page') file: string,
    @Req() { url }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string | Buffer> {
    const page = folder === undefined ? file : `${folder}/${file}`;
    const isKept = ASSETS.has(page) && url.includes('?');
    if (isKept) void reply.header('cache-control', 'public, max-age=31536000, immutable');
    const served = this.#served.get(page) ?? (await this.#make(page));
    this.#served.set(page, served);
    void reply.type(served.type);
    return served.body;
  }

  async #make(page: string): Promise<Served> {
    const asset = ASSETS.get(page);
    if (asset !== undefined) return asset;
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

  /** Operations by their summary, name, path and fields, and events by their type. */
  async #operations(): Promise<Passage[]> {
    const { referenceAddress } = await import('../openapi/reference-pages.js');
    const document = await this.document.get();
    const operations = operationsOf(document).map(({ path, method, operation }) => ({
      address: `${referenceAddress(operation.tags?.[0] ?? '')}#${operation.operationId}`,
      page: 'API reference',
      heading: operation.summary ?? operation.operationId,
      name: `${operation.operationId} ${operation['x-sdk-method'] ?? ''}`,
      text: [
        `${method.toUpperCase()} ${path}`,
        plainProse(operation.description ?? ''),
        ...(operation.parameters ?? []).map(({ name }) => name),
        ...fieldsOf(operation, document),
      ].join(' '),
    }));
    const events = Object.entries(document.webhooks ?? {}).map(([type, { post }]) => ({
      address: `${referenceAddress('Events')}#${type}`,
      page: 'Events',
      heading: type,
      name: type,
      text: plainProse(post.description),
    }));
    return [...operations, ...events];
  }

  async #readContents(): Promise<DocsContents> {
    const { readContents } = await loadPages();
    this.#contents ??= readContents(await readDocs('llms.txt'));
    return this.#contents;
  }
}

/** Markdown of the OpenAPI document, which has code and links, as text. */
function plainProse(markdown: string): string {
  return markdown.replaceAll(/\[(?<label>[^\]]+)\]\([^)]+\)/g, '$<label>').replaceAll('`', '');
}

function fieldsOf({ requestBody }: OperationEntry, { components }: OpenApiDocument): string[] {
  const schema = requestBody?.content['application/json']?.schema;
  return schema === undefined ? [] : Object.keys(resolve(schema, components.schemas).properties ?? {});
}

const PICTURE_TYPES: Readonly<Record<string, string>> = { svg: 'image/svg+xml', png: 'image/png' };

/** @throws {NotFoundError} */
function readPicture(name: string): Promise<Buffer> {
  return readFile(join(projectRoot(), 'docs', name)).catch(() => {
    throw new NotFoundError();
  });
}

/** The SDK's page lives in its package. */
const ELSEWHERE: Readonly<Record<string, string>> = { 'sdk.md': 'packages/sdk/README.md' };

function readDocs(name: string): Promise<string> {
  return readFile(join(projectRoot(), ELSEWHERE[name] ?? join('docs', name)), 'utf8');
}

/** Leads from `/docs/quickstart/` to `/docs/quickstart`. */
export function dropTrailingSlash(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const [, page, query = ''] = /^(\/docs(?:\/[^?]*)?)\/(\?.*)?$/.exec(request.url) ?? [];
    if (page === undefined || request.method !== 'GET') return done();
    void reply.redirect(page + query, 301);
  });
}

/**
 * Shows people a page where a path leads nowhere, instead of the problem that programs get. `isOurs` tells whether a request came
 * by our own host: those of customers show nothing of us.
 */
export function showNowhere(fastify: FastifyInstance, isOurs: (request: FastifyRequest) => boolean): void {
  fastify.addHook('onSend', (request, reply, payload, done) => {
    const isForPeople =
      reply.statusCode === 404 &&
      request.method === 'GET' &&
      request.headers.accept?.startsWith('text/html') === true &&
      !request.url.startsWith(API_PREFIX) &&
      !String(reply.getHeader('content-type')).startsWith('text/html');
    if (!isForPeople || !isOurs(request)) return done(null, payload);
    void reply
      .type(HTML)
      .header('content-security-policy', DOCS_POLICY)
      .header('vary', 'accept')
      .removeHeader('content-length');
    done(null, nowherePage());
  });
}
