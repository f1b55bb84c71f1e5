import { Injectable } from '@nestjs/common';
import { Clock, newId, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { nextKey } from '../next-key.query.js';
import { UsageCatalogue } from '../usage-catalogue.service.js';
import { type NewSegment, Segment, type SegmentPatch } from './segment.js';
import { SegmentPredicates } from './segment-predicates.service.js';
import { SegmentRepository } from './segment.repository.js';

/** A written segment. */
export interface WrittenSegment {
  readonly id: string;
  /** Whether its rules have to be evaluated. */
  readonly hasNewRules: boolean;
}

/** Writes segments after reading their rules. */
@Injectable()
export class SegmentChanges {
  constructor(
    private readonly database: Database,
    private readonly segments: SegmentRepository,
    private readonly predicates: SegmentPredicates,
    private readonly usage: UsageCatalogue,
    private readonly clock: Clock,
  ) {}

  /** Throws DomainValidationError. */
  create(scope: ProjectScope, wanted: NewSegment): Promise<WrittenSegment> {
    return this.database.transaction(scope, async () => {
      const { rules = null } = wanted;
      await this.usage.hold(scope);
      await this.segments.lockLinks(scope);
      const links = rules === null ? null : await this.predicates.read(scope, rules, null);
      const segmentKey = await nextKey(this.database, 'segment');
      const id = newId();
      const identity = { id, environmentId: scope.environmentId, segmentKey };
      await this.segments.save(new Segment(identity, wanted, this.clock.now()), links);
      return { id, hasNewRules: rules !== null };
    });
  }

  /** Throws NotFoundError, InUseError, DomainValidationError. */
  update(scope: ProjectScope, idOrKey: string, patch: SegmentPatch): Promise<WrittenSegment> {
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
      const links = hasNewRules && rules !== null ? await this.predicates.read(scope, rules, id) : null;
      await this.segments.save(segment, links);
      return { id, hasNewRules };
    });
  }
}
