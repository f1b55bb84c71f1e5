import { Body, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import type { z } from 'zod';
import { ApiKeysService, EnvironmentsQuery, ProjectsQuery, ProjectsService } from '#access';
import { Clock, DomainValidationError, INSTALLATION, InvalidStateError, NotFoundError } from '#kernel';
import { ProjectRetentionRepository, SendingStopsService } from '#messaging';
import { AccountsService } from '#operator';
import { AuditLogService, AuditTrail } from '#platform';
import { Operation, OperatorController, toPage } from '#platform/http';
import { shownKey } from '../access/api-keys.controller.js';
import { rotateApiKeyBody } from '../access/api-keys.dto.js';
import { auditListQuery, auditPage, toAuditFilter } from '../access/audit.dto.js';
import { toProjectChanges } from '../access/project.dto.js';
import {
  apiKeyView,
  changeProjectBody,
  createdApiKeyView,
  createProjectBody,
  createProjectKeyBody,
  createTenantBody,
  idParam,
  operatedProjectView,
  projectKeyListQuery,
  projectKeyPage,
  projectListQuery,
  projectPage,
  retentionBody,
  retentionView,
  tenantListQuery,
  tenantPage,
  tenantView,
  toListedProject,
  toOperatedProject,
} from './accounts.dto.js';

@OperatorController('tenants', { tag: 'Tenants' })
export class TenantsController {
  constructor(private readonly accounts: AccountsService) {}

  @Get()
  @Operation({
    operationId: 'listTenants',
    sdk: 'tenants.all',
    summary: 'List tenants by key',
    scope: 'tenants:read',
    query: tenantListQuery,
    response: { status: 200, schema: tenantPage },
  })
  async list(@Query({ schema: tenantListQuery }) asked: z.output<typeof tenantListQuery>) {
    return toPage(asked, await this.accounts.tenantPage(asked));
  }

  @Post()
  @Operation({
    operationId: 'createTenant',
    sdk: 'tenants.create',
    summary: 'Make a tenant on the free plan',
    scope: 'tenants:write',
    body: createTenantBody,
    response: { status: 201, schema: tenantView, location: ({ tenantKey }) => `tenants/${tenantKey}` },
    problems: [409],
  })
  create(@Body({ schema: createTenantBody }) wanted: z.output<typeof createTenantBody>) {
    return this.accounts.createTenant(wanted);
  }

  @Get(':tenantKey')
  @Operation({
    operationId: 'getTenant',
    sdk: 'tenants.get',
    summary: 'Get a tenant',
    scope: 'tenants:read',
    response: { status: 200, schema: tenantView },
  })
  get(@Param('tenantKey') tenantKey: string) {
    return this.accounts.tenant(tenantKey);
  }
}

@OperatorController('projects', { tag: 'Projects' })
export class ProjectsController {
  constructor(
    private readonly accounts: AccountsService,
    private readonly projects: ProjectsService,
    private readonly query: ProjectsQuery,
    private readonly retention: ProjectRetentionRepository,
    private readonly stops: SendingStopsService,
  ) {}

  @Get()
  @Operation({
    operationId: 'listProjects',
    sdk: 'projects.all',
    summary: 'List projects by tenant and key',
    scope: 'projects:read',
    query: projectListQuery,
    response: { status: 200, schema: projectPage },
    problems: [404],
  })
  async list(
    @Query({ schema: projectListQuery }) { tenantKey, ...asked }: z.output<typeof projectListQuery>,
  ) {
    const tenant = tenantKey === undefined ? undefined : await this.accounts.tenant(tenantKey);
    const page = await this.query.page(tenant?.id, asked);
    return toPage(asked, { ...page, items: page.items.map(toListedProject) });
  }

  @Post()
  @Operation({
    operationId: 'createProject',
    sdk: 'projects.create',
    summary: 'Make a project with its live and test environments',
    description: 'As many as the plan of the tenant allows.',
    scope: 'projects:write',
    body: createProjectBody,
    response: { status: 201, schema: operatedProjectView, location: ({ id }) => `projects/${id}` },
    problems: [409],
  })
  async create(
    @Body({ schema: createProjectBody }) {
      tenantKey,
      fromEmail,
      ...wanted
    }: z.output<typeof createProjectBody>,
  ) {
    const tenant = await this.accounts
      .tenant(tenantKey)
      .catch(unknown({ tenantKey: 'is not a known tenant' }));
    const project = {
      ...wanted,
      description: wanted.description ?? null,
      defaultFromEmail: fromEmail ?? null,
    };
    return this.#view((await this.accounts.createProject(tenant.id, project)).id);
  }

  @Get(':projectId')
  @Operation({
    operationId: 'getOperatedProject',
    sdk: 'projects.get',
    summary: 'Get a project with its settings',
    scope: 'projects:read',
    response: { status: 200, schema: operatedProjectView },
  })
  get(@Param('projectId', { schema: idParam }) projectId: number) {
    return this.#view(projectId);
  }

  @Patch(':projectId')
  @Operation({
    operationId: 'changeProject',
    sdk: 'projects.update',
    summary: 'Change the settings of a project',
    description: 'JSON merge-patch (RFC 7396). The tracking host is set by the project’s own keys alone.',
    scope: 'projects:write',
    body: changeProjectBody,
    response: { status: 200, schema: operatedProjectView },
  })
  async change(
    @Param('projectId', { schema: idParam }) projectId: number,
    @Body({ schema: changeProjectBody }) body: z.output<typeof changeProjectBody>,
  ) {
    const { aiSegmentSuggestionsEnabled, ...settings } = body;
    await this.projects.change(projectId, { ...toProjectChanges(settings), aiSegmentSuggestionsEnabled });
    return this.#view(projectId);
  }

  @Patch(':projectId/retention')
  @Operation({
    operationId: 'changeProjectRetention',
    sdk: 'projects.updateRetention',
    summary: 'Change for how long the mails and events of a project are kept',
    description: 'What is left out stays.',
    scope: 'projects:write',
    body: retentionBody,
    response: { status: 200, schema: retentionView },
  })
  async keep(
    @Param('projectId', { schema: idParam }) projectId: number,
    @Body({ schema: retentionBody }) { deliveriesDays, eventsDays }: z.output<typeof retentionBody>,
  ) {
    const { id } = await this.query.find(projectId);
    return this.retention.set(id, {
      ...(deliveriesDays !== undefined && { deliveriesDays }),
      ...(eventsDays !== undefined && { eventsDays }),
    });
  }

  @Post(':projectId/resume-sending')
  @Operation({
    operationId: 'resumeProjectSending',
    sdk: 'projects.resumeSending',
    summary: 'Resume the sending of a project that was stopped for bounces or complaints',
    description: 'Its campaigns are still paused: the project resumes each of them.',
    scope: 'projects:write',
    response: { status: 204 },
    problems: [409],
  })
  async resume(@Param('projectId', { schema: idParam }) projectId: number) {
    const { live } = await this.query.find(projectId);
    const resumed = await AuditTrail.inEnvironment(live.environmentId, () => this.stops.resume(live));
    if (!resumed)
      throw new InvalidStateError('The sending of the project is not stopped.', 'SENDING', ['STOPPED']);
  }

  async #view(projectId: number) {
    const project = await this.query.find(projectId);
    const profile = await this.query.ofScope(project.live);
    if (profile === null) throw new NotFoundError();
    return toOperatedProject(project, profile, await this.retention.of(projectId));
  }
}

