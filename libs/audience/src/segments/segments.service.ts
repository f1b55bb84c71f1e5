import { Inject, Injectable, Optional } from '@nestjs/common';
import { Clock, newId, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { AudiencePlan, refuseUnlessIncluded } from '../audience-plan.query.js';
import { nextKey } from '../next-key.query.js';
import { SubscriberRulesService } from '../rules/subscriber-rules.service.js';
import { UsageCatalogueService } from '../usage-catalogue.service.js';
import { SegmentEvaluationsService } from './segment-evaluations.service.js';
import { type NewSegment, refuseRules, Segment, type SegmentPatch, typeBy } from './segment.js';
import { SegmentRepository } from './segment.repository.js';
import { SegmentsQuery, type SegmentView } from './segments.query.js';

/** A written segment; `hasNewRules`: its rules have to be evaluated. */
interface WrittenSegment {
  readonly id: string;
  readonly hasNewRules: boolean;
}

/** Creates, changes and deletes segments. Evaluates rules as soon as they are accepted. */
@Injectable()
export class SegmentsService {
  constructor(
    private readonly database: Database,
    private readonly segments: SegmentRepository,
    private readonly query: SegmentsQuery,
    private readonly rules: SubscriberRulesService,
    private readonly evaluations: SegmentEvaluationsService,
    private readonly usage: UsageCatalogueService,
    private readonly clock: Clock,
    @Optional() @Inject(AudiencePlan) private readonly plan: AudiencePlan | undefined,
  ) {}

  /** Throws DomainValidationError. */
  async create(scope: ProjectScope, wanted: NewSegment): Promise<SegmentView> {
    const { rules = null, type = typeBy(rules) } = wanted;
    refuseRules(type, rules);
    if (type === 'DYNAMIC') await refuseUnlessIncluded(this.plan, scope, 'advancedSegments');
    return this.#evaluated(scope, await this.#create(scope, wanted));
  }

  /** Throws NotFoundError, InUseError, DomainValidationError. */
  async update(scope: ProjectScope, idOrKey: string, patch: SegmentPatch): Promise<SegmentView> {
    return this.#evaluated(scope, await this.#update(scope, idOrKey, patch));
  }

  /** Throws NotFoundError, InUseError. */
  delete(scope: ProjectScope, idOrKey: string): Promise<void> {
    return this.database.transaction(scope, async () => {
      await this.usage.close(scope);
      await this.segments.lockLinks(scope);
      const segment = await this.segments.lock(scope, idOrKey);
      if (segment === null) throw new NotFoundError();
      await this.usage.refuseIfUsed(scope, 'The segment', { kind: 'segment', ids: [segment.id] });
      await this.segments.delete(segment);
    });
  }

  #create(scope: ProjectScope, wanted: NewSegment): Promise<WrittenSegment> {
    return this.database.transaction(scope, async () => {
      const { rules = null } = wanted;
      await this.usage.hold(scope);
      await this.segments.lockLinks(scope);
      const links = rules === null ? null : await this.rules.read(scope, rules, null);
      const segmentKey = await nextKey(this.database, 'segment');
      const id = newId();
      const identity = { id, environmentId: scope.environmentId, segmentKey };
      await this.segments.save(new Segment(identity, wanted, this.clock.now()), links);
      return { id, hasNewRules: rules !== null };
    });
  }

  #update(scope: ProjectScope, idOrKey: string, patch: SegmentPatch): Promise<WrittenSegment> {
    return this.database.transaction(scope, async () => {
      const turnsOff = patch.status !== undefined && patch.status !== 'ACTIVE';
      // Locked before the segment, as everywhere.
      await (turnsOff ? this.usage.close(scope) : this.usage.hold(scope));
      if (patch.rules !== undefined) await this.segments.lockLinks(scope);
      const segment = await this.segments.lock(scope, idOrKey);
      if (segment === null) throw new NotFoundError();
      const { id } = segment;
      if (segment.status === 'ACTIVE' && turnsOff)
        await this.usage.refuseIfNeededActive(scope, 'The segment', { kind: 'segment', ids: [id] });
      const hasNewRules = segment.change(patch, this.clock.now());
      const { rules } = segment;
      const links = hasNewRules && rules !== null ? await this.rules.read(scope, rules, id) : null;
      await this.segments.save(segment, links);
      return { id, hasNewRules };
    });
  }

  async #evaluated(scope: ProjectScope, { id, hasNewRules }: WrittenSegment): Promise<SegmentView> {
    if (hasNewRules) await this.evaluations.evaluateQuickly(scope, id);
    return this.query.get(scope, id);
  }
}
