import { Inject, Injectable } from '@nestjs/common';
import { NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { UsageCatalogue } from '../usage/usage-catalogue.service.js';
import { SegmentRepository } from './segment.repository.js';

/** Deletes segments that nobody uses. */
@Injectable()
export class SegmentDeletionService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SegmentRepository) private readonly segments: SegmentRepository,
    @Inject(UsageCatalogue) private readonly usage: UsageCatalogue,
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
