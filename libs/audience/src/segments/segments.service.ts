import { Inject, Injectable, Optional } from '@nestjs/common';
import { Clock, DomainValidationError, newId, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { AudienceFeatures, refuseUnlessIncluded } from '../plan/audience-features.js';
import { UsageCatalogue } from '../usage/usage-catalogue.js';
import { InUseError } from '../usage/usage.errors.js';
import { rulesFault, type Segment, type SegmentFields, type SegmentType } from './segment.js';
import { SegmentEvaluations } from './segment-evaluations.service.js';
import { SegmentPredicates } from './segment-predicates.service.js';
import { SegmentRepository } from './segment.repository.js';
import { SegmentsQuery } from './segments.query.js';

/** A new segment; DYNAMIC when it has rules, unless it says otherwise. It begins as ACTIVE. */
export interface NewSegment {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly type?: SegmentType | undefined;
  readonly rules?: string | null | undefined;
}

/** What changes; a field that is left out stays. */
export type SegmentPatch = { readonly [Field in keyof SegmentFields]?: SegmentFields[Field] | undefined };

/** Makes segments, changes and deletes them. Rules are evaluated as soon as they are accepted. */
@Injectable()
export class SegmentsService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SegmentRepository) private readonly segments: SegmentRepository,
    @Inject(SegmentsQuery) private readonly query: SegmentsQuery,
    @Inject(SegmentPredicates) private readonly predicates: SegmentPredicates,
    @Inject(SegmentEvaluations) private readonly evaluations: SegmentEvaluations,
    @Inject(UsageCatalogue) private readonly usage: UsageCatalogue,
    @Inject(Clock) private readonly clock: Clock,
    @Optional() @Inject(AudienceFeatures) private readonly features: AudienceFeatures | undefined,
  ) {}

  /** Throws DomainValidationError. */
  async create(
    scope: ProjectScope,
    { name, description = null, rules = null, ...input }: NewSegment,
  ): Promise<Segment> {
    const type = input.type ?? (rules === null ? 'STATIC' : 'DYNAMIC');
    const id = newId();
    await this.database.transaction(scope, async () => {
      refuseFault(rulesFault(type, rules));
      if (type === 'DYNAMIC') await refuseUnlessIncluded(this.features, scope, 'advancedSegments');
      const fields: SegmentFields = { name, description, status: 'ACTIVE', rules };
      await this.segments.lockLinks(scope);
      const read = rules === null ? null : await this.predicates.read(scope, rules, null);
      await this.segments.insert(scope, id, type, fields, this.clock.now());
      if (read !== null) await this.segments.link(scope, id, read);
    });
    if (type === 'DYNAMIC') await this.evaluations.evaluateQuickly(scope, id);
    return this.query.get(scope, id);
  }

  /** Throws NotFoundError, InUseError, DomainValidationError. */
  async update(scope: ProjectScope, idOrKey: string, patch: SegmentPatch): Promise<Segment> {
    const { id, isDue } = await this.database.transaction(scope, async () => {
      // Before the segment's own lock, as everywhere.
      if (patch.rules !== undefined) await this.segments.lockLinks(scope);
      const segment = await this.segments.lock(scope, idOrKey);
      if (segment === null) throw new NotFoundError();
      if (segment.status === 'ACTIVE' && patch.status !== undefined && patch.status !== 'ACTIVE')
        await this.usage.refuseIfNeeded('segment', scope, segment.id);
      const fields = patched(segment, patch);
      const newRules = fields !== null && fields.rules !== segment.rules;
      if (patch.rules !== undefined) refuseFault(rulesFault(segment.type, patch.rules));
      if (newRules && fields.rules !== null) {
        await this.segments.link(
          scope,
          segment.id,
          await this.predicates.read(scope, fields.rules, segment.id),
        );
      }
      if (fields !== null) await this.segments.update(scope, segment.id, fields, newRules, this.clock.now());
      return { id: segment.id, isDue: newRules };
    });
    if (isDue) await this.evaluations.evaluateQuickly(scope, id);
    return this.query.get(scope, id);
  }

  /** Throws NotFoundError, InUseError. */
  delete(scope: ProjectScope, idOrKey: string): Promise<void> {
    return this.database.transaction(scope, async () => {
      await this.segments.lockLinks(scope);
      const segment = await this.segments.lock(scope, idOrKey);
      if (segment === null) throw new NotFoundError();
      const users = [...(await this.usage.usersOf('segment', scope, segment.id))];
      if ((await this.segments.namedByOthers(scope, [segment.id])).size > 0) users.push('another segment');
      if (users.length > 0) throw new InUseError('The segment', users);
      await this.segments.delete(scope, segment.id);
    });
  }
}

function refuseFault(fault: string | null): void {
  if (fault !== null) throw new DomainValidationError({ rules: fault });
}

/** The fields after the patch, or null when it changes none. */
function patched(current: SegmentFields, patch: SegmentPatch): SegmentFields | null {
  const {
    name = current.name,
    description = current.description,
    status = current.status,
    rules = current.rules,
  } = patch;
  const next: SegmentFields = { name, description, status, rules };
  const fields = ['name', 'description', 'status', 'rules'] as const;
  return fields.every((field) => next[field] === current[field]) ? null : next;
}
