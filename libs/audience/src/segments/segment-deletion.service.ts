import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { UsageCatalogue } from '../usage/usage-catalogue.js';
import { SegmentRepository } from './segment.repository.js';

/** Deletes segments that nobody uses. */
@Injectable()
export class SegmentDeletionService implements OnModuleInit {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SegmentRepository) private readonly segments: SegmentRepository,
    @Inject(UsageCatalogue) private readonly usage: UsageCatalogue,
  ) {}

  onModuleInit(): void {
    this.usage.register('segment', 'another segment', (scope, ids) =>
      this.segments.namedByOthers(scope, ids),
    );
  }

  /** Throws NotFoundError, InUseError. */
  delete(scope: ProjectScope, idOrKey: string): Promise<void> {
    return this.database.transaction(scope, async () => {
      await this.segments.lockLinks(scope);
      const segment = await this.segments.lock(scope, idOrKey);
      if (segment === null) throw new NotFoundError();
      await this.usage.refuseIfUsed('segment', scope, segment.id);
      await this.segments.delete(segment);
    });
  }
}
