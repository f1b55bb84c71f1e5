import { Body, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import type { z } from 'zod';
import type { ProjectScope } from '#kernel';
import {
  AutomationEntriesService,
  AutomationReportQuery,
  AutomationsQuery,
  AutomationsService,
  ExecutionsQuery,
} from '#messaging';
import { ApiController, InScope, Operation, toPage } from '#platform/http';
import {
  automationContentBody,
  automationListQuery,
  automationPage,
  automationReportView,
  automationView,
  createAutomationBody,
  enterAutomationBody,
  enteredView,
  executionListQuery,
  executionPage,
  MAX_GRAPH_BYTES,
  updateAutomationBody,
} from './automation.dto.js';

const AUTOMATION = { status: 200, schema: automationView } as const;

/** A path names an automation by its id or its key. */
@ApiController('automations', { tag: 'Automations' })
export class AutomationsController {
  constructor(
    private readonly automations: AutomationsService,
    private readonly query: AutomationsQuery,
    private readonly entries: AutomationEntriesService,
    private readonly executions: ExecutionsQuery,
    private readonly reports: AutomationReportQuery,
  ) {}

  @Get()
  @Operation({
    operationId: 'listAutomations',
    sdk: 'automations.all',
    summary: 'List automations, newest first',
    scope: 'automations:read',
    query: automationListQuery,
    response: { status: 200, schema: automationPage },
  })
  async list(
    @InScope() scope: ProjectScope,
    @Query({ schema: automationListQuery }) query: z.output<typeof automationListQuery>,
  ) {
    return toPage(query, await this.query.page(scope, query, query));
  }

  @Post()
  @Operation({
    operationId: 'createAutomation',
    sdk: 'automations.create',
    summary: 'Create an automation',
    description: 'A new automation is a DRAFT without steps.',
    scope: 'automations:write',
    body: createAutomationBody,
    response: { status: 201, schema: automationView, location: ({ id }) => `automations/${id}` },
  })
  create(
    @InScope() scope: ProjectScope,
    @Body({ schema: createAutomationBody }) body: z.output<typeof createAutomationBody>,
  ) {
    return this.automations.create(scope, body);
  }

  @Get(':automationId')
  @Operation({
    operationId: 'getAutomation',
    sdk: 'automations.get',
    summary: 'Get an automation',
    scope: 'automations:read',
    response: AUTOMATION,
  })
  get(@InScope() scope: ProjectScope, @Param('automationId') automationId: string) {
    return this.query.get(scope, automationId);
  }

  @Patch(':automationId')
  @Operation({
    operationId: 'updateAutomation',
    sdk: 'automations.update',
    summary: 'Change an automation',
    description:
      'JSON merge-patch (RFC 7396). `status` ACTIVE activates and PAUSED pauses, like the operations of that name; ' +
      'ARCHIVED ends a DRAFT or PAUSED automation and all its runs for good. The trigger of an ACTIVE automation ' +
      'cannot be changed.',
    scope: 'automations:write',
    body: updateAutomationBody,
    response: AUTOMATION,
    problems: [409],
  })
  update(
    @InScope() scope: ProjectScope,
    @Param('automationId') automationId: string,
    @Body({ schema: updateAutomationBody }) body: z.output<typeof updateAutomationBody>,
  ) {
    return this.automations.update(scope, automationId, body);
  }

  @Delete(':automationId')
  @Operation({
    operationId: 'deleteAutomation',
    sdk: 'automations.delete',
    summary: 'Delete an automation',
    description:
      'Refused while the automation is ACTIVE or has runs in progress. Links in sent mail keep working.',
    scope: 'automations:write',
    response: { status: 204 },
    problems: [409],
  })
  async delete(@InScope() scope: ProjectScope, @Param('automationId') automationId: string) {
    await this.automations.delete(scope, automationId);
  }

  @Patch(':automationId/content')
  @Operation({
    operationId: 'updateAutomationContent',
    sdk: 'automations.updateContent',
    summary: 'Replace the steps of an automation',
    description:
      'Refused while the automation is ACTIVE. 422 when nodes and edges are not a valid graph; missing or wrong ' +
      'settings of steps are checked on activation. `warnings` name what no mail can carry of its mails. Runs in progress keep the steps that they started with.',
    scope: 'automations:write',
    body: automationContentBody,
    maxBodyBytes: MAX_GRAPH_BYTES,
    response: AUTOMATION,
    problems: [409],
  })
  updateContent(
    @InScope() scope: ProjectScope,
    @Param('automationId') automationId: string,
    @Body({ schema: automationContentBody }) body: z.output<typeof automationContentBody>,
  ) {
    return this.automations.replaceContent(scope, automationId, body);
  }

  @Post(':automationId/activate')
  @Operation({
    operationId: 'activateAutomation',
    sdk: 'automations.activate',
    summary: 'Activate an automation that is DRAFT or PAUSED',
    description:
      'People can enter from now on, and runs in progress continue. An incomplete automation is refused with ' +
      '`checks`, which list every error by its path. `warnings` name what no mail can carry of its mails.',
    scope: 'automations:write',
    response: AUTOMATION,
    problems: [409],
  })
  activate(@InScope() scope: ProjectScope, @Param('automationId') automationId: string) {
    return this.automations.activate(scope, automationId);
  }

  @Post(':automationId/pause')
  @Operation({
    operationId: 'pauseAutomation',
    sdk: 'automations.pause',
    summary: 'Pause an automation that is ACTIVE',
    description: 'Nobody can enter, and runs in progress stop until the automation is activated again.',
    scope: 'automations:write',
    response: AUTOMATION,
    problems: [409],
  })
  pause(@InScope() scope: ProjectScope, @Param('automationId') automationId: string) {
    return this.automations.pause(scope, automationId);
  }

  @Get(':automationId/report')
  @Operation({
    operationId: 'getAutomationReport',
    sdk: 'automations.report',
    summary: 'Get the numbers of an automation and of its nodes',
    description:
      'Counted in the transactions in which people go from node to node and mails are sent, opened and answered, and kept when ' +
      'those rows are not. Opens and clicks are people’s; `totals` are the sums of the nodes.',
    scope: 'reports:read',
    response: { status: 200, schema: automationReportView },
  })
  report(@InScope() scope: ProjectScope, @Param('automationId') automationId: string) {
    return this.reports.of(scope, automationId);
  }

  @Get(':automationId/executions')
  @Operation({
    operationId: 'listAutomationExecutions',
    sdk: 'automations.executions',
    summary: 'List the runs of an automation with their steps, latest first',
    scope: 'automations:read',
    query: executionListQuery,
    response: { status: 200, schema: executionPage },
  })
  async listExecutions(
    @InScope() scope: ProjectScope,
    @Param('automationId') automationId: string,
    @Query({ schema: executionListQuery }) query: z.output<typeof executionListQuery>,
  ) {
    return toPage(query, await this.executions.page(scope, automationId, query));
  }

  @Post(':automationId/executions')
  @Operation({
    operationId: 'enterAutomation',
    sdk: 'automations.enter',
    summary: 'Enter a subscriber into an automation that is ACTIVE',
    description:
      'Works with any trigger. 409 `already-exists` when `reEntry` does not allow the subscriber to enter again.',
    scope: 'automations:write',
    body: enterAutomationBody,
    response: { status: 202, schema: enteredView },
    problems: [409],
  })
  async enter(
    @InScope() scope: ProjectScope,
    @Param('automationId') automationId: string,
    @Body({ schema: enterAutomationBody }) { email, data }: z.output<typeof enterAutomationBody>,
  ) {
    return { id: await this.entries.enter(scope, automationId, email, data ?? null) };
  }
}
