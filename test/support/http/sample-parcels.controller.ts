import { Readable } from 'node:stream';
import {
  Body,
  Controller,
  Delete,
  Get,
  Inject,
  Injectable,
  Param,
  Patch,
  Post,
  Query,
  Req,
  Res,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { z } from 'zod';
import {
  DomainValidationError,
  type EmailAddress,
  InvalidStateError,
  NotFoundError,
  UnavailableError,
} from '#kernel';
import { Database, LOGGER } from '#platform';
import {
  ApiController,
  type AuthenticatedCaller,
  Caller,
  ClientAddress,
  emailField,
  int64,
  LimitClients,
  Operation,
  pageOf,
  pageQuery,
  strictBody,
  timestamp,
  toPage,
  validBody,
} from '#platform/http';
import { CONFLICTS, isConflict } from './sample-conflicts.js';

const parcelBody = strictBody({
  name: z.string().min(1).max(10),
  kind: z.enum(['SMALL', 'LARGE']).optional(),
  email: emailField.optional(),
  consent: strictBody({ source: z.string() }),
  options: z.array(strictBody({ value: z.string(), label: z.string() })).optional(),
});
const noteBody = strictBody({ text: z.string() }).meta({ id: 'NoteParcels' });
const importBody = strictBody({ rows: z.array(z.string()).max(3) }).meta({ id: 'ImportParcels' });
const parcelView = z
  .object({
    id: int64,
    name: z.string(),
    note: z.string().nullable(),
    calls: z.number(),
    createdAt: timestamp,
  })
  .meta({ id: 'Parcel' });
const parcelPage = pageOf(parcelView, 'ParcelPage');
const view = (id: number, calls = 0) => ({
  id,
  name: `Parcel ${id}`,
  note: null,
  calls,
  createdAt: new Date('2026-11-21T06:00:00.000Z'),
  secret: 'not documented, not sent',
});

const SAMPLE_ID = '019aa3b5-7c1e-7d55-9c3e-2f6b8a4d1e90';
const shelfQuery = pageQuery({});
const parcelQuery = pageQuery({ status: z.string().optional(), q: z.string().optional() });

/** Work of the sample operations, for which a test waits. */
@Injectable()
export class SampleWork {
  calls = 0;
  gate: Promise<void> = Promise.resolve();
}

/** An operation of every shape that the API has. */
@ApiController('parcels', { tag: 'Parcels' })
export class ParcelsController {
  constructor(
    private readonly work: SampleWork,
    private readonly database: Database,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Get()
  @Operation({
    operationId: 'listParcels',
    summary: 'List',
    scope: 'topics:read',
    query: parcelQuery,
    response: { status: 200, schema: parcelPage },
  })
  list(@Query({ schema: parcelQuery }) query: z.output<typeof parcelQuery>) {
    const { page = 0, size } = query;
    const next = (page + 1) * size < 45 ? [view(1).createdAt.toISOString(), SAMPLE_ID] : null;
    return toPage(query, { items: [view(1), view(2), view(3)], totalElements: 45, next });
  }

  @Post()
  @Operation({
    operationId: 'createParcel',
    summary: 'Create',
    scope: 'topics:write',
    body: parcelBody,
    response: { status: 201, schema: parcelView, location: ({ id }) => `parcels/${id}` },
    problems: [409],
  })
  async create(@Body({ schema: parcelBody }) body: z.output<typeof parcelBody>) {
    this.work.calls += 1;
    await this.work.gate;
    if (body.name === 'unknown')
      throw new DomainValidationError({ 'topicKeys[0]': 'is not a topic of this project' });
    if (body.name === 'orphan') await CONFLICTS['refers-to-nothing'](this.database.pool);
    if (body.name === 'crash') throw new Error('select secret from passwords');
    return view(7, this.work.calls);
  }

  @Get('whoami')
  @Operation({
    operationId: 'whoami',
    summary: 'Who',
    scope: null,
    response: { status: 200, schema: z.object({ keyId: z.string(), ip: z.string() }) },
  })
  whoami(@Caller() caller: AuthenticatedCaller, @ClientAddress() ip: string) {
    return { keyId: caller.keyId, ip };
  }

  @Get('by-email/:email')
  @Operation({
    operationId: 'getByEmail',
    summary: 'By e-mail',
    scope: 'topics:read',
    response: { status: 200, schema: z.object({ value: z.string(), key: z.string() }) },
  })
  byEmail(@Param('email', { schema: emailField }) email: EmailAddress) {
    this.logger.info({ asked: email.value }, `looks for ${email.value}`);
    return { value: email.value, key: email.key };
  }

  @Get('raw/:text')
  @Operation({
    operationId: 'getRaw',
    summary: 'Raw',
    scope: null,
    response: { status: 200, schema: z.object({ text: z.string() }) },
  })
  raw(@Param('text') text: string) {
    return { text };
  }

  @Get('export')
  @Operation({
    operationId: 'exportParcels',
    summary: 'CSV',
    scope: null,
    response: { status: 200, contentType: 'text/csv; charset=utf-8' },
  })
  export(@Res({ passthrough: true }) reply: FastifyReply) {
    void reply.header('content-type', 'text/csv; charset=utf-8');
    return 'a,b\r\n';
  }

  @Get('fails/:how')
  @Operation({
    operationId: 'fail',
    summary: 'Fails',
    scope: null,
    response: { status: 200, schema: parcelView },
  })
  async fail(@Param('how') how: string) {
    if (isConflict(how)) await CONFLICTS[how](this.database.pool);
    switch (how) {
      case 'missing':
        throw new NotFoundError();
      case 'state':
        throw new InvalidStateError('It is on its way.', 'SENDING', ['DRAFT']);
      case 'unavailable':
        throw new UnavailableError('The worker did not answer.', 7);
      case 'database':
        await this.database.pool.query(`select pg_sleep(60) as ends_before_its_time`);
        return view(1);
      case 'incomplete':
        return { ...view(1), note: undefined as never };
      default:
        throw new Error('duplicate key: jane@example.com');
    }
  }

  @Post('by-email/:email')
  @Operation({
    operationId: 'noteParcels',
    summary: 'Note',
    scope: 'topics:write',
    query: shelfQuery,
    body: noteBody,
    response: { status: 204 },
  })
  note(
    @Param('email', { schema: emailField }) _email: EmailAddress,
    @Query({ schema: shelfQuery }) _query: z.output<typeof shelfQuery>,
    @Body({ schema: noteBody }) _body: z.output<typeof noteBody>,
  ): void {}

  @Patch(':id')
  @Operation({
    operationId: 'patchParcel',
    summary: 'Change',
    scope: 'topics:write',
    body: strictBody({ name: z.string().max(10).optional() }),
    response: { status: 200, schema: parcelView },
  })
  patch(
    @Param('id') id: string,
    @Body({ schema: strictBody({ name: z.string().max(10).optional() }) }) body: { name?: string },
  ) {
    return { ...view(Number(id)), ...body };
  }

  @Post(':id/send')
  @Operation({
    operationId: 'sendParcel',
    summary: 'Send',
    scope: 'topics:write',
    response: { status: 200, schema: parcelView },
  })
  send(@Param('id') id: string) {
    this.work.calls += 1;
    return view(Number(id), this.work.calls);
  }

  @Post('slowly')
  @Operation({
    operationId: 'slowly',
    summary: 'Slow',
    scope: 'topics:write',
    timeoutMs: 100,
    response: { status: 204 },
  })
  async slowly(): Promise<void> {
    await this.work.gate;
  }

  @Post('import')
  @Operation({
    operationId: 'importParcels',
    summary: 'Import',
    scope: 'topics:write',
    query: z.object({ onConflict: z.string().optional() }),
    body: importBody,
    streams: ['text/csv'],
    response: { status: 202, schema: z.object({ bytes: z.number() }) },
  })
  async import(@Req() request: FastifyRequest) {
    this.work.calls += 1;
    let bytes = 0;
    if (!(request.body instanceof Readable))
      return { bytes: validBody(importBody, request.body).rows.length };
    for await (const chunk of request.body) bytes += Buffer.byteLength(chunk as Buffer);
    return { bytes };
  }

  @Delete(':id')
  @Operation({
    operationId: 'deleteParcel',
    summary: 'Delete',
    scope: 'topics:write',
    response: { status: 204 },
  })
  delete(): void {}
}

/** A page for readers, who have no key. */
@LimitClients('page')
@Controller('shelf')
export class ShelfController {
  @Get(':number')
  show(@Param('number') number: string): string {
    return number;
  }
}