@OperatorController('api-keys', { tag: 'Project keys' })
export class ProjectKeysController {
  constructor(
    private readonly accounts: AccountsService,
    private readonly apiKeys: ApiKeysService,
    private readonly environments: EnvironmentsQuery,
  ) {}

  @Get()
  @Operation({
    operationId: 'listProjectKeys',
    sdk: 'apiKeys.all',
    summary: 'List API keys of all projects, newest first',
    description: 'Those that were revoked or have expired, too.',
    scope: 'keys:read',
    query: projectKeyListQuery,
    response: { status: 200, schema: projectKeyPage },
  })
  async list(
    @Query({ schema: projectKeyListQuery }) { projectId, ...asked }: z.output<typeof projectKeyListQuery>,
  ) {
    const page = await this.apiKeys.pageOfAll(projectId, asked);
    return toPage(asked, { ...page, items: page.items.map(shownKey) });
  }

  @Post()
  @Operation({
    operationId: 'createProjectKey',
    sdk: 'apiKeys.create',
    summary: 'Make an API key of a project',
    description:
      '`key` is shown in this answer alone; the same request with its `Idempotency-Key` gets the same answer for 24 hours.',
    scope: 'keys:write',
    body: createProjectKeyBody,
    response: { status: 201, schema: createdApiKeyView, location: ({ id }) => `api-keys/${id}` },
  })
  async create(
    @Body({ schema: createProjectKeyBody })
    { environmentId, allowedNetworks, ...wanted }: z.output<typeof createProjectKeyBody>,
  ) {
    const scope = await this.environments.find(environmentId);
    if (scope === null) throw new DomainValidationError({ environmentId: 'is not a known environment' });
    const terms = { ...wanted, expiresAt: wanted.expiresAt ?? null, allowedNetworks: allowedNetworks ?? [] };
    return shownKey(await this.accounts.createApiKey(scope, terms));
  }

