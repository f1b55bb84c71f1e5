import { Body, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import type { z } from 'zod';
import { SegmentsService, SegmentMembersService, SegmentsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import { ApiController, InScope, Operation, pageQuery, toPage } from '#platform/http';
import {
  createSegmentBody,
  MAX_PEOPLE_BYTES,
  previewSegmentBody,
  segmentMemberPage,
  segmentMembersBody,
  segmentPage,
  segmentPreviewView,
  segmentView,
  updateSegmentBody,
} from './segments.dto.js';

const MEMBERS_CHANGE = {
  scope: 'segments:write',
  body: segmentMembersBody,
  maxBodyBytes: MAX_PEOPLE_BYTES,
  bulk: ['emails', 'subscriberIds'],
  response: { status: 204 },
} as const;

const segmentListQuery = pageQuery({});

/** A path names a segment by its id or its key. */
@ApiController('segments', { tag: 'Segments' })
export class SegmentsController {
  constructor(
    private readonly segments: SegmentsService,
    private readonly query: SegmentsQuery,
    private readonly members: SegmentMembersService,
  ) {}

  @Get()
  @Operation({
    operationId: 'listSegments',
    sdk: 'segments.all',
    summary: 'List segments, newest first',
    scope: 'segments:read',
    query: segmentListQuery,
    response: { status: 200, schema: segmentPage },
  })
  async list(
    @InScope() scope: ProjectScope,
    @Query({ schema: segmentListQuery }) query: z.output<typeof segmentListQuery>,
  ) {
    return toPage(query, await this.query.page(scope, query));
  }

  @Post()
  @Operation({
    operationId: 'createSegment',
    sdk: 'segments.create',
    summary: 'Create a segment',
    description:
      'With rules the segment is DYNAMIC: its members are the subscribers who match them. Without rules it is STATIC: you add and remove members.',
    scope: 'segments:write',
    body: createSegmentBody,
    response: { status: 201, schema: segmentView, location: ({ id }) => `segments/${id}` },
  })
  create(
    @InScope() scope: ProjectScope,
    @Body({ schema: createSegmentBody }) body: z.output<typeof createSegmentBody>,
  ) {
    return this.segments.create(scope, body);
  }

  @Post('preview')
  @Operation({
    operationId: 'previewSegment',
    sdk: 'segments.preview',
    summary: 'Count the subscribers who match rules, and show a few of them',
    mutates: false,
    scope: 'segments:read',
    body: previewSegmentBody,
    response: { status: 200, schema: segmentPreviewView },
  })
  preview(
    @InScope() scope: ProjectScope,
    @Body({ schema: previewSegmentBody }) { rules }: z.output<typeof previewSegmentBody>,
  ) {
    return this.members.preview(scope, rules);
  }

  @Get(':segmentId')
  @Operation({
    operationId: 'getSegment',
    sdk: 'segments.get',
    summary: 'Get a segment',
    scope: 'segments:read',
    response: { status: 200, schema: segmentView },
  })
  get(@InScope() scope: ProjectScope, @Param('segmentId') segmentId: string) {
    return this.query.get(scope, segmentId);
  }

  @Patch(':segmentId')
  @Operation({
    operationId: 'updateSegment',
    sdk: 'segments.update',
    summary: 'Change a segment',
    description:
      'JSON merge-patch (RFC 7396). New rules are evaluated at once. The status cannot change while a campaign that is scheduled or under way or an active automation uses the segment: 409 in-use.',
    scope: 'segments:write',
    body: updateSegmentBody,
    response: { status: 200, schema: segmentView },
    problems: [409],
  })
  update(
    @InScope() scope: ProjectScope,
    @Param('segmentId') segmentId: string,
    @Body({ schema: updateSegmentBody }) body: z.output<typeof updateSegmentBody>,
  ) {
    return this.segments.update(scope, segmentId, body);
  }

  @Delete(':segmentId')
  @Operation({
    operationId: 'deleteSegment',
    sdk: 'segments.delete',
    summary: 'Delete a segment',
    description:
      'Refused while a scheduled or sending campaign, an active automation or another segment uses it.',
    scope: 'segments:write',
    response: { status: 204 },
    problems: [409],
  })
  async delete(@InScope() scope: ProjectScope, @Param('segmentId') segmentId: string) {
    await this.segments.delete(scope, segmentId);
  }

  @Get(':segmentId/members')
  @Operation({
    operationId: 'listSegmentMembers',
    sdk: 'segments.members',
    summary: 'List the members of a segment, latest first',
    description:
      'The first page of a DYNAMIC segment evaluates its rules now; further pages show the same evaluation.',
    scope: 'segments:read',
    query: segmentListQuery,
    response: { status: 200, schema: segmentMemberPage },
  })
  async listMembers(
    @InScope() scope: ProjectScope,
    @Param('segmentId') segmentId: string,
    @Query({ schema: segmentListQuery }) query: z.output<typeof segmentListQuery>,
  ) {
    return toPage(query, await this.members.page(scope, segmentId, query));
  }

  @Post(':segmentId/members')
  @Operation({
    operationId: 'addSegmentMembers',
    sdk: 'segments.addMembers',
    summary: 'Add subscribers to a STATIC segment',
    ...MEMBERS_CHANGE,
  })
  async addMembers(
    @InScope() scope: ProjectScope,
    @Param('segmentId') segmentId: string,
    @Body({ schema: segmentMembersBody }) body: z.output<typeof segmentMembersBody>,
  ) {
    await this.members.add(scope, segmentId, body);
  }

  @Delete(':segmentId/members')
  @Operation({
    operationId: 'deleteSegmentMembers',
    sdk: 'segments.removeMembers',
    summary: 'Remove subscribers from a STATIC segment by DELETE',
    ...MEMBERS_CHANGE,
  })
  async deleteMembers(
    @InScope() scope: ProjectScope,
    @Param('segmentId') segmentId: string,
    @Body({ schema: segmentMembersBody }) body: z.output<typeof segmentMembersBody>,
  ) {
    await this.members.remove(scope, segmentId, body);
  }

  @Post(':segmentId/members/remove')
  @Operation({
    operationId: 'removeSegmentMembers',
    sdk: 'segments.removeMembers',
    summary: 'Remove subscribers from a STATIC segment',
    description: 'For clients that cannot send a body with DELETE.',
    ...MEMBERS_CHANGE,
  })
  async removeMembers(
    @InScope() scope: ProjectScope,
    @Param('segmentId') segmentId: string,
    @Body({ schema: segmentMembersBody }) body: z.output<typeof segmentMembersBody>,
  ) {
    await this.members.remove(scope, segmentId, body);
  }
}
