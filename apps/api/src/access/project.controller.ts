import { Get, Inject } from '@nestjs/common';
import type { z } from 'zod';
import { ProjectsQuery } from '#access';
import { NotFoundError, type ProjectScope } from '#kernel';
import { ApiController, InScope, Operation } from '#platform/http';
import { projectView, toProjectView } from './project.dto.js';

@ApiController('project', { tag: 'Project' })
export class ProjectController {
  constructor(@Inject(ProjectsQuery) private readonly projects: ProjectsQuery) {}

  @Get()
  @Operation({
    operationId: 'getProject',
    summary: 'Get the project of the key',
    scope: null,
    response: { status: 200, schema: projectView },
  })
  async get(@InScope() scope: ProjectScope): Promise<z.output<typeof projectView>> {
    const project = await this.projects.ofScope(scope);
    if (project === null) throw new NotFoundError();
    return toProjectView(project);
  }
}
