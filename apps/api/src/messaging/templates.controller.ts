import { Body, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import type { z } from 'zod';
import type { ProjectScope } from '#kernel';
import { type Template, TemplatePreviewsService, TemplatesService } from '#messaging';
import { ApiController, InScope, Operation, toPage } from '#platform/http';
import { previewLinkView } from './campaign.dto.js';
import {
  createTemplateBody,
  duplicateTemplateBody,
  MAX_TEMPLATE_BYTES,
  patchTemplateBody,
  previewTemplateBody,
  publishTemplateBody,
  templateListQuery,
  templatePage,
  templatePreviewView,
  templateVersionListQuery,
  templateVersionPage,
  templateVersionView,
  templateView,
  validatedTemplateView,
  validateTemplateBody,
  versionParam,
} from './templates.dto.js';

const TEMPLATE = { status: 200, schema: templateView } as const;
const NEW_TEMPLATE = {
  status: 201,
  schema: templateView,
  location: ({ templateKey }: { readonly templateKey: string }) => `templates/${templateKey}`,
} as const;

@ApiController('templates', { tag: 'Templates' })
export class TemplatesController {
  constructor(
    private readonly templates: TemplatesService,
    private readonly previews: TemplatePreviewsService,
  ) {}

  @Get()
  @Operation({
    operationId: 'listTemplates',
    sdk: 'templates.all',
    summary: 'List templates, newest first',
    scope: 'templates:read',
    query: templateListQuery,
    response: { status: 200, schema: templatePage },
  })
  async list(
    @InScope() scope: ProjectScope,
    @Query({ schema: templateListQuery }) query: z.output<typeof templateListQuery>,
  ) {
    return toPage(query, await this.templates.list(scope, query, query));
  }

  @Post()
  @Operation({
    operationId: 'createTemplate',
    sdk: 'templates.create',
    summary: 'Create a template',
    description: 'It is a draft until it is published.',
    scope: 'templates:write',
    body: createTemplateBody,
    maxBodyBytes: MAX_TEMPLATE_BYTES,
    response: NEW_TEMPLATE,
    problems: [409],
  })
  async create(
    @InScope() scope: ProjectScope,
    @Body({ schema: createTemplateBody }) body: z.output<typeof createTemplateBody>,
  ) {
    return viewOf(await this.templates.create(scope, body));
  }

  @Post('validate')
  @Operation({
    operationId: 'validateTemplate',
    sdk: 'templates.validate',
    summary: 'Review content without keeping it',
    mutates: false,
    scope: 'templates:read',
    body: validateTemplateBody,
    maxBodyBytes: MAX_TEMPLATE_BYTES,
    response: { status: 200, schema: validatedTemplateView },
  })
  validate(
    @InScope() scope: ProjectScope,
    @Body({ schema: validateTemplateBody }) body: z.output<typeof validateTemplateBody>,
  ) {
    return this.templates.validate(scope, body);
  }

  @Get(':templateKey')
  @Operation({
    operationId: 'getTemplate',
    sdk: 'templates.get',
    summary: 'Get a template with its draft, by its key or alias',
    scope: 'templates:read',
    response: TEMPLATE,
  })
  async get(@InScope() scope: ProjectScope, @Param('templateKey') templateKey: string) {
    return viewOf(await this.templates.get(scope, templateKey));
  }

  @Patch(':templateKey')
  @Operation({
    operationId: 'updateTemplate',
    sdk: 'templates.update',
    summary: 'Change the draft of a template',
    description:
      'JSON merge-patch: absent fields stay, null clears a field. Content, purpose, variables and layout are in use once they are ' +
      'published; name, alias and metadata at once.',
    scope: 'templates:write',
    body: patchTemplateBody,
    maxBodyBytes: MAX_TEMPLATE_BYTES,
    response: TEMPLATE,
    problems: [409],
  })
  async update(
    @InScope() scope: ProjectScope,
    @Param('templateKey') templateKey: string,
    @Body({ schema: patchTemplateBody }) body: z.output<typeof patchTemplateBody>,
  ) {
    return viewOf(await this.templates.revise(scope, templateKey, body));
  }

  @Delete(':templateKey')
  @Operation({
    operationId: 'deleteTemplate',
    sdk: 'templates.delete',
    summary: 'Delete a template',
    description:
      'Not while a published template uses it as partial or layout, or a campaign that has not ended, or an active automation, its content. Mails that were made of it stay as they are.',
    scope: 'templates:write',
    response: { status: 204 },
    problems: [409],
  })
  remove(@InScope() scope: ProjectScope, @Param('templateKey') templateKey: string) {
    return this.templates.remove(scope, templateKey);
  }

  @Post(':templateKey/publish')
  @Operation({
    operationId: 'publishTemplate',
    sdk: 'templates.publish',
    summary: 'Put the draft or an older version in use',
    description:
      'The draft becomes a version, which never changes. Published templates that use a PARTIAL follow: with a fault of one of them it is ' +
      'refused, and `errors` names each by its path behind their key, such as `APIT-3.contentJson`.',
    scope: 'templates:write',
    body: publishTemplateBody,
    response: TEMPLATE,
  })
  async publish(
    @InScope() scope: ProjectScope,
    @Param('templateKey') templateKey: string,
    @Body({ schema: publishTemplateBody }) { version }: z.output<typeof publishTemplateBody>,
  ) {
    return viewOf(await this.templates.publish(scope, templateKey, version ?? null));
  }

  @Post(':templateKey/preview')
  @Operation({
    operationId: 'previewTemplate',
    sdk: 'templates.preview',
    summary: 'Show a template as a mail would, with data',
    description:
      'The draft or a version, in the language of `locale`, else of the subscriber. `faults` has what publishing would refuse, and what is ' +
      'missing or wrong in `data`. Personal links lead nowhere.',
    mutates: false,
    scope: 'templates:read',
    body: previewTemplateBody,
    response: { status: 200, schema: templatePreviewView },
  })
  preview(
    @InScope() scope: ProjectScope,
    @Param('templateKey') templateKey: string,
    @Body({ schema: previewTemplateBody }) body: z.output<typeof previewTemplateBody>,
  ) {
    const { version = null, data = {}, locale = null, email = null } = body;
    return this.previews.of(scope, templateKey, { version, data, locale, address: email });
  }

  @Post(':templateKey/preview-link')
  @Operation({
    operationId: 'linkTemplatePreview',
    sdk: 'templates.previewLink',
    summary: 'Make a link to a page that shows the template',
    description:
      'For seven days, everybody who has the link sees the draft as it then is, with sample data, on a phone and a desk, light and dark, ' +
      'in each of its languages: to have it looked over before it is published. It cannot be taken back.',
    scope: 'templates:write',
    response: { status: 200, schema: previewLinkView },
  })
  previewLink(@InScope() scope: ProjectScope, @Param('templateKey') templateKey: string) {
    return this.previews.link(scope, templateKey);
  }

  @Post(':templateKey/duplicate')
  @Operation({
    operationId: 'duplicateTemplate',
    sdk: 'templates.duplicate',
    summary: 'Copy a template’s draft into a new one',
    scope: 'templates:write',
    body: duplicateTemplateBody,
    response: NEW_TEMPLATE,
    problems: [409],
  })
  async duplicate(
    @InScope() scope: ProjectScope,
    @Param('templateKey') templateKey: string,
    @Body({ schema: duplicateTemplateBody }) body: z.output<typeof duplicateTemplateBody>,
  ) {
    return viewOf(await this.templates.duplicate(scope, templateKey, body));
  }

  @Get(':templateKey/versions')
  @Operation({
    operationId: 'listTemplateVersions',
    sdk: 'templates.versions',
    summary: 'List the versions of a template, newest first',
    scope: 'templates:read',
    query: templateVersionListQuery,
    response: { status: 200, schema: templateVersionPage },
  })
  async versions(
    @InScope() scope: ProjectScope,
    @Param('templateKey') templateKey: string,
    @Query({ schema: templateVersionListQuery }) query: z.output<typeof templateVersionListQuery>,
  ) {
    const page = await this.templates.versions(scope, templateKey, query);
    const items = page.items.map((version) => ({ ...version, updatedAt: version.createdAt }));
    return toPage(query, { ...page, items });
  }

  @Get(':templateKey/versions/:version')
  @Operation({
    operationId: 'getTemplateVersion',
    sdk: 'templates.version',
    summary: 'Get a version of a template as it was published',
    scope: 'templates:read',
    response: { status: 200, schema: templateVersionView },
  })
  async version(
    @InScope() scope: ProjectScope,
    @Param('templateKey') templateKey: string,
    @Param('version', { schema: versionParam }) version: number,
  ) {
    const found = await this.templates.version(scope, templateKey, version);
    return { ...found, updatedAt: found.createdAt };
  }
}

/** A template with its draft's content beside its name. */
const viewOf = ({ draft, ...template }: Template) => ({ ...template, ...draft });
