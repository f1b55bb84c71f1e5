import { Body, Get, Param, Post, Query } from '@nestjs/common';
import type { z } from 'zod';
import type { ProjectScope } from '#kernel';
import { AutomationEntriesService, ExecutionsQuery } from '#messaging';
import { ApiController, InScope, Operation, pageQuery, PLACES, toPage } from '#platform/http';
import { enterAutomationBody, enteredView, executionPage, toExecutionView } from './automation.dto.js';

const executionListQuery = pageQuery({}, [PLACES.id]);

@ApiController('automations/:automationId/executions', { tag: 'Automations' })
export class ExecutionsController {
  constructor(
    private readonly entries: AutomationEntriesService,
    private readonly executions: ExecutionsQuery,
  ) {}

  @Get()
  @Operation({
    operationId: 'listAutomationExecutions',
    summary: 'List the runs of an automation with their steps, latest first',
    scope: 'automations:read',
    query: executionListQuery,
    response: { status: 200, schema: executionPage },
  })
  async list(
    @InScope() scope: ProjectScope,
    @Param('automationId') automationId: string,
    @Query({ schema: executionListQuery }) query: z.output<typeof executionListQuery>,
  ): Promise<z.output<typeof executionPage>> {
    return toPage(query, await this.executions.page(scope, automationId, query), toExecutionView);
  }

  @Post()
  @Operation({
    operationId: 'enterAutomation',
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
  ): Promise<z.output<typeof enteredView>> {
    return { id: await this.entries.enter(scope, automationId, email, data ?? null) };
  }
}
