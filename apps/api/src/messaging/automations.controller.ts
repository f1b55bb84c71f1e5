import { Body, Delete, Get, Inject, Param, Patch, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import type { ProjectScope } from '#kernel';
import { AutomationEditor, AutomationsQuery, AutomationsService } from '#messaging';
import { API_PREFIX, ApiController, InScope, Operation, toPage } from '#platform/http';
import {
  automationContentBody,
  automationListQuery,
  automationPage,
  automationView,
  createAutomationBody,
  type CreateAutomationBody,
  MAX_GRAPH_BYTES,
  toAutomationFields,
  toAutomationPatch,
  toAutomationView,
  updateAutomationBody,
  type UpdateAutomationBody,
} from './automation.dto.js';

const AUTOMATION = { status: 200, schema: automationView } as const;

/** What happens to people after something happened to them. An automation is named by its id or its key. */
@ApiController('automations', { tag: 'Automations' })
export class AutomationsController {
  constructor(
    @Inject(AutomationEditor) private readonly editor: AutomationEditor,
    @Inject(AutomationsService) private readonly automations: AutomationsService,
    @Inject(AutomationsQuery) private readonly query: AutomationsQuery,
  ) {}

  @Get()
  @Operation({
    operationId: 'listAutomations',
    summary: 'List automations, newest first',
    scope: 'automations:read',
    query: automationListQuery,
    response: { status: 200, schema: automationPage },
  })
  async list(
    @InScope() scope: ProjectScope,
    @Query({ schema: automationListQuery }) query: z.output<typeof automationListQuery>,
  ): Promise<z.output<typeof automationPage>> {
    return toPage(query, await this.query.page(scope, query, query), toAutomationView);
  }

  @Post()
  @Operation({
    operationId: 'createAutomation',
    summary: 'Create an automation',
    description: 'Always a DRAFT, without steps.',
    scope: 'automations:write',
    body: createAutomationBody,
    response: { status: 201, schema: automationView, location: true },
  })
  async create(
    @InScope() scope: ProjectScope,
    @Body({ schema: createAutomationBody }) body: CreateAutomationBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.output<typeof automationView>> {
    const automation = await this.editor.create(scope, toAutomationFields(body));
    reply.header('location', `${API_PREFIX}/automations/${automation.id}`);
    return toAutomationView(automation);
  }

  @Get(':automationId')
  @Operation({
    operationId: 'getAutomation',
    summary: 'Get an automation',
    scope: 'automations:read',
    response: AUTOMATION,
  })
  async get(@InScope() scope: ProjectScope, @Param('automationId') automationId: string) {
    return toAutomationView(await this.query.get(scope, automationId));
  }

  @Patch(':automationId')
  @Operation({
    operationId: 'updateAutomation',
    summary: 'Change an automation',
    description:
      'JSON merge-patch (RFC 7396). `status` ACTIVE activates and PAUSED pauses, as the operations of that name do; ' +
      'ARCHIVED ends it for good, from DRAFT or PAUSED, and with it the runs of people inside. The trigger cannot be ' +
      'changed while it is ACTIVE.',
    scope: 'automations:write',
    body: updateAutomationBody,
    response: AUTOMATION,
    problems: [409],
  })
  async update(
    @InScope() scope: ProjectScope,
    @Param('automationId') automationId: string,
    @Body({ schema: updateAutomationBody }) body: UpdateAutomationBody,
  ) {
    return toAutomationView(await this.automations.update(scope, automationId, toAutomationPatch(body)));
  }

  @Delete(':automationId')
  @Operation({
    operationId: 'deleteAutomation',
    summary: 'Delete an automation',
    description: 'Not while it is ACTIVE or anybody is inside. Links in mails that went out keep working.',
    scope: 'automations:write',
    response: { status: 204 },
    problems: [409],
  })
  async delete(@InScope() scope: ProjectScope, @Param('automationId') automationId: string): Promise<void> {
    await this.automations.delete(scope, automationId);
  }

  @Patch(':automationId/content')
  @Operation({
    operationId: 'updateAutomationContent',
    summary: 'Replace the steps of an automation',
    description:
      'Not while it is ACTIVE. What is no graph is refused with 422; what is missing or wrong in the steps may wait ' +
      'until it is activated. People inside go on in the steps that they began with.',
    scope: 'automations:write',
    body: automationContentBody,
    maxBodyBytes: MAX_GRAPH_BYTES,
    response: AUTOMATION,
    problems: [409],
  })
  async updateContent(
    @InScope() scope: ProjectScope,
    @Param('automationId') automationId: string,
    @Body({ schema: automationContentBody }) body: z.output<typeof automationContentBody>,
  ) {
    return toAutomationView(await this.editor.replaceContent(scope, automationId, body));
  }

  @Post(':automationId/activate')
  @Operation({
    operationId: 'activateAutomation',
    summary: 'Activate an automation that is DRAFT or PAUSED',
    description:
      'People come in from now on, and those inside go on. An automation that is not complete is refused with ' +
      '`checks`, which name every fault by its path.',
    scope: 'automations:write',
    response: AUTOMATION,
    problems: [409],
  })
  async activate(@InScope() scope: ProjectScope, @Param('automationId') automationId: string) {
    return toAutomationView(await this.automations.activate(scope, automationId));
  }

  @Post(':automationId/pause')
  @Operation({
    operationId: 'pauseAutomation',
    summary: 'Pause an automation that is ACTIVE',
    description: 'Nobody comes in, and people inside stay where they are until it is activated again.',
    scope: 'automations:write',
    response: AUTOMATION,
    problems: [409],
  })
  async pause(@InScope() scope: ProjectScope, @Param('automationId') automationId: string) {
    return toAutomationView(await this.automations.pause(scope, automationId));
  }
}
