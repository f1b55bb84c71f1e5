import { Body, Get, Param, Patch, Put } from '@nestjs/common';
import type { z } from 'zod';
import { type Project, ProjectsQuery, ProjectsService, ProjectTextsService } from '#access';
import { TrackingHostsQuery } from '#deliverability';
import { NotFoundError, type ProjectScope } from '#kernel';
import { ApiController, InScope, Operation } from '#platform/http';
import {
  localeParam,
  projectTextsView,
  projectView,
  toProjectChanges,
  toProjectTextsView,
  toProjectView,
  updateProjectBody,
  updateProjectTextsBody,
} from './project.dto.js';

@ApiController('project', { tag: 'Project' })
export class ProjectController {
  constructor(
    private readonly query: ProjectsQuery,
    private readonly projects: ProjectsService,
    private readonly hosts: TrackingHostsQuery,
  ) {}

  @Get()
  @Operation({
    operationId: 'getProject',
    sdk: 'project.get',
    summary: 'Get the project of the key',
    scope: null,
    response: { status: 200, schema: projectView },
  })
  async get(@InScope() scope: ProjectScope) {
    const project = await this.query.ofScope(scope);
    if (project === null) throw new NotFoundError();
    return this.#view(scope, project);
  }

  @Patch()
  @Operation({
    operationId: 'updateProject',
    sdk: 'project.update',
    summary: 'Change the settings of the project',
    description:
      'JSON merge-patch (RFC 7396). Live and test keys share the settings. Opt-in mails and pages follow at once; a ' +
      'campaign keeps what it was queued with, and automations’ mails follow on the next day (UTC) at the latest.',
    scope: 'project:write',
    body: updateProjectBody,
    response: { status: 200, schema: projectView },
  })
  async update(
    @InScope() scope: ProjectScope,
    @Body({ schema: updateProjectBody }) body: z.output<typeof updateProjectBody>,
  ) {
    return this.#view(scope, await this.projects.changeSettings(scope, toProjectChanges(body)));
  }

  async #view(scope: ProjectScope, project: Project) {
    return toProjectView(project, await this.hosts.view(scope, project));
  }
}

/** Texts of opt-in mails, footers and pages, in each language. */
@ApiController('project/texts', { tag: 'Project' })
export class ProjectTextsController {
  constructor(private readonly texts: ProjectTextsService) {}

  @Get(':locale')
  @Operation({
    operationId: 'getProjectTexts',
    sdk: 'projectTexts.get',
    summary: 'Get the texts of opt-in mails, footers and pages in a language',
    scope: null,
    response: { status: 200, schema: projectTextsView },
  })
  async get(
    @InScope() scope: ProjectScope,
    @Param('locale', { schema: localeParam }) locale: z.output<typeof localeParam>,
  ) {
    return toProjectTextsView(await this.texts.of(scope, locale));
  }

  @Put(':locale')
  @Operation({
    operationId: 'updateProjectTexts',
    sdk: 'projectTexts.update',
    summary: 'Set texts of your own',
    description:
      'Texts of keys that are left out stay. Placeholders are checked. What changes is a new version, which the consents ' +
      'name that people give on it; live and test keys share the texts.',
    scope: 'project:write',
    body: updateProjectTextsBody,
    response: { status: 200, schema: projectTextsView },
  })
  async update(
    @InScope() scope: ProjectScope,
    @Param('locale', { schema: localeParam }) locale: z.output<typeof localeParam>,
    @Body({ schema: updateProjectTextsBody }) { texts }: z.output<typeof updateProjectTextsBody>,
  ) {
    return toProjectTextsView(await this.texts.change(scope, locale, texts));
  }
}
