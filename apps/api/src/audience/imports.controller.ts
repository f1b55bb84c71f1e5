import { Readable } from 'node:stream';
import { Body, Get, Headers, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import {
  type ImportContent,
  type ImportError,
  type ImportOptions,
  ImportsQuery,
  ImportsService,
  isCharset,
} from '#audience';
import { boundedErrors, type Page, type ProjectScope } from '#kernel';
import {
  ApiController,
  InScope,
  invalidRequest,
  Operation,
  pageQuery,
  PLACES,
  parseInput,
  ProblemError,
  toPage,
} from '#platform/http';
import {
  acceptedImportView,
  acceptedSuppressionImportView,
  csvImportOptions,
  importBody,
  importErrorPage,
  importQuery,
  importView,
  mappingOf,
  optionsOf,
  shownSuppressions,
  suppressionImportQuery,
  suppressionImportView,
} from './imports.dto.js';
import type { importedProof } from './consents.dto.js';

/** 10 000 rows of 1 600 characters each; larger imports use CSV. */
const MAX_JSON_BYTES = 16 * 1024 * 1024;

const errorListQuery = pageQuery({}, [PLACES.number]);

@ApiController('subscriber-imports', { tag: 'Subscribers' })
export class ImportsController {
  constructor(
    private readonly imports: ImportsService,
    private readonly query: ImportsQuery,
  ) {}

  @Post()
  @Operation({
    operationId: 'importSubscribers',
    sdk: 'imports.rows',
    summary: 'Import subscribers from CSV or a list',
    description:
      'Send CSV of any size with the options in the query, or JSON with up to 10 000 rows. ' +
      'The rows are stored before the answer and applied after it: look at the import until it is COMPLETED.',
    scope: 'subscribers:write',
    query: importQuery,
    body: importBody,
    streams: ['text/csv'],
    maxBodyBytes: MAX_JSON_BYTES,
    bulk: ['rows'],
    response: { status: 202, schema: acceptedImportView, location: ({ id }) => `subscriber-imports/${id}` },
  })
  create(
    @InScope() scope: ProjectScope,
    @Headers('content-type') type: string | undefined,
    @Query({ schema: importQuery }) query: z.output<typeof importQuery>,
    @Body({ schema: importBody }) body: z.output<typeof importBody> | Readable,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { options, content } =
      body instanceof Readable ? csvImport(query, type, body) : jsonImport(query, body);
    return this.imports.accept(scope, options, content, endOf(reply));
  }

  @Get(':id')
  @Operation({
    operationId: 'getImport',
    sdk: 'imports.get',
    summary: 'Get how far an import is',
    scope: 'subscribers:read',
    response: { status: 200, schema: importView },
  })
  get(@InScope() scope: ProjectScope, @Param('id') id: string) {
    return this.query.byId(scope, id);
  }

  @Get(':id/errors')
  @Operation({
    operationId: 'listImportErrors',
    sdk: 'imports.errors',
    summary: 'List the errors and notes of an import, in the order of its rows',
    scope: 'subscribers:read',
    query: errorListQuery,
    response: { status: 200, schema: importErrorPage },
  })
  async errors(
    @InScope() scope: ProjectScope,
    @Param('id') id: string,
    @Query({ schema: errorListQuery }) query: z.output<typeof errorListQuery>,
  ) {
    return errorPage(query, await this.query.errors(scope, id, query));
  }
}

@ApiController('suppression-imports', { tag: 'Suppressions' })
export class SuppressionImportsController {
  constructor(
    private readonly imports: ImportsService,
    private readonly query: ImportsQuery,
  ) {}

  @Post()
  @Operation({
    operationId: 'importSuppressions',
    sdk: 'suppressions.import',
    summary: 'Suppress the addresses of a CSV file',
    description:
      'Columns: `email`, and `reason` where rows differ. The rows are stored before the answer and applied after it in their ' +
      'order, each as by `POST /suppressions`: look at the import until it is COMPLETED.',
    scope: 'suppressions:manage',
    query: suppressionImportQuery,
    streams: ['text/csv'],
    response: {
      status: 202,
      schema: acceptedSuppressionImportView,
      location: ({ id }) => `suppression-imports/${id}`,
    },
  })
  async create(
    @InScope() scope: ProjectScope,
    @Headers('content-type') type: string | undefined,
    @Query({ schema: suppressionImportQuery }) { reason, mapping }: z.output<typeof suppressionImportQuery>,
    @Body() body: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    if (!(body instanceof Readable))
      throw new ProblemError('unsupported-media-type', { detail: 'Send text/csv.' });
    const options = { reason, ...mappingOf(mapping) };
    const accepted = this.imports.acceptSuppressions(scope, options, csvOf(type, body), endOf(reply));
    return shownSuppressions(await accepted);
  }

  @Get(':id')
  @Operation({
    operationId: 'getSuppressionImport',
    sdk: 'suppressions.getImport',
    summary: 'Get how far an import of suppressions is',
    scope: 'suppressions:manage',
    response: { status: 200, schema: suppressionImportView },
  })
  async get(@InScope() scope: ProjectScope, @Param('id') id: string) {
    return shownSuppressions(await this.query.byId(scope, id, 'SUPPRESSIONS'));
  }

  @Get(':id/errors')
  @Operation({
    operationId: 'listSuppressionImportErrors',
    sdk: 'suppressions.importErrors',
    summary: 'List the errors and notes of an import of suppressions, in the order of its rows',
    scope: 'suppressions:manage',
    query: errorListQuery,
    response: { status: 200, schema: importErrorPage },
  })
  async errors(
    @InScope() scope: ProjectScope,
    @Param('id') id: string,
    @Query({ schema: errorListQuery }) query: z.output<typeof errorListQuery>,
  ) {
    return errorPage(query, await this.query.errors(scope, id, query, 'SUPPRESSIONS'));
  }
}

function errorPage(query: z.output<typeof errorListQuery>, page: Page<ImportError>) {
  const items = page.items.map((row) => ({ ...row, errors: boundedErrors(row.errors) }));
  return toPage(query, { ...page, items });
}

interface SentImport {
  readonly options: ImportOptions;
  readonly content: ImportContent;
}

function jsonImport(
  query: z.output<typeof importQuery>,
  { rows, consent, ...options }: z.output<typeof importBody>,
): SentImport {
  const stray = Object.entries(query).filter(([, value]) => value !== undefined);
  if (stray.length > 0) {
    const errors = Object.fromEntries(
      stray.map(([name]) => [name, 'goes with CSV only: put it into the body']),
    );
    throw invalidRequest(errors);
  }
  return { options: { ...options, ...proofOf(consent) }, content: { rows } };
}

function csvImport(
  query: z.output<typeof importQuery>,
  type: string | undefined,
  body: Readable,
): SentImport {
  const { consent, ...options } = parseInput(csvImportOptions, optionsOf(query));
  return { options: { ...options, ...proofOf(consent) }, content: csvOf(type, body) };
}

function csvOf(type: string | undefined, body: Readable): ImportContent {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type ?? '')?.[1] ?? 'utf-8';
  if (!isCharset(charset)) {
    const detail =
      'The charset of the Content-Type is not known: utf-8, utf-16le, windows-1252 and others of https://encoding.spec.whatwg.org are.';
    throw new ProblemError('unsupported-media-type', { detail });
  }
  // Keep the connection when a file is refused half-way, so that the client gets the answer.
  const csv = body.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
  return { csv, charset };
}

const proofOf = ({ kept, losses }: z.output<typeof importedProof>) => ({ consent: kept, notes: losses });

/** Aborts when the answer is sent or the client disconnects. */
function endOf(reply: FastifyReply): AbortSignal {
  const end = new AbortController();
  reply.raw.once('close', () => end.abort());
  return end.signal;
}
