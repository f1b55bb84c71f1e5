import { Body, Delete, Get, Param, Patch, Post } from '@nestjs/common';
import type { z } from 'zod';
import { CustomFieldsQuery, CustomFieldsService } from '#audience';
import type { ProjectScope } from '#kernel';
import { ApiController, InScope, Operation } from '#platform/http';
import {
  createCustomFieldBody,
  customFieldConfigBody,
  customFieldDetailsBody,
  customFieldList,
  customFieldView,
} from './custom-fields.dto.js';

@ApiController('custom-fields', { tag: 'Custom fields' })
export class CustomFieldsController {
  constructor(
    private readonly fields: CustomFieldsService,
    private readonly query: CustomFieldsQuery,
  ) {}

  @Get()
  @Operation({
    operationId: 'listCustomFields',
    sdk: 'customFields.all',
    summary: 'List the active custom fields and the fields of the system',
    scope: 'custom_fields:read',
    response: { status: 200, schema: customFieldList },
  })
  list(@InScope() scope: ProjectScope) {
    return this.query.list(scope);
  }

  @Post()
  @Operation({
    operationId: 'createCustomField',
    sdk: 'customFields.create',
    summary: 'Create a custom field',
    description:
      'A project has at most 100 active fields. A new field may reuse the key of an archived one; it then takes over the values that subscribers still have.',
    scope: 'custom_fields:write',
    body: createCustomFieldBody,
    response: { status: 201, schema: customFieldView, location: ({ key }) => `custom-fields/${key}` },
  })
  create(
    @InScope() scope: ProjectScope,
    @Body({ schema: createCustomFieldBody }) body: z.output<typeof createCustomFieldBody>,
  ) {
    return this.fields.create(scope, body);
  }

  @Get(':key')
  @Operation({
    operationId: 'getCustomField',
    sdk: 'customFields.get',
    summary: 'Get an active or archived custom field',
    scope: 'custom_fields:read',
    response: { status: 200, schema: customFieldView },
  })
  get(@InScope() scope: ProjectScope, @Param('key') key: string) {
    return this.query.byKey(scope, key);
  }

  @Patch(':key/details')
  @Operation({
    operationId: 'updateCustomFieldDetails',
    sdk: 'customFields.updateDetails',
    summary: 'Change how a custom field is presented and whether it is required',
    description:
      'JSON merge-patch (RFC 7396). When a field becomes required, existing subscribers may stay without a value.',
    scope: 'custom_fields:write',
    body: customFieldDetailsBody,
    response: { status: 200, schema: customFieldView },
    problems: [409],
  })
  updateDetails(
    @InScope() scope: ProjectScope,
    @Param('key') key: string,
    @Body({ schema: customFieldDetailsBody }) body: z.output<typeof customFieldDetailsBody>,
  ) {
    return this.fields.updateDetails(scope, key, body);
  }

  @Patch(':key/config')
  @Operation({
    operationId: 'updateCustomFieldConfig',
    sdk: 'customFields.updateConfig',
    summary: 'Change the options and the default of a custom field',
    description:
      'Replaces all options. An option that a subscriber has selected, or that rules name, cannot be removed, nor can a default be cleared that merge tags of a campaign under way or of an active automation show.',
    scope: 'custom_fields:write',
    body: customFieldConfigBody,
    response: { status: 200, schema: customFieldView },
    problems: [409],
  })
  updateConfig(
    @InScope() scope: ProjectScope,
    @Param('key') key: string,
    @Body({ schema: customFieldConfigBody }) body: z.output<typeof customFieldConfigBody>,
  ) {
    return this.fields.updateConfig(scope, key, body);
  }

  @Delete(':key')
  @Operation({
    operationId: 'archiveCustomField',
    sdk: 'customFields.archive',
    summary: 'Archive a custom field',
    description:
      'Values of subscribers stay stored, but are no longer shown and cannot be used. Refused with 409 `in-use` while a campaign that is scheduled or under way, an active automation or a segment names it.',
    scope: 'custom_fields:write',
    response: { status: 204 },
    problems: [409],
  })
  async archive(@InScope() scope: ProjectScope, @Param('key') key: string) {
    await this.fields.archive(scope, key);
  }
}
