import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { EnvironmentsQuery } from '#access';
import { newId, type ProjectScope } from '#kernel';
import { Database, drain, PeriodicTask, present, presentAnd, publish, type Sql } from '#platform';
import { DomainVerificationRequested } from './sending-domain.events.js';

/** A check that was asked for and never came about is asked for again after this long. */
const ASK_AGAIN_MS = 15 * 60_000;
const BATCH = 100;

interface DueDomain {
  readonly id: number;
  readonly environment_id: number;
}

/** Asks for the checks that are due by the schedule. */
@Injectable()
export class DueDomainChecks extends PeriodicTask {
  override readonly name = 'due-domain-checks';
  override readonly everyMs = 10_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(EnvironmentsQuery) private readonly environments: EnvironmentsQuery,
  ) {
    super();
  }

  override async run(): Promise<void> {
    await drain(BATCH, () => this.#askForBatch());
  }

  #askForBatch(): Promise<number> {
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<DueDomain>`
        update deliverability.sending_domains d set next_check_at = ${presentAnd(ASK_AGAIN_MS)}
        from (
          select id from deliverability.sending_domains where next_check_at <= ${present}
          order by next_check_at limit ${BATCH} for no key update skip locked
        ) due
        where d.id = due.id
        returning d.id, d.environment_id
      `.execute(db);
      for (const { id, environment_id: environmentId } of rows) {
        const scope = await this.environments.find(environmentId);
        if (scope !== null) await this.#ask(db, scope, id);
      }
      return rows.length;
    });
  }

  async #ask(db: Sql, scope: ProjectScope, domainId: number): Promise<void> {
    const checkId = newId();
    await sql`
      insert into deliverability.domain_checks (id, environment_id, domain_id, asked_by, created_at)
      values (${checkId}, ${scope.environmentId}, ${domainId}, 'SCHEDULE', ${present})
    `.execute(db);
    await publish(db, scope, DomainVerificationRequested({ checkId }));
  }
}
