import { Injectable } from '@nestjs/common';
import { NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { UsageCatalogue } from '../usage-catalogue.service.js';
import { SegmentRepository } from './segment.repository.js';

/** Deletes segments that nobody uses. */
@Injectable()
export class SegmentDeletionService {
  constructor(
    private readonly database: Database,
    private readonly segments: SegmentRepository,
    private readonly usage: UsageCatalogue,
  ) {}

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
}
