import { Body, Get, Param, Put } from '@nestjs/common';
import type { z } from 'zod';
import { ProjectTextsService } from '#access';
import type { ProjectScope } from '#kernel';
import { ApiController, InScope, Operation } from '#platform/http';
import {
  localeParam,
  projectTextsView,
  toProjectTextsView,
  updateProjectTextsBody,
} from './project-texts.dto.js';

/** What opt-in mails, footers and pages say, in each language. */
@ApiController('project/texts', { tag: 'Project' })
export class ProjectTextsController {
  constructor(private readonly texts: ProjectTextsService) {}

  @Get(':locale')
  @Operation({
    operationId: 'getProjectTexts',
    summary: 'Get the texts of opt-in mails, footers and pages in a language',
    scope: null,
    response: { status: 200, schema: projectTextsView },
  })
  async get(
    @InScope() scope: ProjectScope,
    @Param('locale', { schema: localeParam }) locale: z.output<typeof localeParam>,
  ): Promise<z.output<typeof projectTextsView>> {
    return toProjectTextsView(await this.texts.of(scope, locale));
  }

  @Put(':locale')
  @Operation({
    operationId: 'updateProjectTexts',
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
  ): Promise<z.output<typeof projectTextsView>> {
    return toProjectTextsView(await this.texts.change(scope, locale, texts));
  }
}
