import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Controller, Get, Header, Param, Redirect, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { NotFoundError } from '#kernel';
import { projectRoot } from '#platform';
import { type DocsContents, readContents } from './docs-contents.js';
import { DOWNLOADS, docsPage, startPage } from './docs-page.js';

const HTML = 'text/html; charset=utf-8';
const MARKDOWN = 'text/markdown; charset=utf-8';
const TEXT = 'text/plain; charset=utf-8';

interface Served {
  readonly type: string;
  readonly body: string;
}

/** The documentation of the version that runs. Each page is made when it is asked for first. */
@Controller()
export class DocsController {
  readonly #served = new Map<string, Served>();
  #contents: DocsContents | undefined;

  /** Who opens the address that `npm start` prints wants to see something. */
  @Get()
  @Redirect('/docs', 302)
  root(): void {
    // The decorator is the answer.
  }

  @Get('docs')
  @Header('content-type', HTML)
  async start(): Promise<string> {
    return startPage(await this.#readContents());
  }

  /** Browsers ask for it beside every page. */
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

  @Get('docs/:page')
  async page(@Param('page') page: string, @Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    const served = this.#served.get(page) ?? (await this.#make(page));
    this.#served.set(page, served);
    void reply.type(served.type);
    return served.body;
  }

  async #make(page: string): Promise<Served> {
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

  async #readContents(): Promise<DocsContents> {
    this.#contents ??= readContents(await readDocs('llms.txt'));
    return this.#contents;
  }
}

/** The SDK's page stands with the SDK, so that it is in its package as well. */
function readDocs(name: string): Promise<string> {
  const file = name === 'sdk.md' ? 'packages/sdk/README.md' : join('docs', name);
  return readFile(join(projectRoot(), file), 'utf8');
}
