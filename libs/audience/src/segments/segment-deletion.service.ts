import { Inject, Injectable } from '@nestjs/common';
import { NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { UsageCatalogue } from '../usage/usage-catalogue.js';
import { InUseError } from '../usage/usage.errors.js';
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
      await this.segments.lockLinks(scope);
      const segment = await this.segments.lock(scope, idOrKey);
      if (segment === null) throw new NotFoundError();
      const users = [...(await this.usage.usersOf('segment', scope, segment.id))];
      if ((await this.segments.namedByOthers(scope, [segment.id])).size > 0) users.push('another segment');
      if (users.length > 0) throw new InUseError('The segment', users);
      await this.segments.delete(segment);
    });
  }
}
