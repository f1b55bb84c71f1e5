import { Body, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import type { z } from 'zod';
import {
  FeedbackAddresses,
  type Relay,
  RelayHealthService,
  RelayRepository,
  RelaysService,
} from '#deliverability';
import type { ProjectScope } from '#kernel';
import { ApiController, InScope, Operation, pageQuery, PLACES, toPage } from '#platform/http';
import { createRelayBody, relayCheckView, relayPage, relayView, updateRelayBody } from './relays.dto.js';

const relayListQuery = pageQuery({}, [PLACES.number, PLACES.time, PLACES.id]);

/** Relays that a project's live mail is handed over to; without one of its own, the installation's. */
@ApiController('relays', { tag: 'Relays' })
export class RelaysController {
  constructor(
    private readonly relays: RelaysService,
    private readonly query: RelayRepository,
    private readonly health: RelayHealthService,
    private readonly addresses: FeedbackAddresses,
  ) {}

  @Get()
  @Operation({
    operationId: 'listRelays',
    sdk: 'relays.all',
    summary: 'List relays, in the order in which they are tried',
    scope: 'relays:read',
    query: relayListQuery,
    response: { status: 200, schema: relayPage },
  })
  async list(
    @InScope() scope: ProjectScope,
    @Query({ schema: relayListQuery }) asked: z.output<typeof relayListQuery>,
  ) {
    const page = await this.query.list(scope, asked);
    return toPage(asked, { ...page, items: page.items.map((relay) => this.#view(relay)) });
  }

  @Post()
  @Operation({
    operationId: 'createRelay',
    sdk: 'relays.create',
    summary: 'Set up a relay',
    description: 'Mail that is due takes it at once. `check` says beforehand whether it can be used.',
    scope: 'relays:write',
    body: createRelayBody,
    response: { status: 201, schema: relayView, location: ({ relayKey }) => `relays/${relayKey}` },
  })
  async create(
    @InScope() scope: ProjectScope,
    @Body({ schema: createRelayBody }) { password, feedbackKey, ...wanted }: z.output<typeof createRelayBody>,
  ) {
    return this.#view(await this.relays.create(scope, { ...wanted, secrets: { password, feedbackKey } }));
  }

  @Get(':relayKey')
  @Operation({
    operationId: 'getRelay',
    sdk: 'relays.get',
    summary: 'Get a relay',
    scope: 'relays:read',
    response: { status: 200, schema: relayView },
  })
  async get(@InScope() scope: ProjectScope, @Param('relayKey') relayKey: string) {
    return this.#view(await this.query.find(scope, relayKey));
  }

  @Patch(':relayKey')
  @Operation({
    operationId: 'updateRelay',
    sdk: 'relays.update',
    summary: 'Change a relay',
    description: 'JSON merge-patch (RFC 7396). Its kind stays. Mail on its way goes where it was going.',
    scope: 'relays:write',
    body: updateRelayBody,
    response: { status: 200, schema: relayView },
  })
  async update(
    @InScope() scope: ProjectScope,
    @Param('relayKey') relayKey: string,
    @Body({ schema: updateRelayBody }) { password, feedbackKey, ...patch }: z.output<typeof updateRelayBody>,
  ) {
    return this.#view(
      await this.relays.change(scope, relayKey, { ...patch, secrets: { password, feedbackKey } }),
    );
  }

  @Delete(':relayKey')
  @Operation({
    operationId: 'deleteRelay',
    sdk: 'relays.delete',
    summary: 'Delete a relay',
    description: 'What is on its way by it ends; what waits takes another relay. No mail is lost.',
    scope: 'relays:write',
    response: { status: 204 },
  })
  async remove(@InScope() scope: ProjectScope, @Param('relayKey') relayKey: string) {
    await this.relays.remove(scope, relayKey);
  }

  @Post(':relayKey/check')
  @HttpCode(200)
  @Operation({
    operationId: 'checkRelay',
    sdk: 'relays.check',
    summary: 'See whether a relay would take mail',
    description: 'Connects, secures and authenticates, and sends nothing. Answers with what is wrong.',
    scope: 'relays:write',
    response: { status: 200, schema: relayCheckView },
  })
  async check(@InScope() scope: ProjectScope, @Param('relayKey') relayKey: string) {
    const checked = await this.health.check(scope, relayKey);
    const { isReady } = checked;
    if (checked.isReady) return { isReady, stage: null, detail: null, capabilities: checked.capabilities };
    return { isReady, stage: checked.stage, detail: checked.detail, capabilities: null };
  }

  @Post(':relayKey/rotate-feedback-token')
  @HttpCode(200)
  @Operation({
    operationId: 'rotateRelayFeedbackToken',
    sdk: 'relays.rotateFeedbackToken',
    summary: 'Get another feedback address',
    description: 'The one before is refused from then on: enter the new one at the provider.',
    scope: 'relays:write',
    response: { status: 200, schema: relayView },
  })
  async rotate(@InScope() scope: ProjectScope, @Param('relayKey') relayKey: string) {
    return this.#view(await this.relays.rotateFeedback(scope, relayKey));
  }

  #view(relay: Relay) {
    const { passwordBox: _password, feedbackKeyBox: _key, ...shown } = relay;
    return { ...shown, feedbackUrl: this.addresses.addressOf(relay) };
  }
}