  @Get(':id')
  @Operation({
    operationId: 'getProjectKey',
    sdk: 'apiKeys.get',
    summary: 'Get an API key',
    scope: 'keys:read',
    response: { status: 200, schema: apiKeyView },
  })
  async get(@Param('id') id: string) {
    return shownKey(await this.accounts.apiKey(id));
  }

  @Delete(':id')
  @Operation({
    operationId: 'revokeProjectKey',
    sdk: 'apiKeys.revoke',
    summary: 'Revoke an API key',
    description:
      'For good: it is refused within five seconds, and stays in the list. Revoking it again changes nothing.',
    scope: 'keys:write',
    response: { status: 204 },
  })
  async revoke(@Param('id') id: string) {
    await this.accounts.revokeApiKey(id);
  }

  @Post(':id/rotate')
  @Operation({
    operationId: 'rotateProjectKey',
    sdk: 'apiKeys.rotate',
    summary: 'Make a successor of an API key',
    description:
      'Another key with the same name, grants and end; the one before works on for `overlapHours`.',
    scope: 'keys:write',
    body: rotateApiKeyBody,
    response: { status: 201, schema: createdApiKeyView, location: ({ id }) => `api-keys/${id}` },
    problems: [409],
  })
  async rotate(
    @Param('id') id: string,
    @Body({ schema: rotateApiKeyBody }) { overlapHours }: z.output<typeof rotateApiKeyBody>,
  ) {
    return shownKey(await this.accounts.rotateApiKey(id, overlapHours));
  }
}

@OperatorController('audit-log', { tag: 'Operator audit' })
export class OperatorAuditController {
  constructor(
    private readonly log: AuditLogService,
    private readonly clock: Clock,
  ) {}

  @Get()
  @Operation({
    operationId: 'listOperatorAuditLog',
    sdk: 'auditLog.all',
    summary: 'List what the operator changed, or was refused, and read of people',
    description:
      'Requests of operator keys and commands, newest first, for 400 days. What concerns one environment is also in its own log, with the same `requestId`.',
    scope: 'audit:read',
    query: auditListQuery,
    response: { status: 200, schema: auditPage },
    problems: [422],
  })
  async list(@Query({ schema: auditListQuery }) query: z.output<typeof auditListQuery>) {
    return toPage(query, await this.log.page(INSTALLATION, toAuditFilter(query, this.clock.now()), query));
  }
}

/** For `catch`: the body names what does not exist. */
function unknown(errors: Readonly<Record<string, string>>): (error: unknown) => never {
  return (error) => {
    throw error instanceof NotFoundError ? new DomainValidationError({ ...errors }) : error;
  };
}
