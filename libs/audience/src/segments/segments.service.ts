import { Inject, Injectable, Optional } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { AudienceFeatures, refuseUnlessIncluded } from '../audience-plan.module.js';
import { type NewSegment, refuseRules, type SegmentPatch, typeBy } from './segment.js';
import { SegmentChanges, type WrittenSegment } from './segment-changes.service.js';
import { SegmentEvaluations } from './segment-evaluations.service.js';
import { SegmentsQuery, type SegmentView } from './segments.query.js';

/** Creates and changes segments. Evaluates rules as soon as they are accepted. */
@Injectable()
export class SegmentsService {
  constructor(
    private readonly changes: SegmentChanges,
    private readonly evaluations: SegmentEvaluations,
    private readonly query: SegmentsQuery,
    @Optional() @Inject(AudienceFeatures) private readonly features: AudienceFeatures | undefined,
  ) {}

  /** Throws DomainValidationError. */
  async create(scope: ProjectScope, wanted: NewSegment): Promise<SegmentView> {
    const { rules = null, type = typeBy(rules) } = wanted;
    refuseRules(type, rules);
    if (type === 'DYNAMIC') await refuseUnlessIncluded(this.features, scope, 'advancedSegments');
    return this.#evaluated(scope, await this.changes.create(scope, wanted));
  }

  /** Throws NotFoundError, InUseError, DomainValidationError. */
  async update(scope: ProjectScope, idOrKey: string, patch: SegmentPatch): Promise<SegmentView> {
    return this.#evaluated(scope, await this.changes.update(scope, idOrKey, patch));
  }

  async #evaluated(scope: ProjectScope, { id, hasNewRules }: WrittenSegment): Promise<SegmentView> {
    if (hasNewRules) await this.evaluations.evaluateQuickly(scope, id);
    return this.query.get(scope, id);
  }
}
